"""The header of a session: title, start and other facts, with secrets masked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from clew.conversation.session import Session
from clew.facts.token_usage import usage
from clew.system.plural import plural
from clew.view.mask_rows import MaskCount
from clew.view.sanitize import format_tokens, one_line

NO_PROMPT = "(no prompt)"


@dataclass(frozen=True, slots=True)
class About:
    """The title, the start, and other facts as (name, text) pairs."""

    id: str
    title: str
    started: datetime | None
    details: tuple[tuple[str, str], ...]


def describe_session(session: Session, tally: MaskCount | None) -> About:
    """Return the header of a session; `tally` masks and counts secrets, and without one nothing is masked."""
    spent = usage(session).total
    facts = {
        "cwd": session.cwd or "",
        "branch": session.branch_name or "",
        "model": ", ".join(session.models),
        "turns": plural(len(session.turns), "turn"),
        "tokens": f"{format_tokens(spent.output)} tokens written" if spent.output else "",
        "version": f"Claude Code {', '.join(session.versions)}" if session.versions else "",
        "slug": session.slug or "",
        "id": session.id,
    }
    masked = {name: masked_line(text, tally) for name, text in facts.items() if text}
    return About(session.id, masked_line(session.title, tally) or NO_PROMPT, session.started, tuple(masked.items()))


def masked_line(text: str, tally: MaskCount | None) -> str:
    """Return text on one line, masked if there is a tally."""
    return one_line(tally.mask(text) if tally else text)
