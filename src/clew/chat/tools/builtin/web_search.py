"""Implement WebSearch with the search engine that the user configured, or with the server tool of the Messages API."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol
from urllib.parse import urlsplit

from msgspec import Struct

from clew.chat.tools.tool import CallResult, SearchWeb, ToolContext, ToolFailed
from clew.chat.tools.tool_spec import TEXT, SpecTool, array_schema, object_schema, optional_field, required_field
from clew.wire.json_codec import Json


class WebHit(Struct, frozen=True):
    """One search result."""

    title: str
    url: str
    text: str = ""


class Search(Protocol):
    """A search engine. Raises SearchFailed with the reason."""

    async def find(self, query: str, allowed: Sequence[str], blocked: Sequence[str]) -> Sequence[WebHit]: ...


class SearchFailed(Exception):
    """A search failed; the text states why."""


def create_web_search(engine: Search | None) -> SpecTool:
    """Return the tool for this search engine."""
    return SpecTool(
        "WebSearch",
        "Search the web. Tells titles and addresses; name those you use in your answer.",
        object_schema(
            query=required_field(TEXT, "What to look for", minLength=2),
            allowed_domains=optional_field(array_schema(TEXT), "Only pages of these domains"),
            blocked_domains=optional_field(array_schema(TEXT), "No pages of these domains"),
        ),
        _searcher(engine),
        reads=True,
    )


def _searcher(engine: Search | None) -> Callable[[Json, ToolContext], Awaitable[CallResult]]:
    async def search(input: Json, scene: ToolContext) -> CallResult:
        query = input["query"]
        allowed, blocked = input.get("allowed_domains", []), input.get("blocked_domains", [])
        if allowed and blocked:
            raise ToolFailed("Give allowed_domains or blocked_domains, not both.")
        begun = time.monotonic()
        if engine is None and scene.search is not None:
            return await _search_by_server(scene, scene.search, query, allowed, blocked, begun)
        if engine is None:
            raise ToolFailed(
                "No web search is set up here. Use WebFetch with an address you know, or ask the user to start clew with "
                "--web-search COMMAND or to add an MCP server that searches.",
                is_misuse=False,
            )
        await scene.progress({"type": "query_update", "query": query})
        try:
            results = await engine.find(query, allowed, blocked)
        except SearchFailed as error:
            raise ToolFailed(f"The web search failed: {error}", is_misuse=False) from error
        hits = [hit for hit in results if _is_allowed_domain(hit.url, allowed, blocked)]
        await scene.progress({"type": "search_results_received", "resultCount": len(hits), "query": query})
        links = [{"title": hit.title, "url": hit.url} for hit in hits]
        texts = [f"{hit.title}: {hit.text}" for hit in hits if hit.text]
        links_text = f"Links: {json.dumps(links, ensure_ascii=False)}" if links else "No links found."
        detail = {
            "query": query,
            "results": [{"tool_use_id": scene.call_id, "content": links}, *texts],
            "durationSeconds": time.monotonic() - begun,
        }
        return CallResult("\n\n".join([f'Web search results for query: "{query}"', links_text, *texts]), detail)

    return search


async def _search_by_server(
    scene: ToolContext,
    search_web: SearchWeb,
    query: str,
    allowed: Sequence[str],
    blocked: Sequence[str],
    begun: float,
) -> CallResult:
    """Return what the server found, with its comments and their sources, in the form of Claude Code's record."""
    await scene.progress({"type": "query_update", "query": query})
    results: list[Json | str] = []
    searches = found = 0
    for block in await search_web(query, allowed, blocked):
        if block.get("type") == "server_tool_use":
            searches += 1
        elif block.get("type") == "text" and str(block.get("text") or "").strip():
            results.append(_cited_text(block))
        elif block.get("type") == "web_search_tool_result":
            hits = block.get("content")
            if isinstance(hits, list):
                links = [{"title": hit.get("title"), "url": hit.get("url")} for hit in hits]
                found += len(links)
                results.append({"tool_use_id": block.get("tool_use_id"), "content": links})
            else:
                code = hits.get("error_code") if isinstance(hits, dict) else ""
                results.append(f"The web search failed: {code or 'the server gives no reason'}")
    await scene.progress({"type": "search_results_received", "resultCount": found, "query": query})
    texts = [
        each if isinstance(each, str) else f"Links: {json.dumps(each['content'], ensure_ascii=False)}"
        for each in results
    ]
    detail = {
        "query": query,
        "results": results,
        "durationSeconds": time.monotonic() - begun,
        "searchCount": searches,
    }
    opening = f'Web search results for query: "{query}"'
    closing = "Name the sources that you use in your answer, as links."
    return CallResult("\n\n".join([opening, *(texts or ["No links found."]), closing]), detail)


def _cited_text(block: Json) -> str:
    """Return a text with the pages that it cites."""
    cited = {
        str(c.get("url")): str(c.get("title") or c.get("url")) for c in block.get("citations") or () if c.get("url")
    }
    sources = ", ".join(f"[{title}]({url})" for url, title in cited.items())
    return f"{block['text']} ({sources})" if sources else str(block["text"])


def _is_allowed_domain(url: str, allowed: Sequence[str], blocked: Sequence[str]) -> bool:
    host = urlsplit(url).hostname or ""

    def is_of(domains: Sequence[str]) -> bool:
        return any(host == domain or host.endswith(f".{domain}") for domain in (d.lower().strip(".") for d in domains))

    return is_of(allowed) if allowed else not is_of(blocked)
