"""Define what a trim removes, as one value, and the presets for common cases.

| preset | removes | what a resume sends |
|---|---|---|
| `light` | what no resume sends: copies, progress, old state, request logs, compacted entries | the same |
| `fit` | `light`; thinking, images; all calls but the last 20 are truncated | less |
| `tools` | `light`; all calls but the last 20 | less |
| `heavy` | `light`; thinking, images, file snapshots; all calls but the last 5 | least |

Each can be repeated: a second trim with the same options keeps what the first one kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from clew.conversation.session import Session
from clew.edit.removals import Removals, apply_removals, join_removals
from clew.edit.restate_usage import restate_usage
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


class Trim(Struct, frozen=True):
    """What to remove."""

    tools: Tools | None = None
    thinking: bool = False
    pictures: bool = False
    copies: bool = False
    lines: frozenset[str] = frozenset()  # groups of lines that no model sees
    compacted: bool = False  # what stands before the last compaction, but for the last turn

    def __or__(self, other: Trim) -> Trim:
        """Combine two trims; the second one's choice of tools wins."""
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
        """Descriptions of the steps."""
        if self.compacted:
            yield "remove what was compacted, but for the last turn"
        if self.tools:
            yield str(self.tools)
        if self.thinking:
            yield "remove thinking"
        if self.pictures:
            yield "replace images by placeholders"
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


def trim_session(session: Session, what: Trim) -> tuple[Item, ...]:
    """Return the items that a trim leaves; the last reply records the new size."""
    # First drop what was compacted, because the other removals refer to entry offsets of the session they were collected
    # on. Then collect all removals and apply them in one pass:
    #
    #   thinking: {120: {0: None}}   tools: {120: {1: b'…'}, 480: {0: b'…'}}   →   {120: {0: None, 1: b'…'}, 480: {0: b'…'}}
    start = session
    if what.compacted and (items := drop_compacted(session)) is not session.items:
        start = session.with_items(items)
    items = apply_removals(start, join_removals(_removals(start, what)))
    return items if items is session.items else restate_usage(session, items)


def _removals(session: Session, what: Trim) -> Iterator[Removals]:
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
