"""The messages around a place, as rows and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

from clew.conversation.session import Session
from clew.conversation.speaker import prompt_text, starts_turn
from clew.conversation.surroundings import Surroundings
from clew.conversation.turns import Turn
from clew.facts.secrets.mask_secrets import mask_data
from clew.facts.tool_catalog import label
from clew.view.rows import DEPTHS, Row, ViewOptions, ViewScope, call_rows, entry_rows, turn_rows
from clew.wire.content_block import THINKING_TYPES
from clew.wire.entry import Entry
from clew.wire.timestamps import stamp


def around_rows(found: Surroundings, options: ViewOptions) -> Iterator[Row]:
    """Each message in turn; a line before the message at the place names it."""
    scene = _scene(found.session, options)
    begun = {use.id for entry in found.entries for use in entry.uses}
    for entry in found.entries:
        if entry != found.place:
            yield from _entry_rows(entry, scene, begun)
            continue
        yield Row("about", f"── line {entry.line.number}: {_kind(found, entry)} ──", scene.depth)
        is_hidden = not _has_rows(entry, scene)  # what was asked for by its place is shown, also thinking
        whole = _scene(found.session, replace(options, thinking=True, meta=True)) if is_hidden else scene
        yield from _entry_rows(entry, whole, begun)


def is_shown(options: ViewOptions) -> Callable[[Session, Entry], bool]:
    """Whether these options show anything of a message: thinking alone, for example, is hidden by default."""
    scenes: dict[int, ViewScope] = {}

    def shows(session: Session, entry: Entry) -> bool:
        return _has_rows(entry, scenes.setdefault(id(session), _scene(session, options)))

    return shows


def _scene(session: Session, options: ViewOptions) -> ViewScope:
    return ViewScope(session, options, session.agents_for if options.agents else lambda _: ())


def _has_rows(entry: Entry, scene: ViewScope) -> bool:
    return next(_entry_rows(entry, scene, set()), None) is not None


def _entry_rows(entry: Entry, scene: ViewScope, begun: Collection[str | None]) -> Iterator[Row]:
    """The rows of one message. A result stands below its call, so it has rows only if the call has not `begun` them."""
    if starts_turn(entry, scene.session.is_agent):
        yield from turn_rows(Turn(0, (entry,)), scene)
    elif not entry.results:
        yield from entry_rows([entry], scene)
    elif scene.options.level >= DEPTHS.index("calls"):
        calls = (scene.calls.get(result.tool_use_id or "") for result in entry.results)
        for call in calls:
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
    if entry.type != "assistant":
        return "written by the program"
    return "thinking" if entry.blocks and all(block.type in THINKING_TYPES for block in entry.blocks) else "reply"
