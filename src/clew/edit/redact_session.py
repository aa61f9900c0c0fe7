"""Remove secrets from a session, in every file of it.

The transcript, tool inputs and results, Claude Code's copies of them, agents, long outputs and the file history are
all searched. What cannot be searched (a line that is not an entry, a binary file with a match) is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.conversation.session import Session
from clew.edit.plan_files import side_sources
from clew.edit.redact_lines import CHUNK_BYTES, MIN_BYTES, LineChange, redact_lines
from clew.edit.redactor import Redactor, count_kinds
from clew.edit.relink import remove_entries
from clew.edit.salvaged_entries import split_damaged
from clew.wire.entry import Damaged, Entry, Item
from clew.wire.entry_edit import parse_at
from clew.wire.json_codec import decode

if TYPE_CHECKING:
    from clew.edit.plan import Plan

META = ".meta.json"


class RedactionCounts(Struct, frozen=True):
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


def redact(
    plan: Plan, redactor: Redactor, *, jobs: int | None = 1, min_bytes: int = MIN_BYTES
) -> tuple[Plan, RedactionCounts]:
    """Return a plan whose session contains nothing that the redactor matches, and the counts.

    Transcripts with `min_bytes` together are redacted by `jobs` processes; None is one for each usable core.
    """
    agents = [agent for agent in plan.source.agents if agent.file is not None]
    of_agents = [split_damaged(plan.agents.get(agent.id, agent.session)) for agent in agents]
    added = {name: split_damaged(source) for name, source in plan.extra.items() if isinstance(source, Session)}
    sessions = [plan.session, *of_agents, *added.values()]
    entries = [item for session in sessions for item in session.items if isinstance(item, Entry)]
    with closing(redact_lines(entries, redactor, jobs=jobs, min_bytes=min_bytes)) as changes:
        results = [_apply(session, changes, "agents: " if number else "") for number, session in enumerate(sessions)]
    items, *others = (items for items, _ in results)
    left = iter(others)
    redacted_plan = replace(
        plan.then(items, f"redact {redactor}"),
        agents={agent.id: Session(next(left), file=agent.file) for agent in agents},
        extra={**plan.extra, **{name: Session(next(left), file=session.file) for name, session in added.items()}},
        redactor=redactor,
        searched=tuple(
            item
            for session, (kept, _) in zip(sessions, results, strict=True)
            for item in _left_unchanged(session, kept)
        ),
    )
    in_side_files = (_count_side_file(path, redactor) for path in side_sources(redacted_plan))
    return redacted_plan, sum((*(counts for _, counts in results), *in_side_files), RedactionCounts())


def _left_unchanged(session: Session, items: Iterable[Item]) -> list[Item]:
    """Return the items of a session that are still the same among redacted ones."""
    old = set(map(id, session.items))
    return [item for item in items if id(item) in old]


def _apply(
    session: Session, changes: Iterator[LineChange | None], where: str
) -> tuple[tuple[Item, ...], RedactionCounts]:
    """Return the items of one transcript with the changes of its entries, without damaged lines, and the counts."""
    removed: set[int] = set()
    revised: dict[int, Entry] = {}
    counts: Counter[tuple[str, str]] = Counter()
    thinking = unreadable = 0
    for item in session.items:
        if isinstance(item, Damaged):
            removed.add(item.line.offset)
            unreadable += 1
        elif isinstance(item, Entry) and (change := next(changes)):
            if change.line is None:
                removed.add(item.offset)
            else:
                revised[item.offset] = parse_at(change.line, item.line)
            counts.update({(f"{where}{item.type} {name}", kind): count for name, kind, count in change.counts})
            thinking += change.thinking
    is_changed = bool(removed or revised)  # else the plan keeps what it knows of the session
    items = remove_entries(session, removed, revised) if is_changed else session.items
    return items, RedactionCounts(counts, thinking, unreadable)


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


def has_leak(written: Iterable[Item], redactor: Redactor) -> bool:
    """Return whether items of lines that were made still contain what the redactor matches."""
    for item, data, may_match in _check_in_batches(written, redactor):
        if isinstance(item, Entry):
            if may_match and redactor.entry(data) is not data:
                return True
        elif redactor.content(item.raw) != item.raw:
            return True
    return False


def _check_in_batches(items: Iterable[Item], redactor: Redactor) -> Iterator[tuple[Item, Any, bool]]:
    """Yield each item with its data and whether something in it could be redacted."""
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += item.line.size
        if size >= CHUNK_BYTES:
            yield from _check_batch(batch, redactor)
            batch, size = [], 0
    yield from _check_batch(batch, redactor)


def _check_batch(batch: list[Item], redactor: Redactor) -> Iterator[tuple[Item, Any, bool]]:
    values = [item.data if isinstance(item, Entry) else {} for item in batch]
    return zip(batch, values, redactor.may_match(values), strict=True)
