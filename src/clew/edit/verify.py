"""Verify that an edit does not break what was intact; flaws of the original are not a reason to refuse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clew.api import lint
from clew.conversation.entry_graph import Cycle, Dangling
from clew.conversation.load import request
from clew.conversation.resume_request import Request
from clew.conversation.session import Session
from clew.conversation.speaker import starts_turn
from clew.errors import Refused
from clew.wire.entry import Entry, Item
from clew.wire.rename_ids import IdMapping, RenamedLine, is_renamed


def find_violations(before: Session, after: Session) -> tuple[str, ...]:
    """Return what is wrong with the edited session and was not wrong before."""
    return tuple(_check(before, after)) if after is not before else ()


def compare_lines(
    items: Iterable[Item], ending: Iterable[bytes], names: IdMapping, made: Iterator[RenamedLine]
) -> Iterator[tuple[Item | None, bytes]]:
    """Yield each planned item with its lines, then those that end the file, without the last newline. Raises Refused.

    The line of an entry must be its own, byte for byte but for ids and paths that were renamed, and different ids must
    stay different: then the turns, the branches and what a resume sends are those that were planned.
    """
    number = 1
    for item in items:
        if isinstance(item, Entry):
            line = next(made, None)
            if line is None:
                raise Refused(["planned lines are missing"])
            if b"\n" in line.json or not is_renamed(item, line, names):
                raise Refused([f"line {number} is not the one that was planned"])
            yield item, item.line.with_bom_of_line(line.json)
        else:
            yield item, item.raw.rstrip(b"\r\n")
        number += item.line.count
    if next(made, None):
        raise Refused(["the file has more lines than planned"])
    for last in ending:
        yield None, last


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
