"""About: what is said of a session above it, in words that hold no secret."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from clew.conversation.session import Session
from clew.facts.token_usage import usage
from clew.system.plural import plural
from clew.view.mask_rows import MaskCount
from clew.view.sanitize import one_line, tokens

NOTHING = "(no prompt)"


@dataclass(frozen=True, slots=True)
class About:
    """The title, when it began, and the rest as pairs of a name and words."""

    id: str
    title: str
    started: datetime | None
    told: tuple[tuple[str, str], ...]


def about(session: Session, tally: MaskCount | None) -> About:
    """What is to be said of a session; `tally` masks it, and without one nothing is masked."""
    spent = usage(session).total
    told = {
        "cwd": session.cwd or "",
        "branch": session.branch_name or "",
        "model": ", ".join(session.models),
        "turns": plural(len(session.turns), "turn"),
        "tokens": f"{tokens(spent.output)} tokens written" if spent.output else "",
        "version": f"Claude Code {', '.join(session.versions)}" if session.versions else "",
        "slug": session.slug or "",
        "id": session.id,
    }
    said = {name: shown(text, tally) for name, text in told.items() if text}
    return About(session.id, shown(session.title, tally) or NOTHING, session.started, tuple(said.items()))


def shown(text: str, tally: MaskCount | None) -> str:
    """Words on one line."""
    return one_line(tally.mask(text) if tally else text)
