"""Revising: an entry with some of its fields or blocks changed, as a new entry in the place of the old one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from clew.wire.entry import REFUSALS, Blank, Damaged, Entry, Item, parse
from clew.wire.json_codec import encode
from clew.wire.json_splice import Changes, array, elements, part, splice
from clew.wire.line import Line


class _Blocks(Struct):
    content: list[Raw]


class _Message(Struct):
    message: _Blocks


_BLOCKS = msgspec.json.Decoder(_Message)


def revise(entry: Entry, changes: Changes) -> Entry:
    """The entry with these fields changed and every other byte as it was."""
    return at_place(splice(entry.line.json, changes), entry.line)


def with_blocks(entry: Entry, changes: Mapping[int, bytes | None]) -> Entry:
    """The entry with other blocks in the places of some, or without them; the others keep their bytes."""
    blocks = elements(part(entry.line.json, "message", "content"))
    kept = [changed for i, block in enumerate(blocks) if (changed := changes.get(i, block)) is not None]
    return revise(entry, {"message": {"content": array(kept)}})


def block_bytes(entry: Entry) -> list[bytes]:
    """The exact bytes of each block of a message that is a list."""
    try:
        return list(map(bytes, _BLOCKS.decode(entry.line.json).message.content))
    except REFUSALS:
        return elements(part(entry.line.json, "message", "content"))


def below(entry: Entry, parent: str | None) -> Entry:
    """The entry below another parent, every other byte as it was."""
    json, stated = entry.line.json, b'"parentUuid":' + encode(entry.parent)
    at = json.find(stated)
    if at < 0 or json.find(stated, at + 1) >= 0 or not entry.line.whole:
        return revise(entry, {"parentUuid": encode(parent)})
    raw = json[:at] + b'"parentUuid":' + encode(parent) + json[at + len(stated) :] + b"\n"
    return replace(entry, parent=parent, line=replace(entry.line, buffer=raw, start=0, stop=len(raw)))


def new_entry(data: Mapping[str, Any]) -> Entry:
    """An entry that no file holds yet."""
    return at_place(encode(data), Line(0, 0, b"", 0, 0))


def at_place(json: bytes, line: Line) -> Entry:
    raw = json + b"\n"
    found = parse(Line(line.number, line.offset, raw, 0, len(raw)))
    if not isinstance(found, Entry):
        raise ValueError("what was put together is no entry")
    return found


def renumbered(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items one behind the other: numbers and offsets as if they were a file."""
    found: list[Item] = []
    offset, number = 0, 1
    for item in items:
        line = replace(item.line, number=number, offset=offset)
        if isinstance(item, Damaged):
            moved = line.offset - item.line.offset
            saved = tuple(
                replace(e, line=replace(e.line, number=number, offset=e.line.offset + moved)) for e in item.salvaged
            )
            found.append(replace(item, line=line, salvaged=saved))
        elif isinstance(item, Blank):
            found.append(replace(item, line=line))
        else:
            found.append(replace(item, line=line))
        offset, number = line.end, number + line.count
    return tuple(found)
