"""Decide which requests are answered, and set the security headers of every response.

A page of another site cannot read anything: the Host header must name this machine (DNS rebinding), the request must
come from our own pages (CSRF), and the cookie is only given for a token that the terminal printed. Only GET and HEAD
are answered.
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

SIGN_IN_PATH = "/enter"
_OWN_SITES = ("same-origin", "none")  # values of Sec-Fetch-Site; another port of this machine is `same-site`
_PREFETCHING = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), usb=(), payment=()",
}


def _is_equal(value: str, secret: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(value.encode("utf-8", "replace"), secret.encode())


class EntryToken:
    """A sign-in token for one use, and the cookie that is given for it.

    When the token has been used, a new one replaces it, and `announce` receives its address.
    """

    def __init__(self, port: int, announce: Callable[[str], None]) -> None:
        self.port = port
        self.cookie = f"clew-{port}"  # browsers share cookies between the ports of a host
        self._key = secrets.token_urlsafe(32)
        self._token = secrets.token_urlsafe(32)
        self._announce = announce

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}{SIGN_IN_PATH}?token={self._token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def sign_in(self, query: str, headers: Headers, is_get: bool) -> Response:
        """Answer a request for the sign-in address: set the cookie and redirect, or refuse.

        Only a GET that opens the page uses the token up: not HEAD, not a prefetch, and not a browser that is signed
        in already.
        """
        if not is_get:
            return refuse(405, "Open this address in a browser.")
        if any("prefetch" in headers.get(name, "").lower() for name in _PREFETCHING):
            return refuse(403, "This address cannot be prefetched.", "Open it.")
        token = parse_qs(query[:1000]).get("token", [""])[0]
        if self.is_signed_in("; ".join(headers.getlist("cookie"))):
            return RedirectResponse("/", status_code=303)
        if not _is_equal(token, self._token):
            return refuse(
                403,
                "This sign-in address is wrong or was used already.",
                "Open the newest address that clew serve printed.",
            )
        self._token = secrets.token_urlsafe(32)
        self._announce(self.address)
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(self.cookie, self._key, httponly=True, samesite="strict", path="/")
        return response

    def is_signed_in(self, cookies: str) -> bool:
        return _is_equal(cookie_parser(cookies).get(self.cookie, ""), self._key)


def refuse(status: int, sentence: str, step: str = "") -> Response:
    """Return a plain-text error that closes the connection."""
    text = f"{sentence}\n{step}\n" if step else f"{sentence}\n"
    return PlainTextResponse(text, status_code=status, headers={"Connection": "close"})


class AccessControl:
    """ASGI middleware in front of the application. Each request gets a nonce that only its page may use."""

    def __init__(self, app: ASGIApp, entry: EntryToken) -> None:
        self._app, self._entry = app, entry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            nonce = secrets.token_urlsafe(16)
            scope.setdefault("state", {})["nonce"] = nonce
            answer = self._check(scope) or self._app
            await answer(scope, receive, _with_headers(send, nonce))

    def _check(self, scope: Scope) -> Response | None:
        """Return a refusal or the sign-in response; None if the application may answer."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._entry.hosts:
            return refuse(403, "The Host header does not name this server.", f"Use {self._entry.hosts[0]}.")
        if scope["method"] not in ("GET", "HEAD"):
            return refuse(405, "This server is read-only.")
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return refuse(413, "A request must not have a body.")
        origins = headers.getlist("origin")
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return refuse(403, "Requests from other sites are refused.")
        if headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            return refuse(403, "Requests from other sites are refused.", "Type or paste the address into the browser.")
        if scope["path"] == SIGN_IN_PATH:
            return self._entry.sign_in(scope["query_string"].decode("latin-1"), headers, scope["method"] == "GET")
        if not self._entry.is_signed_in("; ".join(headers.getlist("cookie"))):
            return refuse(401, "Not signed in.", "Open the address that clew serve printed.")
        return None


def policy(nonce: str) -> str:
    """Return the Content-Security-Policy of a page: its own styles and scripts, images from here or inline, requests
    to here.
    """
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )


def _with_headers(send: Send, nonce: str) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = policy(nonce)
            headers.setdefault("Cache-Control", "no-store")
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with_headers
