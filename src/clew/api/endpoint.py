"""Endpoints: where the Messages API is, who asks, and what that server is known to take.

The key or token is the one the user gives. No other program's login is read, and the name sent is our own.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct, field

from clew.errors import ApiError
from clew.system import environment
from clew.system.credential_transport import HINT, is_loopback, is_protected
from clew.version import __version__

BASE = "https://api.anthropic.com"
API_VERSION = "2023-06-01"


class ServerProfile(Struct, frozen=True):
    """What one kind of server takes. What it does not take is left out of the request."""

    name: str
    betas: bool = False  # capabilities that are asked for by a header and a field
    marks: bool = True  # cache_control
    counts: bool = True  # /v1/messages/count_tokens
    leaves_out: tuple[str, ...] = ()  # fields of the body that it does not know
    token: str = ""  # what it wants to see where no key is needed


PROFILES: Mapping[str, ServerProfile] = {
    each.name: each
    for each in (
        ServerProfile("anthropic", betas=True),
        ServerProfile("generic"),
        ServerProfile("litellm"),
        ServerProfile("ollama", marks=False, counts=False, leaves_out=("metadata", "tool_choice"), token="ollama"),
        ServerProfile("vllm", marks=False, leaves_out=("metadata",), token="none"),
    )
}


class Endpoint(Struct, frozen=True):
    """One server, and the key or token to ask it with."""

    base: str = BASE
    key: str = ""
    token: str = ""
    profile: ServerProfile = PROFILES["anthropic"]
    headers: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Endpoint(base={self.base!r}, profile={self.profile.name!r})"  # the key is nobody's to read

    def __post_init__(self) -> None:
        has_secret = self.key or self.headers or self.token not in ("", self.profile.token)
        if has_secret and not is_protected(self.base):
            raise _unusable(f"The key would be sent to {urlsplit(self.base).hostname} in the clear.", HINT)

    @property
    def is_loopback(self) -> bool:
        return is_loopback(urlsplit(self.base).hostname or "")

    def url(self, path: str) -> str:
        """The address of a path; a base that already ends in `/v1` is taken as it is meant."""
        return self.base.rstrip("/").removesuffix("/v1") + path

    def head(self, betas: tuple[str, ...] = ()) -> dict[str, str]:
        """The headers of a request."""
        made = {
            "anthropic-version": API_VERSION,
            "content-type": "application/json",
            "user-agent": f"clew/{__version__}",
        }
        if self.key:
            made["x-api-key"] = self.key
        if self.token:
            made["authorization"] = f"Bearer {self.token}"
        if betas:
            made["anthropic-beta"] = ",".join(betas)
        return made | {name.lower(): value for name, value in self.headers.items()}


def endpoint(base: str = "", key: str = "", token: str = "", profile: str = "") -> Endpoint:
    """The endpoint that was asked for; what was not said is taken from the environment, then from the profile."""
    where = base or environment.api_base() or BASE
    if urlsplit(where).scheme not in ("http", "https") or not urlsplit(where).hostname:
        raise _unusable(f"{where!r} is no address of a server.", "Give one like https://api.anthropic.com.")
    if not (key or token):
        key, token = environment.api_key(), environment.api_token()
    chosen = _profile(profile, where)
    if not (key or token):
        token = chosen.token
    if not (key or token) and chosen.name == "anthropic":
        raise _unusable(
            f"There is no key for {where}.", "Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN to one of your own."
        )
    return Endpoint(where, key, token, chosen, _headers(environment.api_headers()))


def _profile(name: str, base: str) -> ServerProfile:
    if name:
        if name not in PROFILES:
            raise _unusable(f"No profile is called {name!r}.", f"There are: {', '.join(PROFILES)}.")
        return PROFILES[name]
    parts = urlsplit(base)
    if parts.hostname == urlsplit(BASE).hostname:
        return PROFILES["anthropic"]
    return PROFILES["ollama" if parts.port == 11434 or parts.hostname == "ollama.com" else "generic"]


def _headers(lines: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and name.strip()}


def _unusable(message: str, hint: str) -> ApiError:
    error = ApiError(message, "endpoint")
    error.hint = hint
    return error
