"""Repair every flaw that hides prompts, or that some version cannot read, one after the other.

Each fix reports the lines it changed and how many prompts each version of Claude Code restores before and after it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from clew.conversation.session import Session
from clew.edit.fix.calls import answer_open_calls, keep_first_results, orphans_to_text, separate_calls
from clew.edit.fix.leaf import (
    add_missing_times,
    make_leaf_newest,
    pin_last_message,
    remove_stale_pins,
    start_with_prompt,
)
from clew.edit.fix.links import (
    Repaired,
    add_missing_uuids,
    drop_empty_messages,
    fill_blank_texts,
    open_cycles,
    replace_entries,
    replace_missing_parents,
    separate_duplicates,
)
from clew.edit.salvaged_entries import split_damaged
from clew.facts.health import BAD_TEXT, VERSIONS
from clew.facts.inventory import unique_prompts
from clew.wire.entry import Damaged, Entry
from clew.wire.entry_edit import parse_at
from clew.wire.json_codec import encode

if TYPE_CHECKING:
    from clew.edit.plan import Plan

Kept = tuple[int, ...]  # the number of prompts that each of VERSIONS restores


class Fix(Struct, frozen=True):
    """One repaired kind of flaw: its lines, and the number of prompts that a resume restores before and after."""

    name: str
    text: str
    lines: tuple[int, ...]
    before: Kept
    after: Kept


def repair(plan: Plan) -> tuple[Plan, tuple[Fix, ...]]:
    """Return a plan whose session every version reads as well as possible, and the fixes."""
    session, fixes = plan.session, list[Fix]()
    restored: Kept | None = None
    if damaged := tuple(item.line.number for item in plan.source.damage if item.salvaged):
        restored = _record_fix(fixes, "damage", damaged, restored_prompts(plan.source), session)
    for name, fix in FIXES.items():
        if repaired := fix(session):
            restored = restored or restored_prompts(session)
            session = session.with_items(repaired.items)
            restored = _record_fix(fixes, name, repaired.lines, restored, session)
    agents = dict(plan.agents)
    for agent in plan.source.agents:
        if agent.file and agent.session.damage:
            agents[agent.id] = split_damaged(agent.session)
            lines = tuple(item.line.number for item in agent.session.damage)
            restored = _record_fix(fixes, "agent", lines, restored or restored_prompts(session), session)
    if not fixes:
        return plan, ()
    repaired_plan = plan.then(session.items, f"repair: {', '.join(fix.name for fix in fixes)}")
    return replace(repaired_plan, agents=agents), tuple(fixes)


def restored_prompts(session: Session) -> Kept:
    """Return how many prompts each version restores; 0 if it refuses to resume the session."""
    prompts = {entry.offset for entry in unique_prompts(session)}
    chosen = map(session.version_paths.choose, VERSIONS)
    return () if session.is_agent else tuple(len(prompts & {e.offset for e in sent.path}) for sent in chosen)


def _record_fix(fixes: list[Fix], name: str, lines: tuple[int, ...], before: Kept, session: Session) -> Kept:
    after = restored_prompts(session)
    fixes.append(Fix(name, TEXTS[name], lines, before, after))
    return after


def fix_encoding(session: Session) -> Repaired | None:
    """Rewrite lines with invalid UTF-8 or a byte order mark so that every version reads them."""
    odd = {e.offset: e for e in session.entries if e.leniency == BAD_TEXT or e.line.has_bom}
    return replace_entries(session, {offset: _encode_again(entry) for offset, entry in odd.items()})


def _encode_again(entry: Entry) -> Entry:
    """Return an entry without byte order mark, in valid UTF-8."""
    return parse_at(encode(entry.data), replace(entry.line, buffer=b"", start=0, stop=0))


def drop_unreadable(session: Session) -> Repaired | None:
    """Remove the lines from which nothing could be salvaged; the original keeps them."""
    lines = tuple(item.line.number for item in session.damage)
    return Repaired(tuple(i for i in session.items if not isinstance(i, Damaged)), lines) if lines else None


FIXES: dict[str, Callable[[Session], Repaired | None]] = {
    "unreadable": drop_unreadable,
    "text": fix_encoding,
    "empty": drop_empty_messages,
    "uuid": add_missing_uuids,
    "duplicate": separate_duplicates,
    "parent": replace_missing_parents,
    "cycle": open_cycles,
    "time": add_missing_times,
    "pin": remove_stale_pins,
    "leaf": pin_last_message,
    "beginning": start_with_prompt,
    "twice": separate_calls,
    "extra": keep_first_results,
    "orphan": orphans_to_text,
    "call": answer_open_calls,
    "blank": fill_blank_texts,
    "order": make_leaf_newest,
}

TEXTS = {
    "damage": "entries saved from damaged lines are on separate lines",
    "unreadable": "lines from which nothing could be saved are left out",
    "text": "invalid UTF-8 is replaced, so that every version reads the line",
    "empty": "messages without content, which crash older versions, are left out or made readable",
    "uuid": "entries without a uuid have one, and no longer hide each other",
    "duplicate": "entries that shared a uuid have different ones; exact copies are left out",
    "cycle": "entries that were their own ancestors are linked below the line before; versions up to 2.1.29 hung",
    "parent": "missing parents are replaced by the line before; a resume bridges at most 5 seconds, before 2.1.100 nothing",
    "time": "entries without a time have one; the newest version refuses a last message without a time",
    "pin": "pins on entries from which no conversation can continue are left out",
    "leaf": "the last message is pinned, because a later line led elsewhere",
    "beginning": "replies whose prompt is lost are no longer sent; the API refuses messages that start with a reply",
    "twice": "calls that shared an id have different ones; the API refuses duplicates",
    "extra": "only the first result of a call is kept; older versions sent all, which the API refuses",
    "orphan": "results whose call is lost are now texts",
    "call": "calls without a result have an error as result, so that their replies are sent again",
    "blank": "texts of only white space, which the API refuses, are left out or replaced by (no content)",
    "order": "the last entry has the newest time, by which versions up to 2.1.100 choose",
    "agent": "entries saved from damaged lines of an agent are on separate lines",
}
