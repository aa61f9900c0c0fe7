"""Decide which requests are answered, and set the security headers of every response.

A page of another site cannot read anything: the Host header must name this machine (DNS rebinding), the request must
come from our own pages (CSRF), and the cookie is only given for a token that the terminal printed. Only GET and HEAD
are answered, and POST for the two forms that change clew's own preferences.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SIGN_IN_PATH = "/enter"
FORM_PATHS = ("/settings", "/marks")
MAX_FORM = 16 << 10  # bytes
COOKIE_DAYS = 180
_LOCAL_PATH = re.compile(r"/(?![/\\])[!-\[\]-~]*")  # printable ASCII without a backslash; "//host" is another site
_OWN_SITES = ("same-origin", "none")  # values of Sec-Fetch-Site; another port of this machine is `same-site`
_PREFETCHING = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, a form of our own pages would have the Origin `null`
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), usb=(), payment=()",
}


def is_equal(value: str, secret: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(value.encode("utf-8", "replace"), secret.encode())


def is_local_path(path: str) -> bool:
    """Return whether a redirect to a path stays on this server."""
    return len(path) <= 2000 and bool(_LOCAL_PATH.fullmatch(path)) and not path.startswith(SIGN_IN_PATH)


class EntryToken:
    """A sign-in token for one use, and the cookie that is given for it.

    When the token has been used, a new one replaces it, and `announce` receives its address. The cookie contains the
    key of the server: it is valid as long as the key.
    """

    def __init__(self, port: int, announce: Callable[[str], None], key: str = "") -> None:
        self.port = port
        self.cookie = f"clew-{port}"  # browsers share cookies between the ports of a host
        self._key = key or secrets.token_urlsafe(32)
        self.form_token = hmac.digest(self._key.encode(), b"form", "sha256").hex()
        self._token = secrets.token_urlsafe(32)
        self._announce = announce

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}{SIGN_IN_PATH}?token={self._token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def sign_in(self, query: str, headers: Headers, is_get: bool) -> Response | Refusal:
        """Answer a request for the sign-in address: set the cookie and redirect to `next`, or refuse.

        Only a GET that opens the page uses the token up: not HEAD, not a prefetch, and not a browser that is signed
        in already. The token may be given as the whole address.
        """
        if not is_get:
            return Refusal(405, "Open this address in a browser.")
        if any("prefetch" in headers.get(name, "").lower() for name in _PREFETCHING):
            return Refusal(403, "This address cannot be prefetched.", "Open it.")
        values = parse_qs(query[:4000])
        wanted = values.get("next", ["/"])[0]
        response = RedirectResponse(wanted if is_local_path(wanted) else "/", status_code=303)
        if self.is_signed_in("; ".join(headers.getlist("cookie"))):
            return response
        token = values.get("token", [""])[0].strip().rpartition("token=")[2].partition("&")[0]
        if not is_equal(token, self._token):
            return Refusal(
                403,
                "This sign-in address is wrong or was used already.",
                "Open the newest address that clew serve printed, or paste it here.",
                wanted if is_local_path(wanted) else "/",
            )
        self._token = secrets.token_urlsafe(32)
        self._announce(self.address)
        age = COOKIE_DAYS * 86_400
        response.set_cookie(self.cookie, self._key, max_age=age, httponly=True, samesite="strict", path="/")
        return response

    def is_signed_in(self, cookies: str) -> bool:
        return is_equal(cookie_parser(cookies).get(self.cookie, ""), self._key)


class Refusal(NamedTuple):
    """Why a request is not answered, and the next step.

    `sign_in` is the page that a sign-in leads to, `link` a page to be opened with one more click.
    """

    status: int
    sentence: str
    step: str = ""
    sign_in: str = ""
    link: str = ""


RefusalPage = Callable[[Refusal, str], str]  # the page for a refusal and a nonce


class AccessControl:
    """ASGI middleware in front of the application. Each request gets a nonce that only its page may use.

    A browser gets a refusal as a page, which `render` makes, and other programs get it as text.
    """

    def __init__(self, app: ASGIApp, entry: EntryToken, render: RefusalPage) -> None:
        self._app, self._entry, self._render = app, entry, render

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            nonce = secrets.token_urlsafe(16)
            scope.setdefault("state", {}).update(nonce=nonce, form_token=self._entry.form_token)
            headers = Headers(scope=scope)
            found = self._check(scope, headers)
            answer = self._refuse(found, headers, nonce) if isinstance(found, Refusal) else found or self._app
            await answer(scope, receive, _with_headers(send, nonce))

    def _refuse(self, refusal: Refusal, headers: Headers, nonce: str) -> Response:
        """Return an error that closes the connection."""
        close = {"Connection": "close"}
        if "text/html" in headers.get("accept", ""):
            return HTMLResponse(self._render(refusal, nonce), refusal.status, headers=close)
        text = "".join(f"{line}\n" for line in (refusal.sentence, refusal.step) if line)
        return PlainTextResponse(text, refusal.status, headers=close)

    def _check(self, scope: Scope, headers: Headers) -> Response | Refusal | None:
        """Return a refusal or the sign-in response; None if the application may answer."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._entry.hosts:
            return Refusal(403, "The Host header does not name this server.", f"Use {self._entry.hosts[0]}.")
        path, is_form = scope["path"], scope["method"] == "POST" and scope["path"] in FORM_PATHS
        if refusal := _check_form(headers) if is_form else _check_method(scope["method"], headers):
            return refusal
        if any(origin != f"http://{hosts[0]}" for origin in headers.getlist("origin")):
            return Refusal(403, "Requests from other sites are refused.")
        query = scope["query_string"].decode("latin-1")
        asked = scope.get("raw_path", b"/").decode("latin-1") + (f"?{query}" if query else "")
        asked = asked if is_local_path(asked) else "/"
        if headers.get("sec-fetch-site", "none") not in _OWN_SITES:
            step = "Open the page from here, or paste its address into the browser."
            return Refusal(403, "A link on another site led here.", step, link=asked)
        if path == SIGN_IN_PATH:
            return self._entry.sign_in(query, headers, scope["method"] == "GET")
        if not self._entry.is_signed_in("; ".join(headers.getlist("cookie"))):
            if hosts[0] != self._entry.hosts[0]:  # the cookie belongs to the other name of this machine
                return RedirectResponse(f"http://{self._entry.hosts[0]}{asked}", status_code=303)
            step = "Open the address that clew serve printed, or paste it here."
            return Refusal(401, "This browser is not signed in.", step, sign_in=asked)
        return None


def _check_method(method: str, headers: Headers) -> Refusal | None:
    """Refuse everything but reading."""
    if method not in ("GET", "HEAD"):
        return Refusal(405, "This page cannot be changed.")
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        return Refusal(413, "A request must not have a body.")
    return None


def _check_form(headers: Headers) -> Refusal | None:
    """Refuse what is not a short form of one of our pages; the origin itself is checked for every request."""
    size = headers.get("content-length", "")
    if not (size.isascii() and size.isdigit() and int(size) <= MAX_FORM) or "transfer-encoding" in headers:
        return Refusal(413, "This form is too large.")
    if headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        return Refusal(415, "Only forms of these pages are accepted.")
    if not headers.getlist("origin") or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return Refusal(403, "Only forms of these pages are accepted.")
    return None


def policy(nonce: str) -> str:
    """Return the Content-Security-Policy of a page: its own styles and scripts, images from here or inline, requests
    to here.
    """
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src 'self' data:; font-src 'self'; "
        "connect-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
