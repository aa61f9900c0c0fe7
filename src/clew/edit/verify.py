"""Verify that an edit does not break what was intact; flaws of the original are not a reason to refuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from clew.api import lint
from clew.conversation.entry_graph import Cycle, Dangling
from clew.conversation.load import request
from clew.conversation.resume_request import Request
from clew.conversation.session import Session
from clew.conversation.speaker import starts_turn
from clew.errors import Refused
from clew.wire.entry import Blank, Damaged, Entry, Item
from clew.wire.rename_ids import IdMapping, is_renamed


def find_violations(before: Session, after: Session) -> tuple[str, ...]:
    """Return what is wrong with the edited session and was not wrong before."""
    return tuple(_check(before, after)) if after is not before else ()


def compare_lines(
    items: Iterable[Item], ending: Iterable[bytes], names: IdMapping, written: Iterator[bytes]
) -> Iterator[tuple[Item | None, bytes]]:
    """Yield each planned item with the lines that were written for it, then those that end the file. Raises Refused.

    A written line must be that of its item, byte for byte but for ids and paths that were renamed, and different ids must
    stay different: then the turns, the branches and what a resume sends are those that were planned.
    """
    original_ids = names.original_ids()
    number = 1
    for item in items:
        if isinstance(item, Entry):
            lines = next(written, b"")
            is_planned = lines.endswith(b"\n") and is_renamed(item, lines, names, original_ids)
        else:
            expected = unchanged_line(item)
            lines = b"".join(islice(written, expected.count(b"\n")))
            is_planned = lines == expected
        if not is_planned:
            raise Refused([f"line {number} is not the one that was planned" if lines else "planned lines are missing"])
        yield item, lines
        number += item.line.count
    for line in ending:
        if next(written, b"") != line + b"\n":
            raise Refused(["the file does not end as planned"])
        yield None, line + b"\n"
    if next(written, b""):
        raise Refused(["the file has more lines than planned"])


def unchanged_line(item: Blank | Damaged) -> bytes:
    """Return what is written for lines without an entry: their bytes, terminated once."""
    return item.raw.rstrip(b"\r\n") + b"\n"


def _check(before: Session, after: Session) -> Iterator[str]:
    if not _has_turn(after) and before.turns:
        yield "no turn would be left"
        return
    known = _missing_parents(before)
    for problem in after.graph.problems:
        if isinstance(problem, Dangling) and problem.parent not in known:
            yield f"line {problem.entry.line.number} would have no parent"
        elif isinstance(problem, Cycle) and not any(isinstance(p, Cycle) for p in before.graph.problems):
            yield "entries would be their own ancestors"
    waiting = {call.id for call in before.pairing.open}
    for call in after.pairing.open:
        if call.id not in waiting:
            yield f"the call {call.id} of {call.name or 'a tool'} would have no result"
    orphaned = {block.tool_use_id for entry in before.pairing.orphans for block in entry.results}
    for entry in after.pairing.orphans:
        if any(block.tool_use_id not in orphaned for block in entry.results):
            yield f"the result in line {entry.line.number} would have no call"
    sent = request(after)
    if sent.refusal and not request(before).refusal:
        yield f"a resume would be refused: {sent.refusal}"
    if broken := _broken_rules(sent):
        known_rules = _broken_rules(request(before))
        yield from (f"the API would refuse {message}" for rule, message in broken.items() if rule not in known_rules)


def _has_turn(session: Session) -> bool:
    """Return whether a prompt on the path of a session starts a turn."""
    visited: set[str | None] = set()
    entry = session.leaf
    while entry is not None and not starts_turn(entry, session.is_agent):
        visited.add(entry.uuid)
        entry = session.links.parent(entry, history=True, visited=visited)
    return entry is not None


def _broken_rules(sent: Request) -> dict[str, str]:
    """Return the API rules that a request would break, each with its first violation."""
    refused = [violation for violation in lint.lint(sent.messages) if violation.is_refused] if sent.messages else []
    return {violation.rule: str(violation) for violation in reversed(refused)}


def _missing_parents(session: Session) -> set[str]:
    """Return the parents that are not in the file."""
    return {problem.parent for problem in session.graph.problems if isinstance(problem, Dangling)}
