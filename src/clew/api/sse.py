"""Server-sent events: from bytes to events, however the bytes are cut.

The rules are those of the HTML standard: lines end in CRLF, LF or CR; a byte order mark may come first; a line that
begins with a colon is a comment; several `data` lines join with a newline; an empty line ends an event; an event that
the end of the stream cuts off does not count.
"""

from __future__ import annotations

import re

from msgspec import Struct

BOM = b"\xef\xbb\xbf"
LONGEST = 64 * 1024 * 1024  # bytes of one event; more is no event of any API

_END = re.compile(rb"\r\n|\n|\r")


class ServerSentEvent(Struct, frozen=True):
    """One event: its name (`message` unless told) and its data, undecoded."""

    name: str
    data: bytes


class TooLong(ValueError):
    """An event without an end."""


class SseReader:
    """Takes bytes in pieces of any size and gives the events that they complete."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._seen = 0  # how much of the rest is known to hold no end of a line
        self._begun = False
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """The events that end in this piece."""
        self._rest += piece
        if not self._begun:
            if len(self._rest) < len(BOM) and BOM.startswith(self._rest):
                return []
            self._begun = True
            if self._rest.startswith(BOM):
                del self._rest[: len(BOM)]
        return self._events(is_last=False)

    def close(self) -> list[ServerSentEvent]:
        """The events that were only waiting to see whether a CR is followed by LF."""
        self._begun = True
        return self._events(is_last=True)

    @property
    def is_amid(self) -> bool:
        """Whether an event has begun that has not ended."""
        return bool(self._rest or self._data or self._name)

    def _events(self, is_last: bool) -> list[ServerSentEvent]:
        made: list[ServerSentEvent] = []
        start = 0
        while found := _END.search(self._rest, max(start, self._seen)):
            if found[0] == b"\r" and found.end() == len(self._rest) and not is_last:
                break  # an LF may still come
            line = bytes(self._rest[start : found.start()])
            start = self._seen = found.end()
            if (event := self._line(line)) is not None:
                made.append(event)
        del self._rest[:start]
        self._seen = max(0, len(self._rest) - 1)
        if len(self._rest) + self._size > self._longest:
            raise TooLong(f"The stream holds an event of more than {self._longest} bytes.")
        return made

    def _line(self, line: bytes) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value)
        elif name == b"event":
            self._name = value
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        name, data = self._name, self._data
        self._name, self._data, self._size = b"", [], 0
        if not data:
            return None
        return ServerSentEvent(name.decode("utf-8", "replace") or "message", b"\n".join(data))
