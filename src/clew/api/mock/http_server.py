"""Minimal HTTP/1.1 server on asyncio streams, for use on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http import HTTPStatus

from msgspec import Struct

MAX_HEAD = 64 * 1024
_PHRASES = {529: "Overloaded"}


class Malformed(ValueError):
    """The input is not a valid request."""


class HttpRequest(Struct, frozen=True):
    """One request; header names are in lower case. `is_whole` is False if the body was too long."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    is_whole: bool = True

    @property
    def is_last(self) -> bool:
        """True if the client closes the connection after this request."""
        return not self.is_whole or "close" in self.headers.get("connection", "").lower()


async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, max_body: int) -> HttpRequest | None:
    """Return the next request on a connection; None if the client disconnected. Raises Malformed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial.strip():
            raise Malformed("the request is incomplete") from None
        return None
    except asyncio.LimitOverrunError:
        raise Malformed("the head of the request is too long") from None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise Malformed("the first line is not a request")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    body = await _read_body(reader, headers, max_body)
    return HttpRequest(parts[0], parts[1].partition("?")[0], headers, body or b"", body is not None)


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str], max_body: int) -> bytes | None:
    """Return the body; None if it is longer than allowed."""
    try:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return await _read_chunks(reader, max_body)
        size = int(headers.get("content-length") or 0)
        if size > max_body:
            return None
        return await reader.readexactly(max(0, size))
    except (asyncio.IncompleteReadError, ValueError):
        raise Malformed("the body is incomplete") from None


async def _read_chunks(reader: asyncio.StreamReader, max_body: int) -> bytes | None:
    body = bytearray()
    while size := int((await reader.readline()).partition(b";")[0].strip(), 16):
        if len(body) + size > max_body:
            return None
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while (await reader.readline()).strip():
        pass
    return bytes(body)


def response_head(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the head of an answer."""
    known = status in HTTPStatus._value2member_map_
    phrase = _PHRASES.get(status) or (HTTPStatus(status).phrase if known else "Unknown")
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def encode_chunk(data: bytes) -> bytes:
    """Return one chunk of a body of unknown length; an empty one ends it."""
    return b"%x\r\n%b\r\n" % (len(data), data)
