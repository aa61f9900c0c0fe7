"""Parse server-sent events from bytes that arrive in pieces of any size.

The rules are those of the HTML standard: lines end in CRLF, LF or CR; a byte order mark can come first; a line that
begins with a colon is a comment; several `data` lines are joined with a newline; an empty line ends an event; an
event that the end of the stream cuts off does not count.
"""

from __future__ import annotations

import re

from msgspec import Struct

BOM = b"\xef\xbb\xbf"
MAX_EVENT = 64 * 1024 * 1024  # bytes; no API sends longer events

_END = re.compile(rb"\r\n|\n|\r")


class ServerSentEvent(Struct, frozen=True):
    """One event: its name (`message` by default) and its data, not decoded."""

    name: str
    data: bytes


class EventTooLong(ValueError):
    """An event longer than the limit."""


class SseReader:
    """Takes bytes in pieces of any size and returns the events that they complete."""

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._max_event = max_event
        self._buffer = bytearray()
        self._searched = 0  # bytes of the buffer that are known to contain no line end
        self._has_started = False
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[ServerSentEvent]:
        """Return the events that end in this piece."""
        self._buffer += piece
        if not self._has_started:
            if len(self._buffer) < len(BOM) and BOM.startswith(self._buffer):
                return []
            self._has_started = True
            if self._buffer.startswith(BOM):
                del self._buffer[: len(BOM)]
        return self._events(is_last=False)

    def close(self) -> list[ServerSentEvent]:
        """Return the events that were waiting for an LF after a CR."""
        self._has_started = True
        return self._events(is_last=True)

    def _events(self, is_last: bool) -> list[ServerSentEvent]:
        events: list[ServerSentEvent] = []
        start = 0
        while line_end := _END.search(self._buffer, max(start, self._searched)):
            if line_end[0] == b"\r" and line_end.end() == len(self._buffer) and not is_last:
                break  # an LF can still follow
            line = bytes(self._buffer[start : line_end.start()])
            start = self._searched = line_end.end()
            if (event := self._line(line)) is not None:
                events.append(event)
        del self._buffer[:start]
        self._searched = max(0, len(self._buffer) - 1)
        if len(self._buffer) + self._size > self._max_event:
            raise EventTooLong(f"The stream contains an event of more than {self._max_event} bytes.")
        return events

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
