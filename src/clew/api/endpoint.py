"""Describe the server to send requests to: address, credentials, and what the server supports.

The key or token is the one the user gives. No other program's login is read, and clew identifies itself by its own
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct, field

from clew.api.cloud import Cloud
from clew.api.key_helper import KeyHelper
from clew.errors import ApiError
from clew.system import environment
from clew.system.credential_transport import HINT, is_loopback, is_protected
from clew.version import __version__

BASE = "https://api.anthropic.com"
API_VERSION = "2023-06-01"


class ServerProfile(Struct, frozen=True):
    """What one kind of server accepts. Everything else is left out of the request."""

    name: str
    betas: bool = False  # supports capabilities that need a header and a field
    marks: bool = True  # cache_control
    counts: bool = True  # /v1/messages/count_tokens
    leaves_out: tuple[str, ...] = ()  # body fields that the server does not know
    searches: bool = True  # has the server tool `web_search`
    displays_budget: bool = True  # takes `display` in thinking with a budget
    token: str = ""  # placeholder for servers that need no key


PROFILES: Mapping[str, ServerProfile] = {
    each.name: each
    for each in (
        ServerProfile("anthropic", betas=True),
        ServerProfile("generic", betas=True),
        ServerProfile("litellm", betas=True),
        ServerProfile(
            "bedrock", True, counts=False, leaves_out=("context_management",), searches=False, displays_budget=False
        ),
        ServerProfile("vertex", True, counts=False, leaves_out=("context_management",), displays_budget=False),
        ServerProfile(
            "ollama", marks=False, counts=False, leaves_out=("metadata", "tool_choice"), searches=False, token="ollama"
        ),
        ServerProfile("vllm", marks=False, leaves_out=("metadata",), searches=False, token="none"),
    )
}


class Endpoint(Struct, frozen=True):
    """One server, and the key or token for it."""

    base: str = BASE
    key: str = ""
    token: str = ""
    profile: ServerProfile = PROFILES["anthropic"]
    headers: Mapping[str, str] = field(default_factory=dict)
    helper: KeyHelper | None = None  # a program that prints the key
    cloud: Cloud | None = None  # None for a server that speaks the Messages API itself

    def __repr__(self) -> str:
        return f"Endpoint(base={self.base!r}, profile={self.profile.name!r})"  # without the key, which is secret

    def __post_init__(self) -> None:
        has_token = self.token not in ("", self.profile.token)
        if (self.key or self.headers or self.helper or self.cloud or has_token) and not is_protected(self.base):
            raise _endpoint_error(f"The key would be sent to {urlsplit(self.base).hostname} without encryption.", HINT)

    @property
    def is_loopback(self) -> bool:
        return is_loopback(urlsplit(self.base).hostname or "")

    def url(self, path: str) -> str:
        """Return the URL of a path; a base that already ends in `/v1` is accepted."""
        return self.base.rstrip("/").removesuffix("/v1") + path

    def head(self, betas: tuple[str, ...] = ()) -> dict[str, str]:
        """Return the headers of a request."""
        headers = {
            "anthropic-version": API_VERSION,
            "content-type": "application/json",
            "user-agent": f"clew/{__version__}",
        }
        if self.key:
            headers["x-api-key"] = self.key
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        return headers | {name.lower(): value for name, value in self.headers.items()}


def endpoint(
    base: str = "", key: str = "", token: str = "", profile: str = "", helper: KeyHelper | None = None
) -> Endpoint:
    """Return the requested endpoint; missing values come from the environment, then from the profile. Raises
    ApiError.
    """
    if not base and environment.is_switched_on("CLAUDE_CODE_USE_BEDROCK"):
        from clew.api.bedrock import connect_bedrock

        return _cloud_endpoint("bedrock", *connect_bedrock())
    if not base and environment.is_switched_on("CLAUDE_CODE_USE_VERTEX"):
        from clew.api.vertex import connect_vertex

        return _cloud_endpoint("vertex", *connect_vertex())
    address = base or environment.api_base() or BASE
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
        raise _endpoint_error(
            f"{address!r} is not the address of a server.", "Give one like https://api.anthropic.com."
        )
    if not (key or token):
        key, token = environment.api_key(), environment.api_token()
    chosen = _profile(profile, address)
    if not (key or token):
        token = chosen.token
    if not (key or token or helper) and chosen.name == "anthropic":
        raise _endpoint_error(
            f"No key is set for {address}.", "Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN to your key."
        )
    return Endpoint(address, key, token, chosen, environment.header_lines(), helper)


def _cloud_endpoint(profile: str, base: str, cloud: Cloud) -> Endpoint:
    return Endpoint(base, profile=PROFILES[profile], headers=environment.header_lines(), cloud=cloud)


def _profile(name: str, base: str) -> ServerProfile:
    if name:
        if name not in PROFILES:
            raise _endpoint_error(f"Unknown profile {name!r}.", f"Choose one of: {', '.join(PROFILES)}.")
        return PROFILES[name]
    parts = urlsplit(base)
    if parts.hostname == urlsplit(BASE).hostname:
        return PROFILES["anthropic"]
    return PROFILES["ollama" if parts.port == 11434 or parts.hostname == "ollama.com" else "generic"]


def _endpoint_error(message: str, hint: str) -> ApiError:
    return ApiError(message, "endpoint", hint=hint)
