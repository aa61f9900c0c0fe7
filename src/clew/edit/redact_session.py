"""Redaction: a session without its secrets, in every file of it.

What the transcript says, what tools were asked and answered, the program's own copies of it, agents, long outputs and the
file history are all looked through. What cannot be looked through (a line that is no entry, a file that is no text and
holds something) is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.conversation.load import read
from clew.conversation.session import Session
from clew.edit.redactor import Veil, has_repeated_names, kinds
from clew.edit.relink import without
from clew.wire.entry import Damaged, Entry, Item
from clew.wire.entry_edit import parse_at
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import REMOVED, patch_json

if TYPE_CHECKING:
    from clew.edit.plan import Plan

META = ".meta.json"


@dataclass(frozen=True)
class RedactionCounts:
    """What a redaction found: how often each kind in each place, and what had to go whole."""

    found: Counter[tuple[str, str]] = field(default_factory=Counter)  # by place and kind
    thinking: int = 0  # blocks that were taken out: their signatures allow no change
    unreadable: int = 0  # lines that are no entries
    left_out: tuple[str, ...] = ()  # files that are no text and hold something

    def __add__(self, other: RedactionCounts) -> RedactionCounts:
        return RedactionCounts(
            self.found + other.found,
            self.thinking + other.thinking,
            self.unreadable + other.unreadable,
            (*self.left_out, *other.left_out),
        )

    @property
    def total(self) -> int:
        return self.found.total() + self.thinking

    @property
    def kinds(self) -> Counter[str]:
        return self._by(1)

    @property
    def places(self) -> Counter[str]:
        return self._by(0)

    def _by(self, which: int) -> Counter[str]:
        summed: Counter[str] = Counter()
        for key, count in self.found.items():
            summed[key[which]] += count
        return summed


def redact(plan: Plan, veil: Veil) -> tuple[Plan, RedactionCounts]:
    """A plan whose session holds nothing that the veil hides, and what was found."""
    from clew.edit.plan import whole

    items, tally = redacted(plan.session, veil)
    agents: dict[str, Session] = {}
    for agent in plan.source.agents:
        if agent.file is not None:
            old = plan.agents.get(agent.id, agent.session)
            made, found = redacted(Session(tuple(whole(old.items)), file=agent.file), veil, "agents: ")
            agents[agent.id] = Session(made, file=agent.file)
            tally += found
    extra: dict[str, Path | Session] = {}
    for name, source in plan.extra.items():
        extra[name] = source
        if isinstance(source, Session):
            made, found = redacted(Session(tuple(whole(source.items)), file=source.file), veil, "agents: ")
            extra[name] = Session(made, file=source.file)
            tally += found
    veiled = replace(plan.then(items, f"redact {veil}"), agents=agents, extra=extra, veil=veil)
    return veiled, tally + sum((_beside(path, veil) for path in _side_files(veiled)), RedactionCounts())


def redacted(session: Session, veil: Veil, where: str = "") -> tuple[tuple[Item, ...], RedactionCounts]:
    """The items of one transcript without what the veil hides."""
    gone: set[int] = set()
    revised: dict[int, Entry] = {}
    tally = RedactionCounts()
    for item in session.items:
        if isinstance(item, Damaged):
            gone.add(item.line.offset)
            tally += RedactionCounts(unreadable=1)
        elif isinstance(item, Entry):
            made, found = _entry(item, veil, where)
            tally += found
            if made is None:
                gone.add(item.offset)
            elif made is not item:
                revised[item.offset] = made
    return without(session, gone, revised), tally


def _entry(entry: Entry, veil: Veil, where: str) -> tuple[Entry | None, RedactionCounts]:
    """An entry without what the veil hides; None if nothing is left of it."""
    data = entry.data
    veiled = veil.entry(data)
    if has_repeated_names(entry.line.json, data):
        settled = patch_json(b"", None, veiled)  # what was said twice is said once
    elif veiled is data:
        return entry, RedactionCounts()
    else:
        settled = patch_json(entry.line.json, data, veiled)
    found: Counter[tuple[str, str]] = Counter()
    for name in data:
        if veiled.get(name) is not data[name]:
            before, after = encode(data[name]), patch_json(b"", None, veiled.get(name))
            found += Counter({(f"{where}{entry.type} {name}", kind): n for kind, n in kinds(before, after).items()})
    thoughts = _count_gone(veiled)
    left = veiled.get("message", {}).get("content") if thoughts and isinstance(veiled.get("message"), dict) else None
    is_empty = isinstance(left, list) and all(block is REMOVED for block in left)
    return None if is_empty else parse_at(settled, entry.line), RedactionCounts(found, thoughts)


def _count_gone(value: Any) -> int:
    if value is REMOVED:
        return 1
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_count_gone, inner))


# -- the files beside it


def _side_files(plan: Plan) -> Iterator[Path]:
    from clew.edit.write_plan import side_sources

    return side_sources(plan) if plan.source.path else iter(())


def _beside(path: Path, veil: Veil) -> RedactionCounts:
    data = path.read_bytes()
    veiled = content(path, data, veil)
    place = "agents' meta files" if path.name.endswith(META) else path.parent.name
    if place not in ("tool-results", "agents' meta files"):
        place = "file-history"
    if veiled is None:
        return RedactionCounts(left_out=(path.name,))
    return RedactionCounts(Counter({(place, kind): count for kind, count in kinds(data, veiled).items()}))


def content(path: Path, data: bytes, veil: Veil) -> bytes | None:
    """The bytes of a side file under the veil; None if it has to be left out."""
    if path.name.endswith(META):
        try:
            return veil.object(data, decode(data))
        except ValueError:
            return veil.content(data)
    return veil.content(data)


def leaks(path: Path, veil: Veil) -> bool:
    """Whether a file that was written still shows what the veil hides."""
    if path.suffix != ".jsonl":
        data = path.read_bytes()
        return content(path, data, veil) != data
    for item in read(path).items:
        if isinstance(item, Entry):
            said = item.data
            if veil.entry(said) is not said:
                return True
        elif veil.content(item.raw) != item.raw:
            return True
    return False
