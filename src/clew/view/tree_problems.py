"""Events of the turn tree for damage: broken links, unreadable lines, calls and results without a partner."""

from __future__ import annotations

from collections.abc import Iterator

from clew.conversation.entry_graph import Cycle, Dangling
from clew.conversation.replies import Call
from clew.conversation.session import Session
from clew.facts.tool_catalog import label
from clew.system.plural import plural
from clew.view.tree_row import TurnEvent, new_event


def session_problems(session: Session) -> Iterator[TurnEvent]:
    for problem in session.graph.problems:
        if isinstance(problem, Dangling):
            text = f"the parent {problem.parent[:8]} is not in the file"
            yield new_event("problem", problem.entry.line.number, text, what="dangling", parent=problem.parent)
        elif isinstance(problem, Cycle):
            first = session.graph.nodes[problem.uuids[0]].line.number
            yield new_event("problem", first, problem.summary, what="cycle")
        else:
            text = f"the uuid {problem.uuid[:8]} is used {len(problem.entries)} times"
            yield new_event("problem", problem.entries[-1].line.number, text, what="duplicate")
    if session.cut is not None:
        text = "a resume starts here: its parent is missing, so everything before it is cut off"
        yield new_event("problem", session.cut.line.number, text, what="cut")
    for item in session.damage:
        saved = len(item.salvaged)
        saved_text = f", {plural(saved, 'entry')} saved from it" if saved else ""
        yield new_event("problem", item.line.number, f"damaged ({item.kind}){saved_text}", what="damaged")
    for entry in session.pairing.orphans:
        yield new_event("problem", entry.line.number, "a result without a call", what="orphan")


def unanswered_event(call: Call, cwd: str | None, kind: str) -> TurnEvent:
    return new_event(kind, call.entry.line.number, f"{label(call, cwd)} has no result", what="unanswered")
