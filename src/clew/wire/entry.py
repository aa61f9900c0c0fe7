"""Read session files as typed entries, without losing a byte.

Reading never fails. A field of the wrong type gets its default for that line alone and stays in `entry.data`, as do
unknown types and fields. A line that is not a JSON object becomes `Damaged`, with the complete objects that could be
saved from it; an empty line becomes `Blank`. The `raw` of all items of a file, joined, equals the file.
"""

# Annotations are values here, not text: msgspec would compile each text when it makes a decoder of entries.

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import force_setattr, replace

from clew.system.plural import plural
from clew.wire import lenient, salvage
from clew.wire.content_block import EMPTY_RAW, Block, Message
from clew.wire.json_codec import decode, decode_loosely, decode_slowly
from clew.wire.line import MAX_LINE, PIECE_SIZE, Line, Source, Unread, all_pieces, lines
from clew.wire.timestamps import parse_timestamp

_NO_LINE = Line(0, 0, b"", 0, 0)
_QUOTE = 0x22


class BaseEntry(Struct, frozen=True, gc=False, eq=False):
    """The fields that say who said what; a scan of many files decodes only these."""

    is_sidechain: bool = field(default=False, name="isSidechain")
    type: str = ""
    message: Message | None = None
    uuid: str | None = None
    timestamp: str | int | float | None = None
    request_id: str | None = field(default=None, name="requestId")
    is_meta: bool = field(default=False, name="isMeta")
    is_compact_summary: bool = field(default=False, name="isCompactSummary")
    origin: Raw = EMPTY_RAW
    attachment: Raw = EMPTY_RAW
    tool_use_result: Raw = field(default=EMPTY_RAW, name="toolUseResult")
    is_api_error: bool = field(default=False, name="isApiErrorMessage")
    content: Raw = EMPTY_RAW  # of system entries

    @property
    def is_synthetic(self) -> bool:
        """Written by the program in the model's name, not an API reply."""
        return self.message is not None and self.message.model == "<synthetic>"

    @property
    def blocks(self) -> list[Block]:
        return self.message.blocks if self.message else []

    @property
    def text(self) -> str:
        """The text blocks of the message."""
        return self.message.text if self.message else ""

    @property
    def results(self) -> list[Block]:
        content = self.message.content if self.message else None
        return [b for b in content if b.type == "tool_result"] if isinstance(content, list) else []

    @property
    def has_results(self) -> bool:
        """Whether one of the blocks is a tool result."""
        content = self.message.content if self.message else None
        if isinstance(content, list):
            for block in content:
                if block.type == "tool_result":
                    return True
        return False

    @property
    def uses(self) -> list[Block]:
        content = self.message.content if self.message else None
        return [b for b in content if b.type == "tool_use"] if isinstance(content, list) else []

    def failed(self, result: Block, tool: str = "") -> bool:
        """Return True if one of the results of this entry reports a failure; `tool` is the name of the tool, if
        known.

        `is_error` decides. Where it is missing, the program's own record decides: failed tools have a string as
        their record. MCP tools also have one for plain output, which is a failure only if it begins with "Error".
        """
        if result.is_error is not None:
            return result.is_error
        record = self.tool_use_result
        if not record or memoryview(record)[0] != _QUOTE or len(self.results) > 1:
            return False
        return not tool.startswith("mcp__") or bytes(record).startswith(b'"Error')


class Entry(BaseEntry, frozen=True, gc=False, eq=False):
    """One JSON object of a session file. JSON names are shortened: `parentUuid` is `parent`, and so on."""

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
    progress: Raw = field(default=EMPTY_RAW, name="data")
    todos: Raw = EMPTY_RAW

    line: Line = field(default=_NO_LINE, name="(line)")

    @property
    def raw(self) -> bytes:
        """The exact bytes of the line, newline included."""
        return self.line.raw

    @property
    def data(self) -> dict[str, Any]:
        """The complete JSON object as a new copy, decoded at each access."""
        return decode_data(self.line.json, self.line.whole)

    @property
    def message_content(self) -> Any:
        """`data["message"]["content"]`, without decoding the rest of the line; None if there is none."""
        if self.line.whole:
            try:
                message = _DECODE_CONTENT(self.line.json).message
                return message.content if message else None
            except DECODE_ERRORS:
                pass
        found = self.data.get("message")
        return found.get("content") if isinstance(found, dict) else None

    @property
    def leniency(self) -> str:
        """Why this line had to be decoded leniently; empty for an ordinary line."""
        return self.line.note

    @property
    def offset(self) -> int:
        return self.line.offset

    @property
    def is_salvaged(self) -> bool:
        """Saved from a damaged line, where most readers find nothing."""
        return not self.line.whole

    @property
    def time(self) -> datetime | None:
        return parse_timestamp(self.timestamp)

    @property
    def is_boundary(self) -> bool:
        return self.type == "system" and self.subtype == "compact_boundary"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Entry) and self.offset == other.offset and self.raw == other.raw

    def __hash__(self) -> int:
        return hash((self.line.offset, self.uuid, self.type))


class Damaged(Struct, frozen=True):
    """A line that is not one JSON object: the reason, and the complete objects saved from it."""

    line: Line
    kind: str
    reason: str
    salvaged: tuple[Entry, ...] = ()

    @property
    def raw(self) -> bytes:
        return self.line.raw


class Blank(Struct, frozen=True):
    """A line of white space only."""

    line: Line

    @property
    def raw(self) -> bytes:
        return self.line.raw


Item = Entry | Damaged | Blank


class _MessageContent(Struct):
    content: Any = None


class _LineContent(Struct):
    message: _MessageContent | None = None


_DECODER = msgspec.json.Decoder(Entry)
_DECODE_CONTENT = msgspec.json.Decoder(_LineContent).decode
OPEN, CLOSE = 0x7B, 0x7D
SHORT_LINE = 16  # bytes: every entry is longer than such a line
LONG_RUN = 1024  # this many short lines in a row become one item
_BLANK = re.compile(rb"[ \t\n\r\v\f]++")
_SHORT = re.compile(rb"(?>[^\n]{0,%d}\n)++" % (SHORT_LINE - 2))
DECODE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read(source: Source, *, offset: int = 0, number: int = 1, finished: bool = False) -> Iterator[Item]:
    """Yield every line of a source as an item. `finished` leaves out an unterminated last line, to be read later."""
    for buffer, at in all_pieces(source, offset=offset, size=PIECE_SIZE):
        if isinstance(buffer, Unread):
            items = [parse_line(Line(number, at, buffer, 0, len(buffer)))]
            items = items if items[0].line.is_terminated or not finished else []
        else:
            items = read_piece(buffer[: buffer.rfind(b"\n") + 1] if finished else buffer, at, number)
        if items:
            number = items[-1].line.number + items[-1].line.count
        yield from items


def entries(items: Iterable[Item]) -> Iterator[Entry]:
    """Yield the entries among items, including those saved from damaged lines."""
    for item in items:
        if isinstance(item, Entry):
            yield item
        elif isinstance(item, Damaged):
            yield from item.salvaged


def parse_line(line: Line) -> Item:
    """Parse one line."""
    if line.size > MAX_LINE:
        return Damaged(line, "long", f"longer than {MAX_LINE >> 20} MiB")
    json = line.json
    if not json:
        return Blank(line)
    try:
        entry = _DECODER.decode(json)
    except DECODE_ERRORS:
        del json  # do not keep a long line in memory twice
        return _parse_slowly(line)
    force_setattr(entry, "line", line)
    return entry


def decode_data(json: bytes, is_whole: bool) -> dict[str, Any]:
    """Decode the JSON of an entry that is a whole line, or a part of a damaged one."""
    value = decode(json) if is_whole else decode_loosely(json)
    return value if isinstance(value, dict) else {}


def parse_salvaged(part: Line) -> Entry:
    """Decode an object that was found inside a damaged line."""
    try:
        entry = _DECODER.decode(part.raw)
    except DECODE_ERRORS:
        entry = lenient.convert_leniently(Entry, decode_loosely(part.raw))
    force_setattr(entry, "line", replace(part, note="saved from a damaged line"))
    return entry


def read_piece(buffer: bytes, at: int, number: int) -> list[Item]:
    """Decode a piece with one call; decode it line by line if it contains anything unusual."""
    try:
        items: list[Item] = _DECODER.decode_lines(buffer)  # type: ignore[assignment]
    except DECODE_ERRORS:
        return _read_lines(buffer, at, number)
    starts = find_line_starts(buffer, len(items)) if len(items) * SHORT_LINE < len(buffer) + SHORT_LINE else []
    if not starts:
        return _read_lines(buffer, at, number)
    stops = [*starts[1:], len(buffer)]
    for entry, start, stop in zip(items, starts, stops, strict=True):
        force_setattr(entry, "line", Line(number, at + start, buffer, start, stop))
        number += 1
    return items


def find_line_starts(buffer: bytes, count: int) -> list[int]:
    r"""Return where the lines begin if the `count` objects decoded from the buffer stand on one line each; else [].

    Every line must begin with `{` and end with `}`. A newline then can only separate objects, so equal numbers of
    objects and lines mean one object per line. `{"a":1}{"b":2}\n` has two objects on one line and gives [].
    """
    starts: list[int] = []
    start, size, find = 0, len(buffer), buffer.find
    while start < size:
        stop = find(b"\n", start)
        if stop < 0:
            stop = size
        if buffer[start] != OPEN or buffer[stop - 1] != CLOSE:
            return []
        starts.append(start)
        start = stop + 1
    return starts if len(starts) == count else []


def _read_lines(buffer: bytes, at: int, number: int) -> list[Item]:
    """Decode a piece line by line. A long run of lines too short for an entry is one item: there can be millions."""
    items: list[Item] = []
    start, size, tried = 0, len(buffer), -1
    while start < size:
        if start > tried and (stop := _end_of_run(buffer, start)):
            tried = stop
            if (count := buffer.count(b"\n", start, tried)) >= LONG_RUN:
                items.append(_parse_short_lines(Line(number, at + start, buffer, start, tried, count=count)))
                start, number = tried, number + count
                continue
        stop = buffer.find(b"\n", start) + 1 or size
        items.append(parse_line(Line(number, at + start, buffer, start, stop)))
        start, number = stop, number + 1
    return items


def _end_of_run(buffer: bytes, start: int) -> int:
    """Return where a run of blank or of short lines ends; 0 if the line at `start` is neither."""
    blank = _BLANK.match(buffer, start)
    if blank and (stop := buffer.rfind(b"\n", start, blank.end()) + 1):
        return stop
    short = _SHORT.match(buffer, start)
    return short.end() if short else 0


def _parse_short_lines(line: Line) -> Item:
    """Return one item for a run of lines that contain no entry."""
    if not line.raw.strip():
        return Blank(line)
    return Damaged(line, "unreadable", f"{plural(line.count, 'line')} too short to be an entry")


def _parse_slowly(line: Line) -> Item:
    try:
        value = decode_slowly(line.json)
    except ValueError as error:
        reason = str(error)
    else:
        if isinstance(value, dict):
            entry = lenient.convert_leniently(Entry, value)
            force_setattr(entry, "line", replace(line, note=_leniency_reason(line.json)))
            return entry
        reason = "not a JSON object"
    return salvage_line(line, reason)


def salvage_line(line: Line, reason: str) -> Damaged:
    """Return the damage of a line, with the complete objects in it."""
    text = line.raw.decode("latin-1")  # one character per byte: text positions are byte positions
    spans = list(salvage.find_objects(text))
    salvaged = tuple(parse_salvaged(line.part(start, stop)) for start, stop in spans)
    return Damaged(line, salvage.classify_damage(line, text, spans), reason, salvaged)


def _leniency_reason(json: bytes) -> str:
    """Return why the typed decoder refused a line that is an object nevertheless."""
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


__all__ = ["Blank", "Damaged", "Entry", "Item", "entries", "lines", "parse_line", "parse_salvaged", "read"]
