"""Entries: typed reads over bytes that are kept.

Reading never fails and loses nothing. A field of the wrong type falls back to its default for that line alone and stays in
`entry.data`; an unknown type or field stays too. What is not a JSON object becomes `Damaged`, with whatever whole objects
could be saved from it; an empty line becomes `Blank`. The `raw` of all items of a file, joined, is the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import force_setattr, replace

from clew.wire.block import NOTHING, Block, Message
from clew.wire.encode import decode, decode_slowly
from clew.wire.line import PIECE, Line, Source, lines, pieces
from clew.wire.soften import soften
from clew.wire.time import instant

_NO_LINE = Line(0, 0, b"", 0, 0)


class Entry(Struct, frozen=True, gc=False, eq=False):
    """One JSON object of a session file. Their names for our words: parentUuid is `parent`, and so on."""

    parent: str | None = field(default=None, name="parentUuid")
    logical_parent: str | None = field(default=None, name="logicalParentUuid")
    is_sidechain: bool = field(default=False, name="isSidechain")
    prompt_id: str | None = field(default=None, name="promptId")
    user_type: str | None = field(default=None, name="userType")
    cwd: str | None = None
    session_id: str | None = field(default=None, name="sessionId")
    version: str | None = None
    git_branch: str | None = field(default=None, name="gitBranch")
    agent_id: str | None = field(default=None, name="agentId")
    slug: str | None = None
    type: str = ""
    subtype: str | None = None
    message: Message | None = None
    uuid: str | None = None
    timestamp: str | int | float | None = None
    request_id: str | None = field(default=None, name="requestId")
    tool_use_result: Raw = field(default=NOTHING, name="toolUseResult")
    source_tool_assistant: str | None = field(default=None, name="sourceToolAssistantUUID")
    source_tool_use: str | None = field(default=None, name="sourceToolUseID")
    parent_tool_use: str | None = field(default=None, name="parentToolUseID")
    tool_use_id: str | None = field(default=None, name="toolUseID")
    is_meta: bool = field(default=False, name="isMeta")
    is_compact_summary: bool = field(default=False, name="isCompactSummary")
    is_transcript_only: bool = field(default=False, name="isVisibleInTranscriptOnly")
    is_api_error: bool = field(default=False, name="isApiErrorMessage")
    is_aborted: bool = field(default=False, name="isAbortedMidStream")
    permission_mode: str | None = field(default=None, name="permissionMode")
    prompt_source: str | None = field(default=None, name="promptSource")
    entrypoint: str | None = None
    leaf: str | None = field(default=None, name="leafUuid")
    message_id: str | None = field(default=None, name="messageId")
    content: Raw = NOTHING
    attachment: Raw = NOTHING
    progress: Raw = field(default=NOTHING, name="data")
    origin: Raw = NOTHING
    todos: Raw = NOTHING

    line: Line = field(default=_NO_LINE, name="(line)")

    @property
    def raw(self) -> bytes:
        """The exact bytes of the line, newline included."""
        return self.line.raw

    @property
    def data(self) -> dict[str, Any]:
        """The whole JSON object, decoded anew at each call: a private copy."""
        value = decode(self.line.json)
        return value if isinstance(value, dict) else {}

    @property
    def leniency(self) -> str:
        """Why this line had to be decoded leniently; empty for the ordinary line."""
        return self.line.note

    @property
    def offset(self) -> int:
        return self.line.offset

    @property
    def is_salvaged(self) -> bool:
        """Found inside a damaged line, where most readers see nothing."""
        return not self.line.whole

    @property
    def time(self) -> datetime | None:
        return instant(self.timestamp)

    @property
    def blocks(self) -> list[Block]:
        return self.message.blocks if self.message else []

    @property
    def text(self) -> str:
        """The text blocks of the message alone."""
        return self.message.text if self.message else ""

    @property
    def results(self) -> list[Block]:
        content = self.message.content if self.message else None
        return [b for b in content if b.type == "tool_result"] if isinstance(content, list) else []

    @property
    def uses(self) -> list[Block]:
        content = self.message.content if self.message else None
        return [b for b in content if b.type == "tool_use"] if isinstance(content, list) else []

    @property
    def is_synthetic(self) -> bool:
        """Written by the program in the model's name: no API reply stands behind it."""
        return self.message is not None and self.message.model == "<synthetic>"

    @property
    def is_boundary(self) -> bool:
        return self.type == "system" and self.subtype == "compact_boundary"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.raw == other.raw and self.offset == other.offset

    def __hash__(self) -> int:
        return hash((self.line.offset, self.uuid, self.type))


class Damaged(Struct, frozen=True):
    """A line that is not one JSON object: why, and the whole objects that were saved from it."""

    line: Line
    kind: str
    reason: str
    salvaged: tuple[Entry, ...] = ()

    @property
    def raw(self) -> bytes:
        return self.line.raw


class Blank(Struct, frozen=True):
    """A line of nothing but white space."""

    line: Line

    @property
    def raw(self) -> bytes:
        return self.line.raw


Item = Entry | Damaged | Blank

_DECODER = msgspec.json.Decoder(Entry)
_REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_OPEN, _CLOSE = 0x7B, 0x7D


def read(source: Source, *, offset: int = 0, number: int = 1, finished: bool = False) -> Iterator[Item]:
    """Every line of a source as an item. `finished` holds back an unterminated last line, for reading on later."""
    for buffer, at in pieces(source, offset=offset, size=PIECE):
        found = _read_piece(buffer, at, number)
        if finished and found and not found[-1].line.is_terminated:
            found.pop()
        if found:
            number = found[-1].line.number + 1
        yield from found


def entries(items: Iterable[Item]) -> Iterator[Entry]:
    """The entries among items, those saved from damage included."""
    for item in items:
        if isinstance(item, Entry):
            yield item
        elif isinstance(item, Damaged):
            yield from item.salvaged


def parse(line: Line) -> Item:
    """One line, by itself."""
    json = line.json
    if not json:
        return Blank(line)
    try:
        entry = _DECODER.decode(json)
    except _REFUSALS:
        return _parse_slowly(line, json)
    force_setattr(entry, "line", line)
    return entry


def _read_piece(buffer: bytes, at: int, number: int) -> list[Item]:
    """Decode a piece in one go; a piece with anything odd in it is decoded line by line.

    Every line must begin with `{` and end with `}`: a newline between them can then only stand between objects, so that
    as many objects as lines means one on each.
    """
    try:
        found: list[Item] = _DECODER.decode_lines(buffer)  # type: ignore[assignment]
    except _REFUSALS:
        return _read_lines(buffer, at, number)
    start, size, count = 0, len(buffer), len(found)
    find = buffer.find
    for index in range(count):
        stop = find(b"\n", start) + 1 or size
        last = buffer[stop - 2] if buffer[stop - 1] == 0x0A and stop - start > 1 else buffer[stop - 1]
        if buffer[start] != _OPEN or last != _CLOSE:
            return _read_lines(buffer, at, number)
        force_setattr(found[index], "line", Line(number + index, at + start, buffer, start, stop))
        start = stop
        if start >= size and index + 1 < count:
            return _read_lines(buffer, at, number)
    if start != size:
        return _read_lines(buffer, at, number)
    return found


def _read_lines(buffer: bytes, at: int, number: int) -> list[Item]:
    return [
        parse(Line(line.number, at + line.offset, buffer, line.start, line.stop))
        for line in _cut(buffer, number)
    ]


def _cut(buffer: bytes, number: int) -> Iterator[Line]:
    start, size = 0, len(buffer)
    while start < size:
        stop = buffer.find(b"\n", start) + 1 or size
        yield Line(number, start, buffer, start, stop)
        start, number = stop, number + 1


def _parse_slowly(line: Line, json: bytes) -> Item:
    from clew.wire.damage import damaged

    try:
        value = decode_slowly(json)
    except ValueError as error:
        return damaged(line, str(error))
    if not isinstance(value, dict):
        return damaged(line, "not a JSON object")
    return lenient(value, line, _why(json))


def lenient(value: dict[str, Any], line: Line, why: str) -> Entry:
    """An entry from JSON whose fields are not all of the expected types."""
    entry = soften(Entry, value)
    force_setattr(entry, "line", replace(line, note=why))
    return entry


def _why(json: bytes) -> str:
    """Why the typed decoder refused a line that is an object all the same."""
    try:
        _DECODER.decode(json)
    except msgspec.ValidationError as error:
        return f"unexpected type: {error}"
    except UnicodeDecodeError:
        return "invalid UTF-8"
    except msgspec.DecodeError:
        return "lone surrogate" if b"\\ud" in json or b"\\uD" in json else "unusual JSON"
    except RecursionError:
        return "deep nesting"
    return ""


__all__ = ["Blank", "Damaged", "Entry", "Item", "entries", "lenient", "lines", "parse", "read"]
