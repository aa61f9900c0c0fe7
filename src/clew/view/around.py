"""The messages around a place, as rows and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clew.conversation.around import Surroundings
from clew.conversation.prompt import prompt_text, starts_turn
from clew.conversation.turn import Turn
from clew.facts.secret import mask_data
from clew.facts.tool import label
from clew.view.document import Options, Row, Scene, call_rows, entry_rows, turn_rows
from clew.wire.entry import Entry
from clew.wire.time import stamp


def around_rows(found: Surroundings, options: Options) -> Iterator[Row]:
    """Each message in turn; a line before the message at the place names it."""
    session = found.session
    scene = Scene(session, options, session.agents_for if options.agents else lambda _: ())
    begun = {use.id for entry in found.entries for use in entry.uses}
    for entry in found.entries:
        if entry == found.place:
            yield Row("about", f"── line {entry.line.number}: {_kind(found, entry)} ──", scene.depth)
        if starts_turn(entry, session.is_agent):
            yield from turn_rows(Turn(0, (entry,)), scene)
        elif entry.type == "assistant":
            yield from entry_rows([entry], scene)
        else:
            for result in entry.results:
                call = scene.calls.get(result.tool_use_id or "")
                if call and call.id not in begun:
                    yield from call_rows(call, scene)


def around_json(found: Surroundings, mask: bool) -> Iterator[dict[str, Any]]:
    """One object for each message."""
    for entry in found.entries:
        row = _message(found, entry)
        yield dict(mask_data(row)[0]) if mask else row


def _message(found: Surroundings, entry: Entry) -> dict[str, Any]:
    session = found.session
    calls = {call.id: call for call in session.calls}
    is_prompt = starts_turn(entry, session.is_agent)
    tools = {id: call.name for id, call in calls.items()}
    return {
        "kind": "message",
        "session": session.id,
        "line": entry.line.number,
        "uuid": entry.uuid,
        "is_place": entry == found.place,
        "branch": found.branch,
        "agent": found.agent or None,
        "role": entry.type,
        "time": stamp(entry.time) if entry.time else None,
        "text": prompt_text(entry) if is_prompt else entry.text,
        "calls": [
            {"id": use.id, "tool": use.name, "label": label(calls[use.id], session.cwd)}
            for use in entry.uses
            if use.id in calls
        ],
        "results": [
            {
                "id": result.tool_use_id,
                "tool": tools.get(result.tool_use_id or ""),
                "failed": entry.failed(result, tools.get(result.tool_use_id or "", "")),
                "text": result.result_text,
            }
            for result in entry.results
        ],
    }


def _kind(found: Surroundings, entry: Entry) -> str:
    if starts_turn(entry, found.session.is_agent):
        return "prompt"
    calls = {call.id: call for call in found.session.calls}
    answered = [calls[r.tool_use_id] for r in entry.results if r.tool_use_id in calls]
    if answered:
        return "result of " + ", ".join(label(call, found.session.cwd) for call in answered)
    return "reply" if entry.type == "assistant" else "written by the program"
