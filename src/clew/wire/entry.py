"""Entries: typed reads over bytes that are kept.

Reading never fails and loses nothing. A field of the wrong type falls back to its default for that line alone and stays in
`entry.data`; an unknown type or field stays too. What is not a JSON object becomes `Damaged`, with whatever whole objects
could be saved from it; an empty line becomes `Blank`. The `raw` of all items of a file, joined, is the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import force_setattr, replace

from clew.system.plural import plural
from clew.wire.content_block import NOTHING, Block, Message
from clew.wire.json_codec import decode, decode_loosely, decode_slowly
from clew.wire.lenient import soften
from clew.wire.line import LONGEST, PIECE, Line, Source, Unread, all_pieces, lines
from clew.wire.timestamps import instant

_NO_LINE = Line(0, 0, b"", 0, 0)


class Spoken(Struct, frozen=True, gc=False, eq=False):
    """The fields that say who said what: all that a pass over many files decodes."""

    is_sidechain: bool = field(default=False, name="isSidechain")
    type: str = ""
    message: Message | None = None
    uuid: str | None = None
    timestamp: str | int | float | None = None
    request_id: str | None = field(default=None, name="requestId")
    is_meta: bool = field(default=False, name="isMeta")
    is_compact_summary: bool = field(default=False, name="isCompactSummary")
    origin: Raw = NOTHING
    attachment: Raw = NOTHING
    tool_use_result: Raw = field(default=NOTHING, name="toolUseResult")
    is_api_error: bool = field(default=False, name="isApiErrorMessage")

    @property
    def is_synthetic(self) -> bool:
        """Written by the program in the model's name: no API reply stands behind it."""
        return self.message is not None and self.message.model == "<synthetic>"

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

    def failed(self, result: Block, tool: str = "") -> bool:
        """Whether one of the results of this entry reports a failure; `tool` is the name of the tool, if it is known.

        `is_error` decides. Where it is missing, the program's own record decides: failed tools have a string for a record.
        MCP tools also have one for plain output, which is a failure only if it begins with "Error".
        """
        if result.is_error is not None:
            return result.is_error
        if bytes(memoryview(self.tool_use_result)[:1]) != b'"' or len(self.results) > 1:
            return False
        return not tool.startswith("mcp__") or bytes(self.tool_use_result).startswith(b'"Error')


class Entry(Spoken, frozen=True, gc=False, eq=False):
    """One JSON object of a session file. Their names for our words: parentUuid is `parent`, and so on."""

    parent: str | None = field(default=None, name="parentUuid")
    logical_parent: str | None = field(default=None, name="logicalParentUuid")
    prompt_id: str | None = field(default=None, name="promptId")
    user_type: str | None = field(default=None, name="userType")
    cwd: str | None = None
    session_id: str | None = field(default=None, name="sessionId")
    version: str | None = None
    git_branch: str | None = field(default=None, name="gitBranch")
    agent_id: str | None = field(default=None, name="agentId")
    slug: str | None = None
    subtype: str | None = None
    source_tool_assistant: str | None = field(default=None, name="sourceToolAssistantUUID")
    source_tool_use: str | None = field(default=None, name="sourceToolUseID")
    parent_tool_use: str | None = field(default=None, name="parentToolUseID")
    tool_use_id: str | None = field(default=None, name="toolUseID")
    is_transcript_only: bool = field(default=False, name="isVisibleInTranscriptOnly")
    is_aborted: bool = field(default=False, name="isAbortedMidStream")
    permission_mode: str | None = field(default=None, name="permissionMode")
    prompt_source: str | None = field(default=None, name="promptSource")
    entrypoint: str | None = None
    leaf: str | None = field(default=None, name="leafUuid")
    message_id: str | None = field(default=None, name="messageId")
    content: Raw = NOTHING
    progress: Raw = field(default=NOTHING, name="data")
    todos: Raw = NOTHING

    line: Line = field(default=_NO_LINE, name="(line)")

    @property
    def raw(self) -> bytes:
        """The exact bytes of the line, newline included."""
        return self.line.raw

    @property
    def data(self) -> dict[str, Any]:
        """The whole JSON object, decoded anew at each call: a private copy."""
        value = decode(self.line.json) if self.line.whole else decode_loosely(self.line.json)
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
_OPEN, _CLOSE = 0x7B, 0x7D
SHORT = 16  # bytes of a line: no entry is so short
MANY = 1024  # such lines in a row are not read one by one
_BLANK = re.compile(rb"[ \t\n\r\v\f]++")
_SHORT = re.compile(rb"(?>[^\n]{0,%d}\n)++" % (SHORT - 2))
REFUSALS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read(source: Source, *, offset: int = 0, number: int = 1, finished: bool = False) -> Iterator[Item]:
    """Every line of a source as an item. `finished` holds back an unterminated last line, for reading on later."""
    for buffer, at in all_pieces(source, offset=offset, size=PIECE):
        if isinstance(buffer, Unread):
            found = [parse(Line(number, at, buffer, 0, len(buffer)))]
            found = found if found[0].line.is_terminated or not finished else []
        else:
            found = read_piece(buffer[: buffer.rfind(b"\n") + 1] if finished else buffer, at, number)
        if found:
            number = found[-1].line.number + found[-1].line.count
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
    if line.size > LONGEST:
        return Damaged(line, "long", f"longer than {LONGEST >> 20} MiB")
    json = line.json
    if not json:
        return Blank(line)
    try:
        entry = _DECODER.decode(json)
    except REFUSALS:
        del json  # a long line is not kept twice
        return _parse_slowly(line)
    force_setattr(entry, "line", line)
    return entry


def saved(part: Line) -> Entry:
    """An entry from an object that was found inside a damaged line."""
    try:
        entry = _DECODER.decode(part.raw)
    except REFUSALS:
        entry = soften(Entry, decode_loosely(part.raw))
    force_setattr(entry, "line", replace(part, note="saved from a damaged line"))
    return entry


def read_piece(buffer: bytes, at: int, number: int) -> list[Item]:
    """Decode a piece in one go; a piece with anything odd in it is decoded line by line."""
    try:
        found: list[Item] = _DECODER.decode_lines(buffer)  # type: ignore[assignment]
    except REFUSALS:
        return _read_lines(buffer, at, number)
    starts = is_one_object_a_line(buffer, len(found)) if len(found) * SHORT < len(buffer) + SHORT else []
    if not starts:
        return _read_lines(buffer, at, number)
    stops = [*starts[1:], len(buffer)]
    for entry, start, stop in zip(found, starts, stops, strict=True):
        force_setattr(entry, "line", Line(number, at + start, buffer, start, stop))
        number += 1
    return found


def is_one_object_a_line(buffer: bytes, count: int) -> list[int]:
    """Where the lines begin, if `count` objects that were decoded from the buffer stand on one line each; else nothing.

    Every line must begin with `{` and end with `}`: a newline between them can then only stand between objects, so that
    as many objects as lines means one on each.
    """
    starts: list[int] = []
    start, size, find = 0, len(buffer), buffer.find
    while start < size:
        stop = find(b"\n", start)
        if stop < 0:
            stop = size
        if buffer[start] != _OPEN or buffer[stop - 1] != _CLOSE:
            return []
        starts.append(start)
        start = stop + 1
    return starts if len(starts) == count else []


def _read_lines(buffer: bytes, at: int, number: int) -> list[Item]:
    """Decode a piece line by line. A long run of lines too short for an entry is one item: there may be millions."""
    found: list[Item] = []
    start, size, tried = 0, len(buffer), -1
    while start < size:
        if start > tried and (stop := _end_of_run(buffer, start)):
            tried = stop
            if (count := buffer.count(b"\n", start, tried)) >= MANY:
                found.append(_nothing(Line(number, at + start, buffer, start, tried, count=count)))
                start, number = tried, number + count
                continue
        stop = buffer.find(b"\n", start) + 1 or size
        found.append(parse(Line(number, at + start, buffer, start, stop)))
        start, number = stop, number + 1
    return found


def _end_of_run(buffer: bytes, start: int) -> int:
    """Where a run of blank lines ends, or else one of short lines; 0 if the line here is neither."""
    blank = _BLANK.match(buffer, start)
    if blank and (stop := buffer.rfind(b"\n", start, blank.end()) + 1):
        return stop
    short = _SHORT.match(buffer, start)
    return short.end() if short else 0


def _nothing(line: Line) -> Item:
    if not line.raw.strip():
        return Blank(line)
    return Damaged(line, "unreadable", f"{plural(line.count, 'line')} too short to be an entry")


def _parse_slowly(line: Line) -> Item:
    from clew.wire.salvage import damaged

    try:
        value = decode_slowly(line.json)
    except ValueError as error:
        reason = str(error)
    else:
        if isinstance(value, dict):
            entry = soften(Entry, value)
            force_setattr(entry, "line", replace(line, note=_why(line.json)))
            return entry
        reason = "not a JSON object"
    return damaged(line, reason)


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


__all__ = ["Blank", "Damaged", "Entry", "Item", "entries", "lines", "parse", "read", "saved"]
