"""The report of a plan: how much there was, and how much is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clew.conversation.session import Session
from clew.edit.removals import THOUGHT
from clew.facts.context_size import CATEGORIES, UNSENT, ContextShare, ContextSize, Scale, context


@dataclass(frozen=True, slots=True)
class SessionSize:
    """What is in a session, and what of it a resume sends."""

    entries: int
    turns: int
    calls: int
    thinking: int
    bytes: int
    context: ContextSize


@dataclass(frozen=True, slots=True)
class PlanReport:
    """Before and after. Both contexts are told by one scale, that of the replies before."""

    before: SessionSize
    after: SessionSize

    @property
    def shares(self) -> Iterator[tuple[str, ContextShare, ContextShare]]:
        """What each category takes, before and after; those without anything are left out."""
        old, new = self.before.context.shares, self.after.context.shares
        for name in (*CATEGORIES, UNSENT):
            if old[name].bytes or new[name].bytes:
                yield name, old[name], new[name]


def report(before: Session, after: Session) -> PlanReport:
    first = tally(before)
    return PlanReport(first, tally(after, first.context.scale))


def tally(session: Session, scale: Scale | None = None) -> SessionSize:
    return SessionSize(
        entries=len(session.entries),
        turns=len(session.turns),
        calls=len(session.calls),
        thinking=sum(b.type in THOUGHT for e in session.entries if e.type == "assistant" for b in e.blocks),
        bytes=sum(item.line.stop - item.line.start for item in session.items),
        context=context(session, scale),
    )
