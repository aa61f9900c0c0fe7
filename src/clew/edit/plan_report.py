"""Compare the size of a session before and after a plan."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from clew.conversation.session import Session
from clew.facts.context_size import CATEGORIES, UNSENT, ContextShare, ContextSize, Scale, measure_context
from clew.wire.content_block import THINKING_TYPES


class SessionSize(Struct, frozen=True):
    """Counts of what a session contains, and the context that a resume sends."""

    entries: int
    turns: int
    calls: int
    thinking: int
    bytes: int
    context: ContextSize


class PlanReport(Struct, frozen=True):
    """Sizes before and after. Both contexts use one scale, that of the replies before."""

    before: SessionSize
    after: SessionSize

    @property
    def shares(self) -> Iterator[tuple[str, ContextShare, ContextShare]]:
        """The size of each category before and after; empty categories are skipped."""
        old, new = self.before.context.shares, self.after.context.shares
        for name in (*CATEGORIES, UNSENT):
            if old[name].bytes or new[name].bytes:
                yield name, old[name], new[name]


def compare_sizes(before: Session, after: Session) -> PlanReport:
    first = measure_session(before)
    return PlanReport(first, measure_session(after, first.context.scale))


def measure_session(session: Session, scale: Scale | None = None) -> SessionSize:
    return SessionSize(
        entries=len(session.entries),
        turns=len(session.turns),
        calls=len(session.calls),
        thinking=sum(b.type in THINKING_TYPES for e in session.entries if e.type == "assistant" for b in e.blocks),
        bytes=sum(item.line.stop - item.line.start for item in session.items),
        context=measure_context(session, scale),
    )
