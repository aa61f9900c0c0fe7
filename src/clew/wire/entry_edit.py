"""Change fields or blocks of an entry; every other byte stays the same."""

# Annotations are values here, not text: msgspec would compile each text when it makes a decoder.

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from clew.wire.entry import DECODE_ERRORS, Blank, Damaged, Entry, Item, parse_line
from clew.wire.json_codec import encode
from clew.wire.json_splice import Changes, extract, join_array, splice, split_array
from clew.wire.line import Line


class _Blocks(Struct):
    content: list[Raw]


class _EditedMessage(Struct):
    message: _Blocks


_BLOCKS = msgspec.json.Decoder(_EditedMessage)


def revise(entry: Entry, changes: Changes) -> Entry:
    """Return the entry with some fields changed and every other byte unchanged."""
    return parse_at(splice(entry.line.json, changes), entry.line)


def replace_blocks(entry: Entry, changes: Mapping[int, bytes | None]) -> Entry:
    """Return the entry with blocks replaced by index (None removes one); the others keep their bytes."""
    blocks = split_array(extract(entry.line.json, "message", "content"))
    remaining = [changed for i, block in enumerate(blocks) if (changed := changes.get(i, block)) is not None]
    return revise(entry, {"message": {"content": join_array(remaining)}})


def block_bytes(entry: Entry) -> list[bytes]:
    """Return the exact bytes of each block of a message whose content is a list."""
    try:
        return list(map(bytes, _BLOCKS.decode(entry.line.json).message.content))
    except DECODE_ERRORS:
        return split_array(extract(entry.line.json, "message", "content"))


def with_parent(entry: Entry, parent: str | None) -> Entry:
    """Return the entry with another parent, every other byte unchanged."""
    json, stated = entry.line.json, b'"parentUuid":' + encode(entry.parent)
    at = json.find(stated)
    if at < 0 or json.find(stated, at + 1) >= 0 or not entry.line.whole:
        return revise(entry, {"parentUuid": encode(parent)})
    raw = entry.line.with_bom_of_line(json[:at] + b'"parentUuid":' + encode(parent) + json[at + len(stated) :] + b"\n")
    return replace(entry, parent=parent, line=replace(entry.line, buffer=raw, start=0, stop=len(raw)))


def new_entry(data: Mapping[str, Any]) -> Entry:
    """Create an entry that is not in a file yet."""
    return parse_at(encode(data), Line(0, 0, b"", 0, 0))


def parse_at(json: bytes, line: Line) -> Entry:
    """Parse JSON as the entry at the position of `line`, whose byte order mark it keeps. Raises ValueError if it is not
    an entry.
    """
    raw = line.with_bom_of_line(json + b"\n")
    item = parse_line(Line(line.number, line.offset, raw, 0, len(raw)))
    if not isinstance(item, Entry):
        raise ValueError("the edited JSON is not an entry")
    return item


def move_to_start(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return items of which the first is at the start of a file if it has a byte order mark: new versions of Claude Code
    read such a line only there.
    """
    if items and (line := items[0].line).offset and line.has_bom:
        return replace(items[0], line=replace(line, offset=0)), *items[1:]
    return items


def renumber(items: Iterable[Item]) -> tuple[Item, ...]:
    """Return the items with line numbers and offsets as if they were one file."""
    moved_items: list[Item] = []
    offset, number = 0, 1
    for item in items:
        line = replace(item.line, number=number, offset=offset)
        if isinstance(item, Damaged):
            shift = line.offset - item.line.offset
            saved = tuple(
                replace(e, line=replace(e.line, number=number, offset=e.line.offset + shift)) for e in item.salvaged
            )
            moved_items.append(replace(item, line=line, salvaged=saved))
        elif isinstance(item, Blank):
            moved_items.append(replace(item, line=line))
        else:
            moved_items.append(replace(item, line=line))
        offset, number = line.end, number + line.count
    return tuple(moved_items)
