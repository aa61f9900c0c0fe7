"""The document: a session as a flat list of rows with a depth and a budget, and no markup.

Every printer (terminal, Markdown and HTML) prints the same rows, so what is shown is decided here, once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from clew.conversation.agent_sessions import Agent
from clew.conversation.replies import Call, Reply, merge_replies
from clew.conversation.session import Session
from clew.conversation.speaker import speaker
from clew.conversation.turns import Turn
from clew.facts import tool_catalog
from clew.facts.searchable_text import words
from clew.view import attachments
from clew.view.attachments import Picture
from clew.view.call_output import output_rows
from clew.view.round_labels import round_fields
from clew.view.row_type import Row as Row
from clew.view.sanitize import duration
from clew.wire.entry import Entry
from clew.wire.entry_types import ApiFailure, Compaction, LocalCommand, Notice, ProgressDetail, TurnDuration, tag_text
from clew.wire.json_codec import as_text

DEPTHS = ("prompts", "replies", "calls", "full")


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """What to show. `lines` is how much of a result, `diff_lines` how much of a diff; None is all of it.

    `details` is what a page has room for and a terminal has not: inputs of calls, pictures, and what each turn took.
    """

    depth: str = "calls"
    thinking: bool = False
    agents: bool = True
    meta: bool = False
    lines: int | None = 6
    diff_lines: int | None = 40
    details: bool = False

    @property
    def level(self) -> int:
        return DEPTHS.index(self.depth)


@dataclass(frozen=True)
class ViewScope:
    """Whose entries are being shown: a session, or an agent inside it."""

    session: Session
    options: ViewOptions
    agents: Callable[[Call], Sequence[Agent]]
    depth: int = 0

    @cached_property
    def calls(self) -> dict[str, Call]:
        return {call.id: call for call in self.session.calls}


def rows(
    session: Session,
    turns: Iterable[Turn],
    options: ViewOptions,
    agents: Callable[[Call], Sequence[Agent]] | None = None,
) -> Iterator[Row]:
    """The rows of some turns of a session; `agents` finds those of a call if the session's own do not serve."""
    scene = ViewScope(session, options, (agents or session.agents_for) if options.agents else _nobody)
    for turn in turns:
        yield from turn_rows(turn, scene)


def first_rows(session: Session, options: ViewOptions) -> Iterator[Row]:
    """What stands before the first prompt: a file may begin with a compaction, or have lost its beginning."""
    scene = ViewScope(session, options, session.agents_for if options.agents else _nobody)
    yield from entry_rows(session.preamble, scene)


def rest_rows(session: Session, turn: Turn, shown: int, options: ViewOptions) -> Iterator[Row]:
    """The rows of a turn whose first entries have been shown already."""
    scene = ViewScope(session, options, session.agents_for if options.agents else _nobody)
    yield from entry_rows(turn.entries[shown:], scene)


def _nobody(_: Call) -> Sequence[Agent]:
    return ()


def turn_rows(turn: Turn, scene: ViewScope) -> Iterator[Row]:
    images = turn.images
    facts = {"number": turn.number, "kind": turn.kind, "uuid": turn.prompt.uuid, "images": len(images)}
    facts |= round_fields(turn)
    if scene.options.details:
        facts |= attachments.took(turn)
    yield Row("prompt", turn.text, scene.depth, turn.time, facts=facts)
    if scene.options.details:
        yield from _picture_rows(map(attachments.picture, images), scene.depth)
    yield from entry_rows(turn.entries[1:], scene)


def entry_rows(entries: Iterable[Entry], scene: ViewScope) -> Iterator[Row]:
    """What came of a prompt: replies in the order of their first lines, with the calls where they were made."""
    group = list(entries)
    if scene.options.level == 0:
        yield from (row for entry in group for row in _asides(entry, scene) if row.kind in ("queued", "compaction"))
        return
    firsts = {reply.entries[0].line.offset: reply for reply in merge_replies(group)}
    shown: set[str] = set()
    for entry in group:
        if entry.type != "assistant":
            yield from _asides(entry, scene)
        elif reply := firsts.get(entry.line.offset):
            yield from _reply_rows(reply, shown, scene)


def _reply_rows(reply: Reply, shown: set[str], scene: ViewScope) -> Iterator[Row]:
    if reply.is_synthetic and not reply.is_error:
        if scene.options.meta and reply.text.strip():
            yield Row("meta", reply.text, scene.depth, reply.time)
        return
    for block in reply.blocks:
        if block.type == "text" and block.text and block.text.strip():
            kind = "error" if reply.is_error else "reply"
            yield Row(kind, block.text, scene.depth, reply.time, facts={"model": reply.model})
        elif block.type in ("thinking", "redacted_thinking") and scene.options.thinking:
            yield Row("thinking", block.thinking or "(not stored)", scene.depth, reply.time)
        elif block.type == "tool_use" and scene.options.level >= 2 and block.id and block.id not in shown:
            shown.add(block.id)
            yield from call_rows(scene.calls[block.id], scene)


def call_rows(call: Call, scene: ViewScope) -> Iterator[Row]:
    options, depth = scene.options, scene.depth
    facts = {
        "tool": call.name,
        "failed": call.failed,
        "open": call.is_open,
        "seconds": call.seconds,
        "id": call.id,
    }
    limit = None if options.level >= 3 else options.lines
    yield Row("call", tool_catalog.label(call, scene.session.cwd), depth, call.entry.time, limit, facts)
    if options.details and call.name not in _QUIET and (given := attachments.given(call, options.level >= 3)):
        yield Row("input", given, depth, limit=limit)
    if call.name == "TodoWrite":
        yield from _todo_rows(call, depth)
    elif call.name == "ExitPlanMode" and (plan := call.input.get("plan")):
        yield Row("plan", str(plan), depth)
    elif difference := tool_catalog.call_diff(call):
        hunks = difference if options.level >= 3 else difference[2:]  # the call above names the file already
        yield Row("diff", "\n".join(hunks), depth, limit=options.diff_lines)
    agents = scene.agents(call)
    is_said = call.name in _QUIET or bool(agents)  # an edit shows as its diff, an agent's answer as its last words
    if (not is_said or call.failed or options.level >= 3) and not call.is_open:
        yield from output_rows(call, scene.session.overflow(call), depth, limit)
    elif call.is_open and (output := _so_far(call)):
        yield Row("result", output, depth, limit=limit)
    if meaning := tool_catalog.return_code_meaning(call.detail):
        yield Row("note", f"return code: {meaning}", depth, limit=limit)
    if options.details and call.result:
        yield from _picture_rows(attachments.pictures(call.result.content), depth)
    for agent in agents:
        yield from agent_rows(agent, scene)


_QUIET = frozenset({"Edit", "Write", "MultiEdit", "TodoWrite", "ExitPlanMode", "NotebookEdit"})


def _so_far(call: Call) -> str:
    """What a running call has said: each sign of life repeats the output up to then."""
    said = (ProgressDetail.of(entry) for entry in reversed(call.progress))
    return next((text for p in said if (text := p.full_output or p.output).strip()), "")


def _picture_rows(found: Iterable[Picture | None], depth: int) -> Iterator[Row]:
    for number, picture in enumerate((p for p in found if p), 1):
        yield Row("picture", f"{picture.kind} {number}", depth, facts={"picture": picture})


def _todo_rows(call: Call, depth: int) -> Iterator[Row]:
    for item in tool_catalog.objects(call.input.get("todos")):
        yield Row("todo", as_text(item.get("content", "")), depth, facts={"status": as_text(item.get("status", ""))})


def agent_rows(agent: Agent, scene: ViewScope) -> Iterator[Row]:
    """An agent's conversation, nested at its call. Its prompt is the call's and is not said twice."""
    facts = {"id": agent.id, "kind": agent.kind, "model": agent.model, **agent.totals}
    yield Row("agent", agent.description or agent.id, scene.depth + 1, agent.session.started, facts=facts)
    inner = replace(scene, session=agent.session, depth=scene.depth + 1)
    yield from entry_rows((e for e in agent.session.active if speaker(e) != "prompt"), inner)


def _asides(entry: Entry, scene: ViewScope) -> Iterator[Row]:
    """Entries of a turn that are neither its prompt nor a reply: queued prompts, compactions, notices."""
    if entry.is_boundary:
        made = Compaction.of(entry)
        facts = {"trigger": made.cause, "before": made.pre_tokens, "after": made.post_tokens}
        yield Row("compaction", "", scene.depth, entry.time, facts=facts)
    elif entry.type == "attachment":
        yield from (Row("queued", w.text, scene.depth, entry.time) for w in words(entry))
    elif entry.type == "user":
        yield from _user_aside(entry, scene.options, scene.depth)
    elif entry.subtype == "turn_duration" and not scene.options.details:
        yield Row("note", f"turn took {duration(TurnDuration.of(entry).duration_ms / 1000)}", scene.depth, entry.time)
    elif entry.type == "system" and (notice := _NOTICES.get(entry.subtype or "")) and (text := notice(entry)):
        yield Row("note", text, scene.depth, entry.time, scene.options.lines)


def _api_failure(entry: Entry) -> str:
    made = ApiFailure.of(entry)
    return "the API failed" + (f", attempt {made.attempt} of {made.max_retries}" if made.attempt else "")


def _command(entry: Entry) -> str:
    made = LocalCommand.of(entry)
    return f"{made.name} {made.arguments}".strip() or made.output


def _notice(entry: Entry) -> str:
    return Notice.of(entry).content or str(entry.subtype)


_NOTICES: dict[str, Callable[[Entry], str]] = {
    "api_error": _api_failure,
    "informational": _notice,
    "local_command": _command,
    "model_refusal_fallback": _notice,
}
_OUTPUT = re.compile(r"</?(?:local-command|bash)-(?:stdout|stderr)>")


def _user_aside(entry: Entry, options: ViewOptions, depth: int) -> Iterator[Row]:
    kind = speaker(entry)
    if kind == "summary":
        yield Row("summary", entry.text, depth, limit=options.lines if options.level < 3 else None)
    elif kind == "interrupt":
        yield Row("interrupt", entry.text.strip("[]"), depth, entry.time)
    elif kind in ("output", "notification", "teammate", "peer", "coordinator") and options.level >= 2:
        text = tag_text(entry.text, "summary") if kind == "notification" else _OUTPUT.sub("", entry.text)
        if text.strip() or kind == "notification":
            yield Row("note", text or entry.text, depth, limit=options.lines)
    elif kind in ("meta", "caveat", "hook") and options.meta:
        yield Row("meta", entry.text, depth, limit=options.lines)
