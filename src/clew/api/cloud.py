"""The interface of cloud platforms: how their requests are built, their streams read and their errors explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from clew.api.sse import ServerSentEvent
from clew.wire.json_codec import Json

Head = Callable[[tuple[str, ...]], dict[str, str]]


class HttpCall(Struct, frozen=True):
    """One HTTP request: POST to a URL."""

    url: str
    headers: Mapping[str, str]
    content: bytes


class StreamReader(Protocol):
    """Takes bytes in pieces of any size and returns the events that they complete."""

    def feed(self, piece: bytes) -> Sequence[ServerSentEvent]: ...

    def close(self) -> Sequence[ServerSentEvent]: ...


class Cloud(Protocol):
    """A platform that serves the models under addresses, credentials and errors of its own."""

    @property
    def name(self) -> str: ...

    @property
    def stream_type(self) -> str:
        """The content type of its streams."""
        ...

    async def build(self, base: str, head: Head, body: Json, betas: tuple[str, ...], stream: bool) -> HttpCall:
        """Return the call for the body of a request; `head` returns the headers of the server for some betas."""
        ...

    def reader(self) -> StreamReader: ...

    def explain(self, status: int, headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
        """Return the kind of an error and what to do, each "" if the platform does not say it."""
        ...
