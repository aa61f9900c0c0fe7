"""HTTP/1.1 for a server on loopback: just enough to be asked by any client, on the streams of asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

LONGEST_HEAD = 64 * 1024
_PHRASES = {529: "Overloaded"}


class Malformed(ValueError):
    """What came in is no request."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request; names of headers are in lower case. `is_whole` is False if the body was too long to be read."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    is_whole: bool = True

    @property
    def is_last(self) -> bool:
        """Whether the client closes the connection behind this request."""
        return not self.is_whole or "close" in self.headers.get("connection", "").lower()


async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, longest: int) -> HttpRequest | None:
    """The next request on a connection; None if the client has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial.strip():
            raise Malformed("the request breaks off") from None
        return None
    except asyncio.LimitOverrunError:
        raise Malformed("the head of the request is too long") from None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Malformed("the first line is no request")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    body = await _body(reader, headers, longest)
    return HttpRequest(words[0], words[1].partition("?")[0], headers, body or b"", body is not None)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str], longest: int) -> bytes | None:
    """The body; None if it is longer than allowed."""
    try:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return await _chunks(reader, longest)
        size = int(headers.get("content-length") or 0)
        if size > longest:
            return None
        return await reader.readexactly(max(0, size))
    except (asyncio.IncompleteReadError, ValueError):
        raise Malformed("the body breaks off") from None


async def _chunks(reader: asyncio.StreamReader, longest: int) -> bytes | None:
    made = bytearray()
    while size := int((await reader.readline()).partition(b";")[0].strip(), 16):
        if len(made) + size > longest:
            return None
        made += await reader.readexactly(size)
        await reader.readexactly(2)
    while (await reader.readline()).strip():
        pass
    return bytes(made)


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """The head of an answer."""
    known = status in HTTPStatus._value2member_map_
    phrase = _PHRASES.get(status) or (HTTPStatus(status).phrase if known else "Unknown")
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def chunk(data: bytes) -> bytes:
    """One chunk of a body of unknown length; an empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)
