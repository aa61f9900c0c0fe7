"""Convert a session to a flat list of rows, which all printers (terminal, Markdown, HTML) print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from clew.conversation.agent_sessions import Agent
from clew.conversation.replies import Call, Reply, merge_replies
from clew.conversation.session import Session
from clew.conversation.speaker import speaker
from clew.conversation.turns import Turn
from clew.facts import searchable_text, tool_catalog
from clew.system.plural import plural
from clew.view import attachments, diff_html
from clew.view.attachments import Picture
from clew.view.call_output import output_rows
from clew.view.decisions import decision_text
from clew.view.depths import DEPTHS
from clew.view.round_labels import round_badge
from clew.view.row_types import (
    AgentRow,
    CallRow,
    CompactionRow,
    DiffRow,
    ErrorRow,
    InputRow,
    InterruptRow,
    MetaRow,
    NoteRow,
    PictureRow,
    PlanRow,
    PromptRow,
    QueuedRow,
    ReplyRow,
    ResultRow,
    Row,
    SummaryRow,
    ThinkingRow,
    TodoRow,
)
from clew.view.sanitize import format_duration
from clew.wire.content_block import THINKING_TYPES
from clew.wire.entry import Entry
from clew.wire.entry_types import (
    ApiFailure,
    Compaction,
    LocalCommand,
    ProgressDetail,
    SystemNotice,
    TurnDuration,
    tag_text,
)
from clew.wire.json_codec import as_text

TURN_TOOK = "turn took "  # begins the note at the end of a turn


class ViewOptions(Struct, frozen=True):
    """What to show. `lines` limits results, `diff_lines` diffs; None means no limit.

    `details` adds what pages show: inputs of calls, pictures, and totals of turns.
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


class ViewScope(Struct, frozen=True):
    """The session or agent whose entries are shown."""

    session: Session
    options: ViewOptions
    agents: Callable[[Call], Sequence[Agent]]
    depth: int = 0

    @property
    def calls(self) -> dict[str, Call]:
        return self.session.pairing.by_id


def rows(
    session: Session,
    turns: Iterable[Turn],
    options: ViewOptions,
    agents: Callable[[Call], Sequence[Agent]] | None = None,
) -> Iterator[Row]:
    """Yield the rows of some turns; `agents` finds the agents of a call if not `session.agents_for`."""
    scope = ViewScope(session, options, (agents or session.agents_for) if options.agents else _no_agents)
    for turn in turns:
        yield from turn_rows(turn, scope)


def preamble_rows(session: Session, options: ViewOptions) -> Iterator[Row]:
    """Yield the rows before the first prompt: a file may start with a compaction, or have lost its start."""
    scope = ViewScope(session, options, session.agents_for if options.agents else _no_agents)
    yield from entry_rows(session.preamble, scope)


def remaining_rows(session: Session, turn: Turn, shown: int, options: ViewOptions) -> Iterator[Row]:
    """Yield the rows of a turn after its first `shown` entries."""
    scope = ViewScope(session, options, session.agents_for if options.agents else _no_agents)
    yield from entry_rows(turn.entries[shown:], scope)


def _no_agents(_: Call) -> Sequence[Agent]:
    return ()


def turn_rows(turn: Turn, scope: ViewScope) -> Iterator[Row]:
    images = turn.images
    totals = attachments.turn_totals(turn) if scope.options.details else None
    yield PromptRow(
        turn.text,
        scope.depth,
        turn.time,
        number=turn.number,
        images=len(images),
        round_badge=round_badge(turn),
        totals=totals,
    )
    if scope.options.details:
        yield from _picture_rows(map(attachments.block_picture, images), scope.depth)
    yield from entry_rows(turn.entries[1:], scope)


def entry_rows(entries: Iterable[Entry], scope: ViewScope) -> Iterator[Row]:
    """Yield the rows of entries after a prompt: replies in the order of their first lines, calls where they were
    made.
    """
    group = list(entries)
    if scope.options.level == 0:
        yield from (
            row for entry in group for row in _other_rows(entry, scope) if isinstance(row, QueuedRow | CompactionRow)
        )
        return
    firsts = {reply.entries[0].line.offset: reply for reply in merge_replies(group)}
    shown: set[str] = set()
    for entry in group:
        if entry.type != "assistant":
            yield from _other_rows(entry, scope)
        elif reply := firsts.get(entry.line.offset):
            yield from _reply_rows(reply, shown, scope)


def _reply_rows(reply: Reply, shown: set[str], scope: ViewScope) -> Iterator[Row]:
    if reply.is_synthetic and not reply.is_error:
        if scope.options.meta and reply.text.strip():
            yield MetaRow(reply.text, scope.depth, reply.time)
        return
    for block in reply.blocks:
        if block.type == "text" and block.text and block.text.strip():
            if reply.is_error:
                yield ErrorRow(block.text, scope.depth, reply.time)
            else:
                yield ReplyRow(block.text, scope.depth, reply.time, model=reply.model or "")
        elif block.type in THINKING_TYPES and scope.options.thinking:
            yield ThinkingRow(block.thinking or "(not stored)", scope.depth, reply.time)
        elif block.type == "tool_use" and scope.options.level >= 2 and block.id and block.id not in shown:
            shown.add(block.id)
            yield from call_rows(scope.calls[block.id], scope)


def call_rows(call: Call, scope: ViewScope) -> Iterator[Row]:
    options, depth = scope.options, scope.depth
    limit = None if options.level >= 3 else options.lines
    detail = call.detail  # decoded once: it may repeat a long output
    difference = tool_catalog.call_diff(call, detail)
    path = _file_path(call)
    yield _call_row(call, scope, limit, path, difference)
    if (
        options.details
        and call.name not in _SELF_EXPLANATORY
        and (input_text := attachments.input_details(call, options.level >= 3))
    ):
        is_command = input_text == call.input.get("command")
        yield InputRow(input_text, depth, limit=limit, language=_SHELLS.get(call.name, "") if is_command else "")
    if call.name == "TodoWrite":
        yield from _todo_rows(call, depth)
    elif call.name == "ExitPlanMode" and (plan := call.input.get("plan")):
        yield PlanRow(str(plan), depth)
    elif difference:
        hunks = difference if options.level >= 3 else difference[2:]  # the call above names the file
        yield DiffRow("\n".join(hunks), depth, limit=options.diff_lines, path=path)
    agents = scope.agents(call)
    is_shown_elsewhere = call.name in _SELF_EXPLANATORY or bool(
        agents
    )  # an edit is shown as its diff, the result of an agent as its last reply
    if (not is_shown_elsewhere or call.failed or options.level >= 3) and not call.is_open:
        for row in output_rows(call, scope.session.overflow(call, detail), depth, limit):
            is_file = call.name == "Read" and isinstance(row, ResultRow)
            yield structs.replace(row, path=path) if is_file else row
    elif call.is_open and (output := _progress_output(call)):
        yield ResultRow(output, depth, limit=limit)
    if meaning := tool_catalog.return_code_meaning(detail):
        yield NoteRow(f"return code: {meaning}", depth, limit=limit)
    if options.details and call.result:
        yield from _picture_rows(attachments.result_pictures(call.result.content), depth)
    for agent in agents:
        yield from agent_rows(agent, scope)


def _call_row(call: Call, scope: ViewScope, limit: int | None, path: str, difference: Sequence[str]) -> CallRow:
    text = tool_catalog.label(call, scope.session.cwd)
    command = call.input.get("command")
    if scope.options.details and call.name in _SHELLS and isinstance(command, str) and "\n" in command.strip():
        first, *others = command.strip().split("\n")  # the lines are shown as the input
        text = f"{call.name} {first} … {plural(len(others), 'more line')}"
    return CallRow(
        text,
        scope.depth,
        call.entry.time,
        limit,
        tool=call.name,
        id=call.id,
        failed=call.failed,
        is_open=call.is_open,
        seconds=call.seconds,
        path=path,
        changes=diff_html.count_changes(difference)
        if difference and scope.options.details and not call.failed
        else None,
        decision=decision_text(call) if scope.options.details else "",
    )


def _file_path(call: Call) -> str:
    value = call.input.get("file_path") or call.input.get("notebook_path")
    return value if isinstance(value, str) else ""


_SHELLS = {"Bash": "bash", "PowerShell": "powershell"}  # tool: language of its command
_SELF_EXPLANATORY = frozenset({"Edit", "Write", "MultiEdit", "TodoWrite", "ExitPlanMode", "NotebookEdit"})


def _progress_output(call: Call) -> str:
    """Return the latest output of a running call; each progress entry repeats the output up to then."""
    reports = (ProgressDetail.of(entry) for entry in reversed(call.progress))
    return next((text for p in reports if (text := p.full_output or p.output).strip()), "")


def _picture_rows(pictures: Iterable[Picture | None], depth: int) -> Iterator[Row]:
    for number, picture in enumerate((p for p in pictures if p), 1):
        yield PictureRow(f"{picture.kind} {number}", depth, picture=picture)


def _todo_rows(call: Call, depth: int) -> Iterator[Row]:
    for item in tool_catalog.objects(call.input.get("todos")):
        yield TodoRow(as_text(item.get("content", "")), depth, status=as_text(item.get("status", "")))


def agent_rows(agent: Agent, scope: ViewScope) -> Iterator[Row]:
    """Yield an agent's conversation, nested at its call. Its prompt is that of the call and is not repeated."""
    tokens, milliseconds = agent.totals.get("totalTokens"), agent.totals.get("totalDurationMs")
    yield AgentRow(
        agent.name,
        scope.depth + 1,
        agent.session.started,
        id=agent.id,
        agent_type=agent.kind,
        model=agent.model or "",
        tokens=tokens if isinstance(tokens, int) else None,
        milliseconds=milliseconds if isinstance(milliseconds, int | float) else None,
    )
    inner = replace(scope, session=agent.session, depth=scope.depth + 1)
    yield from entry_rows((e for e in agent.session.active if speaker(e) != "prompt"), inner)


def _other_rows(entry: Entry, scope: ViewScope) -> Iterator[Row]:
    """Yield entries of a turn that are neither prompt nor reply: queued prompts, compactions, notices."""
    if entry.is_boundary:
        compaction = Compaction.of(entry)
        tokens = {"before": compaction.pre_tokens, "after": compaction.post_tokens}
        yield CompactionRow("", scope.depth, entry.time, trigger=compaction.cause, **tokens)
    elif entry.type == "attachment":
        yield from (
            QueuedRow(w.text, scope.depth, entry.time) for w in searchable_text.words(entry) if w.field == "prompt"
        )
    elif entry.type == "user":
        yield from _user_rows(entry, scope.options, scope.depth)
    elif entry.subtype == "turn_duration" and not scope.options.details:
        yield NoteRow(
            f"{TURN_TOOK}{format_duration(TurnDuration.of(entry).duration_ms / 1000)}", scope.depth, entry.time
        )
    elif entry.type == "system" and (notice := _NOTICES.get(entry.subtype or "")) and (text := notice(entry)):
        yield NoteRow(text, scope.depth, entry.time, scope.options.lines)


def _api_failure_text(entry: Entry) -> str:
    failure = ApiFailure.of(entry)
    return "the API failed" + (f", attempt {failure.attempt} of {failure.max_retries}" if failure.attempt else "")


def _command_text(entry: Entry) -> str:
    command = LocalCommand.of(entry)
    return f"{command.name} {command.arguments}".strip() or command.output


def _notice_text(entry: Entry) -> str:
    return SystemNotice.of(entry).content or str(entry.subtype)


_NOTICES: dict[str, Callable[[Entry], str]] = {
    "api_error": _api_failure_text,
    "informational": _notice_text,
    "local_command": _command_text,
    "model_refusal_fallback": _notice_text,
}
_OUTPUT = re.compile(r"</?(?:local-command|bash)-(?:stdout|stderr)>")


def _user_rows(entry: Entry, options: ViewOptions, depth: int) -> Iterator[Row]:
    kind = speaker(entry)
    if kind == "summary":
        yield SummaryRow(entry.text, depth, limit=options.lines if options.level < 3 else None)
    elif kind == "interrupt":
        yield InterruptRow(entry.text.strip("[]"), depth, entry.time)
    elif kind in ("output", "notification", "teammate", "peer", "coordinator") and options.level >= 2:
        text = tag_text(entry.text, "summary") if kind == "notification" else _OUTPUT.sub("", entry.text)
        if text.strip() or kind == "notification":
            yield NoteRow(text or entry.text, depth, limit=options.lines)
    elif kind in ("meta", "caveat", "hook") and options.meta:
        yield MetaRow(entry.text, depth, limit=options.lines)
