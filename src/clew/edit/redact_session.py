"""Remove secrets from a session, in every file of it.

The transcript, tool inputs and results, Claude Code's copies of them, agents, long outputs and the file history are
all searched. What cannot be searched (a line that is not an entry, a binary file with a match) is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clew.conversation.session import Session
from clew.edit.plan_files import side_sources
from clew.edit.redactor import Redactor, count_kinds, has_repeated_names
from clew.edit.relink import remove_entries
from clew.edit.salvaged_entries import split_damaged
from clew.wire.entry import Damaged, Entry, Item
from clew.wire.entry_edit import parse_at
from clew.wire.json_codec import decode, encode
from clew.wire.json_splice import REMOVED, patch_json

if TYPE_CHECKING:
    from clew.edit.plan import Plan

META = ".meta.json"
_BATCH_BYTES = 1 << 19  # of lines that are searched together


@dataclass(frozen=True)
class RedactionCounts:
    """How often each kind was found in each location, and what was removed entirely."""

    by_location: Counter[tuple[str, str]] = field(default_factory=Counter)  # by place and kind
    thinking: int = 0  # removed blocks: their signatures do not allow a change
    unreadable: int = 0  # lines that are not entries
    left_out: tuple[str, ...] = ()  # binary files with a match

    def __add__(self, other: RedactionCounts) -> RedactionCounts:
        return RedactionCounts(
            self.by_location + other.by_location,
            self.thinking + other.thinking,
            self.unreadable + other.unreadable,
            (*self.left_out, *other.left_out),
        )

    @property
    def total(self) -> int:
        return self.by_location.total() + self.thinking

    @property
    def kinds(self) -> Counter[str]:
        return self._by(1)

    @property
    def places(self) -> Counter[str]:
        return self._by(0)

    def _by(self, which: int) -> Counter[str]:
        summed: Counter[str] = Counter()
        for key, count in self.by_location.items():
            summed[key[which]] += count
        return summed


def redact(plan: Plan, redactor: Redactor) -> tuple[Plan, RedactionCounts]:
    """Return a plan whose session contains nothing that the redactor matches, and the counts."""
    items, tally = redact_items(plan.session, redactor)
    searched = _left_unchanged(plan.session, items)
    agents: dict[str, Session] = {}
    for agent in plan.source.agents:
        if agent.file is not None:
            old = split_damaged(plan.agents.get(agent.id, agent.session))
            items_left, counts = redact_items(old, redactor, "agents: ")
            searched += _left_unchanged(old, items_left)
            agents[agent.id] = Session(items_left, file=agent.file)
            tally += counts
    extra: dict[str, Path | Session] = {}
    for name, source in plan.extra.items():
        extra[name] = source
        if isinstance(source, Session):
            old = split_damaged(source)
            items_left, counts = redact_items(old, redactor, "agents: ")
            searched += _left_unchanged(old, items_left)
            extra[name] = Session(items_left, file=source.file)
            tally += counts
    redacted_plan = replace(
        plan.then(items, f"redact {redactor}"),
        agents=agents,
        extra=extra,
        redactor=redactor,
        searched=tuple(searched),
    )
    return redacted_plan, tally + sum(
        (_count_side_file(path, redactor) for path in side_sources(redacted_plan)), RedactionCounts()
    )


def _left_unchanged(session: Session, items: Iterable[Item]) -> list[Item]:
    """Return the items of a session that are still the same among redacted ones."""
    old = set(map(id, session.items))
    return [item for item in items if id(item) in old]


def redact_items(session: Session, redactor: Redactor, where: str = "") -> tuple[tuple[Item, ...], RedactionCounts]:
    """Return the items of one transcript without what the redactor matches, and the counts."""
    removed: set[int] = set()
    revised: dict[int, Entry] = {}
    tally = RedactionCounts()
    for item, data, may_match in _check_in_batches(session.items, redactor):
        if isinstance(item, Damaged):
            removed.add(item.line.offset)
            tally += RedactionCounts(unreadable=1)
        elif isinstance(item, Entry):
            redacted_entry, counts = _redact_entry(item, data, redactor if may_match else None, where)
            tally += counts
            if redacted_entry is None:
                removed.add(item.offset)
            elif redacted_entry is not item:
                revised[item.offset] = redacted_entry
    is_changed = bool(removed or revised)  # else the plan keeps what it knows of the session
    return remove_entries(session, removed, revised) if is_changed else session.items, tally


def _check_in_batches(items: Iterable[Item], redactor: Redactor) -> Iterator[tuple[Item, Any, bool]]:
    """Yield each item with its data and whether something in it could be redacted.

    The texts of many entries are searched as one, which costs a fraction of separate searches.
    """
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += item.line.size
        if size >= _BATCH_BYTES:
            yield from _check_batch(batch, redactor)
            batch, size = [], 0
    yield from _check_batch(batch, redactor)


def _check_batch(batch: list[Item], redactor: Redactor) -> Iterator[tuple[Item, Any, bool]]:
    values = [item.data if isinstance(item, Entry) else None for item in batch]
    return zip(batch, values, redactor.may_match(values), strict=True)


def _redact_entry(
    entry: Entry, data: dict[str, Any], redactor: Redactor | None, where: str
) -> tuple[Entry | None, RedactionCounts]:
    """Return the redacted entry, None if nothing is left of it, and the counts; without a redactor nothing matches."""
    redacted = redactor.entry(data) if redactor else data
    if has_repeated_names(entry.line.json, data):
        line = patch_json(b"", None, redacted)  # a repeated field is written once
    elif redacted is data:
        return entry, RedactionCounts()
    else:
        line = patch_json(entry.line.json, data, redacted)
    counts: Counter[tuple[str, str]] = Counter()
    for name in data:
        if redacted.get(name) is not data[name]:
            before, after = encode(data[name]), patch_json(b"", None, redacted.get(name))
            counts += Counter(
                {(f"{where}{entry.type} {name}", kind): n for kind, n in count_kinds(before, after).items()}
            )
    thoughts = _count_removed(redacted)
    left = (
        redacted.get("message", {}).get("content") if thoughts and isinstance(redacted.get("message"), dict) else None
    )
    is_empty = isinstance(left, list) and all(block is REMOVED for block in left)
    return None if is_empty else parse_at(line, entry.line), RedactionCounts(counts, thoughts)


def _count_removed(value: Any) -> int:
    if value is REMOVED:
        return 1
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_count_removed, inner))


# -- side files


def _count_side_file(path: Path, redactor: Redactor) -> RedactionCounts:
    data = path.read_bytes()
    redacted = redact_side_file(path, data, redactor)
    location = "agents' meta files" if path.name.endswith(META) else path.parent.name
    if location not in ("tool-results", "agents' meta files"):
        location = "file-history"
    if redacted is None:
        return RedactionCounts(left_out=(path.name,))
    return RedactionCounts(Counter({(location, kind): count for kind, count in count_kinds(data, redacted).items()}))


def redact_side_file(path: Path, data: bytes, redactor: Redactor) -> bytes | None:
    """Return the redacted bytes of a side file; None if it must be left out."""
    if path.name.endswith(META):
        try:
            return redactor.object(data, decode(data))
        except ValueError:
            return redactor.content(data)
    return redactor.content(data)


def has_leak_in_side_file(path: Path, redactor: Redactor) -> bool:
    """Return whether a written side file still contains what the redactor matches."""
    data = path.read_bytes()
    return redact_side_file(path, data, redactor) != data


def has_leak(
    written: Sequence[Item], redactor: Redactor, planned: Sequence[Item] = (), harmless: Collection[int] = ()
) -> bool:
    """Return whether items that were read back still contain what the redactor matches.

    What was written for a planned item is not searched again if its `id` is among the `harmless` ones: it was searched
    before it was written, and only ids were renamed since.
    """
    if len(written) >= len(planned):  # else items were read back as one, and which is which is not known
        pairs = zip_longest(written, planned)
        written = [item for item, before in pairs if before is None or id(before) not in harmless]
    for item, data, may_match in _check_in_batches(written, redactor):
        if isinstance(item, Entry):
            if may_match and redactor.entry(data) is not data:
                return True
        elif redactor.content(item.raw) != item.raw:
            return True
    return False
