"""Verify that an edit does not break what was intact; flaws of the original are not a reason to refuse."""

from __future__ import annotations

from collections.abc import Iterable

from clew.api.lint import lint
from clew.conversation.entry_graph import Cycle, Dangling
from clew.conversation.load import request
from clew.conversation.resume_request import Request
from clew.conversation.session import Session
from clew.conversation.speaker import prompt_text, starts_turn
from clew.wire.json_codec import encode


def find_violations(before: Session, after: Session, sent: Request) -> tuple[str, ...]:
    """Return what is wrong with the edited session and was not wrong before; `sent` is what a resume would send."""
    return tuple(_check(before, after, sent)) if after is not before else ()


def find_differences(planned: Session, sent: Request, written: Session) -> tuple[str, ...]:
    """Return how a session that was read back differs from the plan; `sent` is what the plan would send."""
    result: list[str] = []
    if len(written.damage) > len(planned.damage):
        result.append("a line that was written cannot be read")
    if _prompts_on_path(planned) != _prompts_on_path(written):
        result.append("the turns are not those that were planned")
    if encode(sent.messages) != encode(request(written).messages):  # == fails on deep values
        result.append("a resume would not send what was planned")
    return tuple(result)


def _check(before: Session, after: Session, sent: Request) -> Iterable[str]:
    if not _prompts_on_path(after) and before.turns:
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
    if sent.refusal and not request(before).refusal:
        yield f"a resume would be refused: {sent.refusal}"
    if broken := _broken_rules(sent):
        known_rules = _broken_rules(request(before))
        yield from (f"the API would refuse {message}" for rule, message in broken.items() if rule not in known_rules)


def _prompts_on_path(session: Session) -> list[str]:
    """Return the texts of the prompts that start the turns of a session."""
    path = session.links.path_to(session.leaf, history=True) if session.leaf else []
    return [prompt_text(entry) for entry in path if starts_turn(entry, session.is_agent)]


def _broken_rules(sent: Request) -> dict[str, str]:
    """Return the API rules that a request would break, each with its first violation."""
    refused = [violation for violation in lint(sent.messages) if violation.is_refused] if sent.messages else []
    return {violation.rule: str(violation) for violation in reversed(refused)}


def _missing_parents(session: Session) -> set[str]:
    """Return the parents that are not in the file."""
    return {problem.parent for problem in session.graph.problems if isinstance(problem, Dangling)}
