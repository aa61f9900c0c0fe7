"""Google Vertex: requests with a token of Google Cloud to addresses with project, region and model.

Tokens come from google-auth, the library of Google; it is the extra `vertex`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import Struct

from clew.api.cloud import Head, HttpCall
from clew.api.cloud_models import vertex_model
from clew.api.sse import SseReader
from clew.errors import ApiError
from clew.system import environment
from clew.system.extras import install_hint
from clew.wire.json_codec import Json, encode

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

BODY_VERSION = "vertex-2023-10-16"
DEFAULT_REGION = "us-east5"
SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)
TOKEN_SECONDS = 30.0  # longest wait for a token
_SIGN_IN = "Sign in with: gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS."
_HINTS: Mapping[int, tuple[str, str]] = {
    401: ("authentication_error", _SIGN_IN),
    403: (
        "permission_error",
        "Check that the project may use this model: ANTHROPIC_VERTEX_PROJECT_ID, CLOUD_ML_REGION.",
    ),
    404: ("not_found_error", "Check that the model is enabled in this region: CLOUD_ML_REGION, --model."),
}


class Vertex(Struct, frozen=True):
    """Requests to Vertex for one project. `credentials` give tokens; None without authentication."""

    project: str
    region: str
    credentials: Any = None
    name: str = "vertex"
    stream_type: str = "text/event-stream"

    async def build(self, base: str, head: Head, body: Json, betas: tuple[str, ...], stream: bool) -> HttpCall:
        action = "streamRawPredict" if stream else "rawPredict"
        model = quote(vertex_model(body["model"]), safe="@")
        place = f"projects/{quote(self.project, safe='')}/locations/{quote(self.region, safe='')}"
        url = f"{base.rstrip('/')}/{place}/publishers/anthropic/models/{model}:{action}"
        content = {name: value for name, value in body.items() if name != "model"}
        headers = head(betas)
        if self.credentials is not None:
            headers["authorization"] = f"Bearer {await asyncio.to_thread(_token, self.credentials)}"
        return HttpCall(url, headers, encode({**content, "anthropic_version": BODY_VERSION}))

    def reader(self) -> SseReader:
        return SseReader()

    def explain(self, status: int, headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
        """Return the kind of an error and what to do, each "" if the Messages API itself answered."""
        return ("", "") if b'"type":"error"' in body.replace(b" ", b"") else _HINTS.get(status, ("", ""))


def _token(credentials: Credentials) -> str:
    """Return a token that is valid now; an expired one is renewed."""
    from google.auth.exceptions import GoogleAuthError

    if not credentials.valid:
        try:
            credentials.refresh(_request())
        except GoogleAuthError as error:
            message = f"Google gave no token: {error}"
            raise ApiError(message, "authentication_error", hint=_SIGN_IN) from error
    return str(credentials.token)


def _request() -> Any:
    """Return what google-auth sends its requests with: httpx, so that no second HTTP library is needed."""
    import httpx
    from google.auth import transport
    from google.auth.exceptions import TransportError

    class Answer(transport.Response):  # type: ignore[misc]
        def __init__(self, response: httpx.Response) -> None:
            self._response = response

        @property
        def status(self) -> int:
            return self._response.status_code

        @property
        def headers(self) -> Mapping[str, str]:
            return self._response.headers

        @property
        def data(self) -> bytes:
            return self._response.content

    class Request(transport.Request):  # type: ignore[misc]
        def __call__(
            self,
            url: str,
            method: str = "GET",
            body: bytes | None = None,
            headers: Mapping[str, str] | None = None,
            timeout: float | None = None,
            **more: Any,
        ) -> Answer:
            try:
                limit = timeout or TOKEN_SECONDS
                return Answer(httpx.request(method, url, content=body, headers=dict(headers or {}), timeout=limit))
            except httpx.HTTPError as error:
                raise TransportError(str(error)) from error

    return Request()


def connect_vertex() -> tuple[str, Vertex]:
    """Return the address and the platform that the environment describes. Raises ApiError."""
    try:
        import google.auth
        from google.auth.exceptions import GoogleAuthError
    except ModuleNotFoundError:
        raise ApiError("Google Vertex needs the package google-auth.", "extra", hint=install_hint("vertex")) from None
    project, credentials = environment.vertex_project(), None
    if not environment.is_switched_on("CLAUDE_CODE_SKIP_VERTEX_AUTH"):
        try:
            credentials, found = google.auth.default(scopes=SCOPES, request=_request())
        except GoogleAuthError as error:
            raise ApiError(f"There are no Google credentials: {error}", "authentication_error", hint=_SIGN_IN) from None
        project = project or found or ""
    if not project:
        raise ApiError("No Google Cloud project is set.", "endpoint", hint="Set ANTHROPIC_VERTEX_PROJECT_ID.")
    region = environment.vertex_region() or DEFAULT_REGION
    base = environment.vertex_base() or _base(region)
    return base, Vertex(project, region, credentials)


def _base(region: str) -> str:
    if region == "global":
        return "https://aiplatform.googleapis.com/v1"
    if region in ("us", "eu"):
        return f"https://aiplatform.{region}.rep.googleapis.com/v1"
    return f"https://{region}-aiplatform.googleapis.com/v1"
