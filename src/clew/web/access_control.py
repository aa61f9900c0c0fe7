"""The guard: who may ask, what may be asked, and what every answer says to the browser.

A page of another site cannot read here: the name in the request must be this machine's (DNS rebinding), the page that asks
must be ours (CSRF), and the cookie is only had for a token that the terminal printed. Nothing but reading is answered.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTRANCE = "/enter"
_OURS = ("same-origin", "none")  # of Sec-Fetch-Site; another port of this machine is `same-site`
_PREFETCHING = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), usb=(), payment=()",
}


def _is_same(given: str, wanted: str) -> bool:
    """Whether two secrets are one, told in the same time wherever they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


class EntryToken:
    """A token for one visit to the entrance, and the cookie that is given for it.

    When the token has been used another takes its place, and `announce` hears the address that it stands in.
    """

    def __init__(self, port: int, announce: Callable[[str], None]) -> None:
        self.port = port
        self.cookie = f"clew-{port}"  # browsers do not tell the ports of a machine apart
        self._key = secrets.token_urlsafe(32)
        self._token = secrets.token_urlsafe(32)
        self._announce = announce

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}{ENTRANCE}?token={self._token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def enter(self, query: str, headers: Headers, is_get: bool) -> Response:
        """The answer at the entrance: a cookie and the way in, or none.

        Only a browser that opens the page uses the token up: not HEAD, nor a browser that fetches ahead, nor one that is
        in already.
        """
        if not is_get:
            return refusal(405, "This address is to be opened in a browser.")
        if any("prefetch" in headers.get(name, "").lower() for name in _PREFETCHING):
            return refusal(403, "This address may not be fetched ahead.", "Open it.")
        given = parse_qs(query[:1000]).get("token", [""])[0]
        if self.knows("; ".join(headers.getlist("cookie"))):
            return RedirectResponse("/", status_code=303)
        if not _is_same(given, self._token):
            return refusal(403, "This address is used up or wrong.", "Take the newest that clew serve printed.")
        self._token = secrets.token_urlsafe(32)
        self._announce(self.address)
        inside = RedirectResponse("/", status_code=303)
        inside.set_cookie(self.cookie, self._key, httponly=True, samesite="strict", path="/")
        return inside

    def knows(self, cookies: str) -> bool:
        return _is_same(cookie_parser(cookies).get(self.cookie, ""), self._key)


def refusal(status: int, sentence: str, step: str = "") -> Response:
    """A sentence, after which the connection ends: nothing more is read from it."""
    text = f"{sentence}\n{step}\n" if step else f"{sentence}\n"
    return PlainTextResponse(text, status_code=status, headers={"Connection": "close"})


class AccessControl:
    """Stands before the app. Each request gets a nonce, which its page alone may use."""

    def __init__(self, app: ASGIApp, door: EntryToken) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            nonce = secrets.token_urlsafe(16)
            scope.setdefault("state", {})["nonce"] = nonce
            answer = self._answer(scope) or self._app
            await answer(scope, receive, _with_headers(send, nonce))

    def _answer(self, scope: Scope) -> Response | None:
        """What is said without asking the app; None if the app may be asked."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._door.hosts:
            return refusal(403, "This is not the name of this server.", f"Use {self._door.hosts[0]}.")
        if scope["method"] not in ("GET", "HEAD"):
            return refusal(405, "Nothing can be changed here.")
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return refusal(413, "A request has no content here.")
        origins = headers.getlist("origin")
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return refusal(403, "Pages from elsewhere may not ask here.")
        if headers.get("sec-fetch-site", "none") not in _OURS:
            return refusal(403, "Pages from elsewhere may not ask here.", "Type the address, or paste it.")
        if scope["path"] == ENTRANCE:
            return self._door.enter(scope["query_string"].decode("latin-1"), headers, scope["method"] == "GET")
        if not self._door.knows("; ".join(headers.getlist("cookie"))):
            return refusal(401, "Nobody let this browser in.", "Open the address that clew serve printed.")
        return None


def policy(nonce: str) -> str:
    """What a page may do: its own style and scripts, pictures from here or inside it, and asking here."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def _with_headers(send: Send, nonce: str) -> Send:
    async def say(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = policy(nonce)
            headers.setdefault("Cache-Control", "no-store")
            for name, value in _ALWAYS.items():
                headers[name] = value
        await send(message)

    return say
