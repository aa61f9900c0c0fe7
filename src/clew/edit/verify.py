"""Verification: an edit may not break what was whole. What the original already lacked is no reason to refuse."""

from __future__ import annotations

from collections.abc import Iterable

from clew.api.lint import lint
from clew.conversation.entry_graph import Cycle, Dangling
from clew.conversation.load import request
from clew.conversation.resume_request import Request
from clew.conversation.session import Session
from clew.wire.json_codec import encode


def violations(before: Session, after: Session, sent: Request) -> tuple[str, ...]:
    """What is wrong with a session that was not wrong with the one it was made of; `sent` is what a resume would send."""
    return tuple(_found(before, after, sent))


def differences(planned: Session, sent: Request, written: Session) -> tuple[str, ...]:
    """What a session that was read back says otherwise than it was planned; `sent` is what was to be sent of it."""
    found: list[str] = []
    if len(written.damage) > len(planned.damage):
        found.append("a line that was written cannot be read")
    if [turn.text for turn in planned.turns] != [turn.text for turn in written.turns]:
        found.append("the turns are not those that were planned")
    if encode(sent.messages) != encode(request(written).messages):  # == fails on deep values
        found.append("a resume would not send what was planned")
    return tuple(found)


def _found(before: Session, after: Session, sent: Request) -> Iterable[str]:
    if before.turns and not after.turns:
        yield "no turn would be left"
        return
    known = _parents(before)
    for problem in after.graph.problems:
        if isinstance(problem, Dangling) and problem.parent not in known:
            yield f"line {problem.entry.line.number} would have no parent"
        elif isinstance(problem, Cycle) and not any(isinstance(p, Cycle) for p in before.graph.problems):
            yield "entries would be their own ancestors"
    waiting = {call.id for call in before.pairing.open}
    for call in after.pairing.open:
        if call.id not in waiting:
            yield f"the call {call.id} of {call.name or 'a tool'} would have no result"
    stray = {block.tool_use_id for entry in before.pairing.orphans for block in entry.results}
    for entry in after.pairing.orphans:
        if any(block.tool_use_id not in stray for block in entry.results):
            yield f"the result in line {entry.line.number} would answer no call"
    if sent.refusal and not request(before).refusal:
        yield f"a resume would be refused: {sent.refusal}"
    if broken := _broken(sent):
        known_rules = _broken(request(before))
        yield from (f"the API would refuse {told}" for rule, told in broken.items() if rule not in known_rules)


def _broken(sent: Request) -> dict[str, str]:
    """The rules of the API that a request would break, each with the first place."""
    found = [violation for violation in lint(sent.messages) if violation.is_refused] if sent.messages else []
    return {violation.rule: str(violation) for violation in reversed(found)}


def _parents(session: Session) -> set[str]:
    """Parents that were not in the file to begin with."""
    return {problem.parent for problem in session.graph.problems if isinstance(problem, Dangling)}
