"""The messages around a position, as rows and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from msgspec.structs import replace

from clew.conversation.session import Session
from clew.conversation.speaker import prompt_text, starts_turn
from clew.conversation.surroundings import Surroundings
from clew.conversation.turns import Turn
from clew.facts.secrets.mask_secrets import mask_data
from clew.facts.tool_catalog import label
from clew.view.depths import DEPTHS
from clew.view.row_types import AboutRow, Row
from clew.view.rows import ViewOptions, ViewScope, call_rows, entry_rows, turn_rows
from clew.wire.content_block import THINKING_TYPES
from clew.wire.entry import Entry
from clew.wire.timestamps import format_timestamp


def around_rows(surroundings: Surroundings, options: ViewOptions) -> Iterator[Row]:
    """Yield each message; a line before the one at the position names it."""
    scope = _scope(surroundings.session, options)
    called_ids = {use.id for entry in surroundings.entries for use in entry.uses}
    for entry in surroundings.entries:
        if entry != surroundings.place:
            yield from _entry_rows(entry, scope, called_ids)
            continue
        yield AboutRow(f"── line {entry.line.number}: {_describe_entry(surroundings, entry)} ──", scope.depth)
        is_hidden = not _has_rows(entry, scope)  # a message requested by its position is always shown, even thinking
        entry_scope = _scope(surroundings.session, replace(options, thinking=True, meta=True)) if is_hidden else scope
        yield from _entry_rows(entry, entry_scope, called_ids)


def visibility(options: ViewOptions) -> Callable[[Session, Entry], bool]:
    """Return a test whether these options show anything of a message; thinking, for example, is hidden by default."""
    scopes: dict[int, ViewScope] = {}

    def shows(session: Session, entry: Entry) -> bool:
        return _has_rows(entry, scopes.setdefault(id(session), _scope(session, options)))

    return shows


def _scope(session: Session, options: ViewOptions) -> ViewScope:
    return ViewScope(session, options, session.agents_for if options.agents else lambda _: ())


def _has_rows(entry: Entry, scope: ViewScope) -> bool:
    return next(_entry_rows(entry, scope, set()), None) is not None


def _entry_rows(entry: Entry, scope: ViewScope, called_ids: Collection[str | None]) -> Iterator[Row]:
    """Yield the rows of one message. A result has rows only if its call is not in `called_ids`, which shows it."""
    if starts_turn(entry, scope.session.is_agent):
        yield from turn_rows(Turn(0, (entry,)), scope)
    elif not entry.results:
        yield from entry_rows([entry], scope)
    elif scope.options.level >= DEPTHS.index("calls"):
        calls = (scope.calls.get(result.tool_use_id or "") for result in entry.results)
        for call in calls:
            if call and call.id not in called_ids:
                yield from call_rows(call, scope)


def around_json(surroundings: Surroundings, mask: bool) -> Iterator[dict[str, Any]]:
    """Yield a JSON object for each message."""
    for entry in surroundings.entries:
        message = _message_json(surroundings, entry)
        yield dict(mask_data(message)[0]) if mask else message


def _message_json(surroundings: Surroundings, entry: Entry) -> dict[str, Any]:
    session = surroundings.session
    calls = {call.id: call for call in session.calls}
    is_prompt = starts_turn(entry, session.is_agent)
    tools = {id: call.name for id, call in calls.items()}
    return {
        "kind": "message",
        "session": session.id,
        "line": entry.line.number,
        "uuid": entry.uuid,
        "is_place": entry == surroundings.place,
        "branch": surroundings.branch,
        "agent": surroundings.agent or None,
        "role": entry.type,
        "time": format_timestamp(entry.time) if entry.time else None,
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


def _describe_entry(surroundings: Surroundings, entry: Entry) -> str:
    if starts_turn(entry, surroundings.session.is_agent):
        return "prompt"
    calls = {call.id: call for call in surroundings.session.calls}
    answered = [calls[r.tool_use_id] for r in entry.results if r.tool_use_id in calls]
    if answered:
        return "result of " + ", ".join(label(call, surroundings.session.cwd) for call in answered)
    if entry.type != "assistant":
        return "written by the program"
    return "thinking" if entry.blocks and all(block.type in THINKING_TYPES for block in entry.blocks) else "reply"
