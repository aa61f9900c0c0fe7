"""Repair: every flaw that hides prompts, or that some version cannot read, mended one after the other.

Each fix says which lines it touched and how many prompts each version of Claude Code brings back before and after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clew.conversation.session import Session
from clew.edit.fix.calls import answer_all, keep_first, part_calls, tell_orphans
from clew.edit.fix.leaf import begin_with_prompt, date_all, make_newest, pin_last, unpin
from clew.edit.fix.links import Mended, adopt, drop_empty, fill_blank, name_all, open_rings, part_twins, with_entries
from clew.edit.salvaged_entries import split_damaged
from clew.facts.health import BAD_TEXT, VERSIONS, health
from clew.wire.entry import Damaged
from clew.wire.entry_edit import parse_at
from clew.wire.json_codec import encode
from clew.wire.line import BOM

if TYPE_CHECKING:
    from clew.edit.plan import Plan

Kept = tuple[int, ...]  # the prompts that each version of VERSIONS brings back


@dataclass(frozen=True, slots=True)
class Fix:
    """One kind of flaw, mended: in which lines, and what it did to the prompts that a resume brings back."""

    name: str
    text: str
    lines: tuple[int, ...]
    before: Kept
    after: Kept


def repair(plan: Plan) -> tuple[Plan, tuple[Fix, ...]]:
    """A plan whose session every version reads as well as it can, and what had to be done for it."""
    session, fixes = plan.session, list[Fix]()
    kept = reach(plan.source)
    if damaged := tuple(item.line.number for item in plan.source.damage if item.salvaged):
        kept = _note(fixes, "damage", damaged, kept, session)
    for name, fix in FIXES.items():
        if mended := fix(session):
            session = Session(mended.items, file=plan.source.file)
            kept = _note(fixes, name, mended.lines, kept, session)
    agents = dict(plan.agents)
    for agent in plan.source.agents:
        if agent.file and agent.session.damage:
            agents[agent.id] = split_damaged(agent.session)
            lines = tuple(item.line.number for item in agent.session.damage)
            kept = _note(fixes, "agent", lines, kept, session)
    if not fixes:
        return plan, ()
    made = plan.then(session.items, f"repair: {', '.join(fix.name for fix in fixes)}")
    return replace(made, agents=agents), tuple(fixes)


def reach(session: Session) -> Kept:
    """How many prompts each version brings back; none if it does not resume the session at all."""
    return tuple(0 if made.refusal else made.kept for made in health(session, VERSIONS).resumes)


def _note(fixes: list[Fix], name: str, lines: tuple[int, ...], before: Kept, session: Session) -> Kept:
    after = reach(session)
    fixes.append(Fix(name, TEXTS[name], lines, before, after))
    return after


def clear_text(session: Session) -> Mended | None:
    """Lines with bytes that are no text, or a byte order mark, written so that every version reads them."""
    odd = {e.offset: e for e in session.entries if e.leniency == BAD_TEXT or e.raw.startswith(BOM)}
    return with_entries(session, {offset: parse_at(encode(e.data), e.line) for offset, e in odd.items()})


def drop_damage(session: Session) -> Mended | None:
    """Without the lines of which nothing could be saved; the original keeps them."""
    lines = tuple(item.line.number for item in session.damage)
    return Mended(tuple(i for i in session.items if not isinstance(i, Damaged)), lines) if lines else None


FIXES: dict[str, Callable[[Session], Mended | None]] = {
    "unreadable": drop_damage,
    "text": clear_text,
    "empty": drop_empty,
    "uuid": name_all,
    "duplicate": part_twins,
    "parent": adopt,
    "cycle": open_rings,
    "time": date_all,
    "pin": unpin,
    "leaf": pin_last,
    "beginning": begin_with_prompt,
    "twice": part_calls,
    "extra": keep_first,
    "orphan": tell_orphans,
    "call": answer_all,
    "blank": fill_blank,
    "order": make_newest,
}

TEXTS = {
    "damage": "entries saved from damaged lines stand on lines of their own",
    "unreadable": "lines of which nothing could be saved are left out",
    "text": "bytes that are no text are replaced, so that every version reads the line",
    "empty": "messages without content, which end older versions, are left out or made readable",
    "uuid": "entries without a uuid have one, and hide each other no longer",
    "duplicate": "entries that shared a uuid are told apart, and true copies left out",
    "cycle": "entries that were their own ancestors hang below the line before; versions to 2.1.29 hung for ever",
    "parent": "parents that were not there are the line before; a resume bridges 5 seconds at most, before 2.1.100 nothing",
    "time": "entries without a time have one; the newest version refuses a last message without",
    "pin": "pins on entries that cannot be gone on from are left out",
    "leaf": "what was said last is pinned, since a later line led elsewhere",
    "beginning": "replies whose prompt is lost are not sent any more; the API refuses messages that begin with a reply",
    "twice": "calls that shared an id are told apart; the API refuses two of one name",
    "extra": "only the first result of a call is left; older versions sent all, which the API refuses",
    "orphan": "results whose call is lost are texts now",
    "call": "calls that nothing answered are answered by an error, so that their replies are sent again",
    "blank": "texts of nothing but white space, which the API refuses, are left out or say (no content)",
    "order": "the last entry has the newest time, by which versions to 2.1.100 go",
    "agent": "entries saved from damaged lines of an agent stand on lines of their own",
}
