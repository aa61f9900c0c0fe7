"""Presets: what a trim takes out, as one value, and the names of those that are asked for often.

| preset | what it does | what a resume sends |
|---|---|---|
| `light` | without what no resume sends: copies, progress, old state, logs of requests, what was compacted away | the same |
| `fit` | `light`; no thinking, no pictures; all calls but the last 20 are truncated | less |
| `tools` | `light`; all calls but the last 20 are removed | less |
| `heavy` | `light`; no thinking, no pictures, no snapshots of files; all calls but the last 5 are removed | least |

Each can be repeated: what the first trim spared, the next one with the same options spares too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.conversation.session import Session
from clew.edit.removals import Removals, done, joined
from clew.edit.restate_usage import resized
from clew.edit.strip import (
    PROGRESS,
    REQUESTS,
    SNAPSHOTS,
    STATE,
    cut_copies,
    cut_lines,
    cut_pictures,
    cut_thinking,
    drop_compacted,
)
from clew.edit.trim_tools import TRUNCATE, Tools, cut_tools
from clew.wire.entry import Item

DEFAULT = "fit"


@dataclass(frozen=True, slots=True)
class Trim:
    """What is to be taken out."""

    tools: Tools | None = None
    thinking: bool = False
    pictures: bool = False
    copies: bool = False
    lines: frozenset[str] = frozenset()  # groups of lines that no model sees
    compacted: bool = False  # what stands before the last compaction

    def __or__(self, other: Trim) -> Trim:
        """Both; of two ways with tools the other's."""
        return Trim(
            other.tools or self.tools,
            self.thinking or other.thinking,
            self.pictures or other.pictures,
            self.copies or other.copies,
            self.lines | other.lines,
            self.compacted or other.compacted,
        )

    @property
    def steps(self) -> Iterator[str]:
        """What it does, in words."""
        if self.compacted:
            yield "remove what stands before the last compaction"
        if self.tools:
            yield str(self.tools)
        if self.thinking:
            yield "remove thinking"
        if self.pictures:
            yield "replace pictures by notes"
        if self.copies:
            yield "remove copies of results"
        yield from (f"remove {_LINES[group]}" for group in sorted(self.lines))


_LINES = {
    PROGRESS: "progress",
    SNAPSHOTS: "snapshots of files",
    STATE: "old state",
    REQUESTS: "logs of requests",
}
_LIGHT = Trim(copies=True, lines=frozenset({PROGRESS, STATE, REQUESTS}), compacted=True)
PRESETS = {
    "light": _LIGHT,
    "fit": _LIGHT | Trim(Tools(TRUNCATE, calls=20), thinking=True, pictures=True),
    "tools": _LIGHT | Trim(Tools(calls=20)),
    "heavy": _LIGHT | Trim(Tools(calls=5), thinking=True, pictures=True, lines=frozenset({SNAPSHOTS})),
}


def trim(session: Session, what: Trim) -> tuple[Item, ...]:
    """What a trim leaves of a session; the last reply tells the new size."""
    start = session
    if what.compacted and (items := drop_compacted(session)) is not session.items:
        start = Session(items, file=session.file)
    items = done(start, joined(_cuts(start, what)))
    return items if items is session.items else resized(session, items)


def _cuts(session: Session, what: Trim) -> Iterator[Removals]:
    if what.tools:
        yield cut_tools(session, what.tools)
    if what.thinking:
        yield cut_thinking(session)
    if what.pictures:
        yield cut_pictures(session)
    if what.copies:
        yield cut_copies(session)
    if what.lines:
        yield cut_lines(session, what.lines)
