"""Implement WebFetch: fetch a page as text, and let a small model answer a question about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, field

from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, object_schema, required_field
from clew.errors import ApiError
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from clew.chat.tools.safe_fetch import FetchedPage, Network

T = TypeVar("T")
MAX_PAGE_CHARACTERS = 100_000  # longer pages are cut
_CACHE_SECONDS = 15 * 60.0  # seconds before a page is fetched again
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/javascript", "application/x-yaml")


class Fetcher(Struct):
    """Fetches pages and caches them for a while."""

    network: Network | None = None
    clock: Callable[[], float] = time.monotonic
    most: int = 32  # number of cached pages
    _known: dict[str, tuple[float, FetchedPage]] = field(default_factory=dict)

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        begun = time.monotonic()
        url, prompt = input["url"], input["prompt"]
        page = await _unless_stopped(self._page(url), scene)
        if page.moved_to:
            text = (
                f"{page.url} has moved to another host ({page.code} {page.reason}): {page.moved_to}\n"
                "It was not followed. Fetch that address if it is what you want."
            )
        else:
            text = await _unless_stopped(_answer_about(_page_text(page), prompt, scene), scene)
        detail = {
            "bytes": page.size,
            "code": page.code,
            "codeText": page.reason,
            "result": text,
            "durationMs": round((time.monotonic() - begun) * 1000),
            "url": url,
        }
        return CallResult(text, detail)

    async def _page(self, url: str) -> FetchedPage:
        now = self.clock()
        self._known = {key: kept for key, kept in self._known.items() if now - kept[0] < _CACHE_SECONDS}
        if url in self._known:
            return self._known[url][1]
        from clew.chat.tools.safe_fetch import Network, fetch

        page = await fetch(url, self.network or Network())
        if page.code >= 400:
            raise ToolFailed(f"Request failed with status code {page.code}", is_misuse=False)
        while len(self._known) >= self.most:
            del self._known[next(iter(self._known))]
        self._known[url] = (now, page)
        return page


async def _unless_stopped(work: Coroutine[Any, Any, T], scene: ToolContext) -> T:
    """Return the result of some work. Raises ToolFailed if the user interrupts it."""
    doing, stopped = asyncio.ensure_future(work), asyncio.ensure_future(scene.stopped.wait())
    waits: set[asyncio.Future[Any]] = {doing, stopped}
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise ToolFailed("The fetch was broken off.", is_misuse=False)
        return doing.result()
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


def _page_text(page: FetchedPage) -> str:
    kind = page.kind.partition(";")[0].strip().lower()
    if not kind.startswith(_TEXT_TYPES) and not kind.endswith(("+json", "+xml")):
        raise ToolFailed(f"{page.url} is {kind}, not a text. Fetch it with Bash, such as curl -O, if it is needed.")
    text = page.text
    if kind in ("text/html", "application/xhtml+xml"):
        from clew.chat.tools.html_to_markdown import convert_html

        text = convert_html(page.text, page.url)
    if len(text) <= MAX_PAGE_CHARACTERS:
        return text
    note = f"[The page continues; these are the first {MAX_PAGE_CHARACTERS} of {len(text)} characters.]"
    return f"{text[:MAX_PAGE_CHARACTERS]}\n\n{note}"


async def _answer_about(text: str, prompt: str, scene: ToolContext) -> str:
    """Return the answer of the small model about the page; the page itself if there is no model."""
    if scene.extract is None or not text.strip():
        return text or "The page is empty."
    try:
        return await scene.extract(text, prompt)
    except ApiError as error:
        raise ToolFailed(f"The page was fetched, but could not be read: {error}", is_misuse=False) from error


def create_web_fetch(network: Network | None = None) -> SpecTool:
    """Return the tool for this part of the network."""
    return SpecTool(
        "WebFetch",
        "Fetch a page of the web and answer a question about it. A page that has moved to another host is not followed; "
        "the result contains its new address.",
        object_schema(
            url=required_field(TEXT, "The whole address of the page", minLength=1, maxLength=2000),
            prompt=required_field(TEXT, "What to find in the page", minLength=1),
        ),
        Fetcher(network).call,
        reads=True,
        precondition=_check_address,
    )


def _check_address(input: Json, scene: ToolContext) -> None:
    """Raise ToolFailed if the address is not one of a page."""
    try:
        parts = urlsplit(input["url"])
        is_page = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        is_page = False
    if not is_page:
        raise ToolFailed(
            f"InputValidationError: {input['url']!r} is not the address of a page. Give a whole one: https://…"
        )
