"""Turn the events of a session into rows that are printed once, and a few live lines that still change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct, field

from clew.chat import events
from clew.chat.events import Event
from clew.chat.tools.tool import CallResult, text_of
from clew.console.call_result import result_rows, todo_rows
from clew.console.markdown_splitter import FinishedBlock, Splitter
from clew.console.render import RowRenderer, call_title
from clew.facts.tool_catalog import subject, tool_name
from clew.system.plural import plural
from clew.view.row_types import (
    AboutRow,
    CallRow,
    CompactionRow,
    ErrorRow,
    InterruptRow,
    NoteRow,
    PromptRow,
    ReplyPart,
    ReplyRow,
    Row,
    SummaryRow,
    ThinkingRow,
    TodoRow,
    WarningRow,
)
from clew.view.sanitize import clean, format_duration, format_tokens, one_line
from clew.view.truncate import truncate
from clew.wire.json_codec import Json

NEWLINE = "↵"  # between the lines of a command
SPINNER = "·✢✳✶✻✽✻✶✳✢"
_SPEED = 8  # frames of the spinner per second
_NOTICES: dict[str, type[NoteRow | WarningRow | ErrorRow]] = {"info": NoteRow, "warning": WarningRow, "error": ErrorRow}
_LAST_LINES = 5
_ROOM_FOR_TODOS = 12  # lines of the live part from which on the todo list is shown
MAX_TODOS = 5  # lines below the spinner
MAX_TASKS = 4  # lines below the prompt


def describe_subject(name: str, given: Json, cwd: str) -> str:
    """Return what a call is about on one line. The lines of a command stay separate: joined by spaces they would read as
    another command.
    """
    command = given.get("command")
    if name == "Bash" and isinstance(command, str):
        return f" {NEWLINE} ".join(line for line in command.strip().split("\n") if line.strip())
    return subject(name, given, cwd)


class RunningCall(Struct):
    """A call that has no result yet."""

    name: str
    input: Json
    about: str
    started_at: float | None = None
    output: str = ""
    lines: int = 0
    steps: int = 0  # calls of an agent
    last_step: str = ""


class RunningAgent(Struct):
    """A subagent that runs, also after the turn that started it."""

    kind: str
    description: str
    started_at: float
    steps: int = 0
    last_step: str = ""
    is_background: bool = False


class Transcript(Struct):
    """The state of the transcript. `print_row` prints a row that never changes."""

    print_row: Callable[[Row], None]
    cwd: str = ""
    clock: Callable[[], float] = time.monotonic
    is_verbose: bool = False
    has_live_lines: bool = True
    is_asking: bool = False  # a question is open
    running: dict[str, RunningCall] = field(default_factory=dict)
    todos: Any = None  # the todo list, as the model wrote it
    agents: dict[str, RunningAgent] = field(default_factory=dict)  # by the call that started them
    started_at: float | None = None  # start of the turn; None between turns
    activity: str = ""
    has_spoken: bool = False
    _splitter: Splitter = field(default_factory=Splitter)
    _streamed: int = 0  # characters received of the current block
    _is_first: bool = True
    _thought: str = ""
    _thinking_since: float = 0.0
    _received: int = 0  # characters received in this turn
    _cost: float = 0.0  # dollars, up to the end of the last turn
    _folded: list[Row] = field(default_factory=list)  # whole versions of what was folded in the last turn
    _failure: str = ""  # the last failure of the API, until a reply comes
    _retry_at: float = 0.0  # when the failed request is sent again

    # -- events

    def handle_event(self, event: Event) -> None:
        if event.agent and not isinstance(event, events.TaskFinished):
            self._handle_agent_event(event)
            return
        match event:
            case events.StreamEvent(event=raw):
                self._stream(raw)
            case events.BlockCompleted(message=message):
                self._handle_block(message["content"][0])
            case events.CallStarted(call_id=call_id, name=name, input=given):
                self.call(call_id, name, given).started_at = self.clock()
                self.activity = f"Running {tool_name(name)}"
            case events.CallProgressed(call_id=call_id, data=data) if call_id in self.running:
                self.running[call_id].output = str(data.get("fullOutput") or data.get("output") or "")
                self.running[call_id].lines = int(data.get("totalLines") or 0)
            case events.CallFinished(call_id=call_id, name=name, result=result):
                call = self.running.pop(call_id, None) or self.call(call_id, name, {})
                self.running.pop(call_id, None)
                self._print_result(call, result)
                self.activity = "Waiting for the model"
            case events.RequestRetried():
                self._handle_retry(event)
            case events.Notice(text=text, level=level):
                self.print_row(_NOTICES[level](text))
            case events.ConversationCompacted(trigger=trigger, before=before, after=after, summary=summary):
                self.print_row(CompactionRow(trigger=trigger, before=before, after=after))
                self._folded += [SummaryRow(summary)] if summary else []
            case events.PromptRecorded(content=content, is_queued=True):
                self.print_row(PromptRow(text_of(content)))
            case events.TaskFinished(summary=summary):
                self.print_row(NoteRow(summary))
            case events.TurnFinished():
                self._finish_turn(event)

    def begin(self, activity: str = "Waiting for the model") -> None:
        """Begin a turn."""
        self._folded.clear()
        self.started_at, self.activity, self._received, self.has_spoken = self.clock(), activity, 0, False

    def end(self) -> None:
        self.started_at, self.activity, self._failure = None, "", ""
        self.running.clear()
        self._reset_block()

    def call(self, call_id: str, name: str, given: Json) -> RunningCall:
        """Return the running call with this id; add it if it is new."""
        known = self.running.get(call_id)
        if known is None or given:
            about = describe_subject(name, given, self.cwd)
            known = self.running[call_id] = RunningCall(name, given, about, known.started_at if known else None)
        return known

    def toggle_verbose(self) -> None:
        """Show everything from now on, or fold again. What was folded in the last turn is shown too."""
        self.is_verbose = not self.is_verbose
        if self.is_verbose and self._folded:
            self.print_row(AboutRow("Folded in the last turn:"))
            for row in self._folded:
                self.print_row(row)
            self._folded.clear()

    def _print_result(self, call: RunningCall, result: CallResult) -> None:
        """Print a call and its result, and keep the whole result if a part of it is folded."""
        took = self.clock() - call.started_at if call.started_at is not None else 0.0
        label = f"{tool_name(call.name)} {call.about}".strip()
        title = CallRow(label, tool=call.name, failed=result.is_error, seconds=took if took >= 10 else None)
        rows = [*result_rows(call.name, call.input, result, self.cwd, self.is_verbose)]
        for row in (title, *rows):
            self.print_row(row)
        if call.name == "TodoWrite" and not result.is_error:
            self.todos = call.input.get("todos")
        if any(truncate(clean(row.text), row.limit)[1] for row in rows):
            self._folded += [title, *result_rows(call.name, call.input, result, self.cwd, is_verbose=True)]

    def _handle_retry(self, event: events.RequestRetried) -> None:
        """Print a failure of the API once; the live line counts the attempts. Without live lines all are printed."""
        self._reset_block()
        self._retry_at = self.clock() + event.delay
        attempt = f"{event.number} of {event.of}"
        failure = f"API error {event.status}: {event.message}" if event.status else event.message
        if failure != self._failure or not self.has_live_lines:
            self.print_row(WarningRow(f"{failure} Retrying in {event.delay:.0f} s ({attempt})."))
        self._failure, self.activity = failure, f"Attempt {attempt} failed, retrying"

    def _finish_turn(self, event: events.TurnFinished) -> None:
        self._print_finished()
        if event.is_interrupted:
            self.print_row(InterruptRow("Interrupted. What should be done instead?"))
        for error in event.errors:
            self.print_row(ErrorRow(f"API error {event.status}: {error}" if event.status else error))
        if event.turns:
            self.print_row(AboutRow(self._describe_turn(event)))

    def _describe_turn(self, event: events.TurnFinished) -> str:
        """Return how long the turn took and what it cost, with its subagents."""
        facts = [format_duration(event.milliseconds / 1000)]
        if event.cost is not None:
            spent = max(event.cost - self._cost, 0.0)
            facts += [f"${spent:.2f}" if spent >= 1 else f"${spent:.4f}"] * (spent > 0)
            self._cost = event.cost
        return f"Took {' · '.join(facts)}"

    # -- streamed replies

    def _stream(self, raw: Json) -> None:
        match raw:
            case {"type": "content_block_start", "content_block": {"type": kind}}:
                self._reset_block()
                self._thinking_since = self.clock()
                self.activity = {"thinking": "Thinking", "text": "Writing", "tool_use": "Preparing a call"}.get(
                    str(kind), "Waiting for the model"
                )
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                self._feed(text)
            case {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": str(text)}}:
                self._thought += text
                self._received += len(text)
            case {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": str(text)}}:
                self._received += len(text)
            case {"type": "message_start"}:
                self._is_first, self._failure, self._retry_at = True, "", 0.0

    def _feed(self, text: str) -> None:
        self._streamed += len(text)
        self._received += len(text)
        self.has_spoken = True
        for block in self._splitter.feed(text):
            self._print_block(block)

    def _print_block(self, block: FinishedBlock) -> None:
        part: ReplyPart = "first" if self._is_first else "continued" if block.is_continuation else "next"
        self._is_first = False
        self.print_row(ReplyRow(block.text, part=part))

    def _print_finished(self) -> None:
        for block in self._splitter.finish():
            self._print_block(block)

    def _handle_block(self, block: Json) -> None:
        """Print a completed block, or what has not been printed of it."""
        self.has_spoken = True
        if block.get("type") == "text":
            if not self._streamed:
                self._feed(str(block.get("text", "")))
            self._print_finished()
        elif block.get("type") == "thinking":
            text = str(block.get("thinking") or "")
            seconds = self.clock() - self._thinking_since
            if text.strip() and self.is_verbose:
                self.print_row(ThinkingRow(text))
            elif text.strip():
                self._folded.append(ThinkingRow(text))
                self.print_row(ThinkingRow(f"Thought for {format_duration(seconds)}" if seconds >= 1 else "Thought"))
        elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            self.call(str(block["id"]), str(block["name"]), block["input"])
        self._reset_block()
        self._is_first = True

    def _reset_block(self) -> None:
        self._splitter, self._streamed, self._thought, self._is_first = Splitter(), 0, "", True

    # -- agents

    def _handle_agent_event(self, event: Event) -> None:
        match event:
            case events.AgentStarted(kind=kind, description=description, is_background=is_background):
                self.agents[event.agent] = RunningAgent(kind, description, self.clock(), is_background=is_background)
            case events.AgentFinished():
                self.agents.pop(event.agent, None)
            case events.CallStarted(name=name, input=given):
                step = f"{tool_name(name)} {describe_subject(name, given, self.cwd)}".strip()
                for running in (self.running.get(event.agent), self.agents.get(event.agent)):
                    if running is not None:
                        running.steps += 1
                        running.last_step = step

    def task_lines(self, commands: Sequence[str], width: int) -> list[str]:
        """Return a line for each subagent and command in the background, for below the prompt."""
        lines = []
        for call_id, agent in self.agents.items():
            if call_id not in self.running:
                facts = [plural(agent.steps, "call"), format_duration(self.clock() - agent.started_at)]
                step = f" · {agent.last_step}" if agent.last_step else ""
                lines.append(f"{agent.kind}: {agent.description or 'agent'} ({', '.join(facts)}){step}")
        lines += [f"command: {command}" for command in commands]
        shown = (
            lines if len(lines) <= MAX_TASKS else [*lines[: MAX_TASKS - 1], f"and {len(lines) - MAX_TASKS + 1} more"]
        )
        return [f"  ◆ {one_line(line, max(width - 6, 10))}" for line in shown]

    # -- live lines

    def live_lines(self, get_renderer: Callable[[], RowRenderer], room: int) -> list[str]:
        """Return at most `room` lines below the printed rows: the unfinished reply, running calls, the spinner."""
        if self.started_at is None and not self.running:
            return []
        renderer = get_renderer()
        lines = [*self._unfinished(renderer, room)]
        for call in self.running.values():
            # a waiting call above a question would look like its subject, and questions show themselves
            if not self.is_asking or (call.started_at is not None and call.name != "AskUserQuestion"):
                lines += self._running_lines(renderer, call)
        if self.started_at is None or self.is_asking:
            return lines[-max(room - 2, 1) :]
        todos = [*self._todo_lines(renderer)] if room >= _ROOM_FOR_TODOS else []
        lines = lines[-max(room - 2 - len(todos), 1) :]
        return [*lines, "", self._spinner(renderer, self.clock() - self.started_at), *todos]

    def _todo_lines(self, renderer: RowRenderer) -> Iterator[str]:
        """Yield the todo list from the first open item on, while items are open."""
        rows = [row for row in todo_rows(self.todos) if isinstance(row, TodoRow)]
        first = next((index for index, row in enumerate(rows) if row.status != "completed"), len(rows))
        first = max(min(first - 1, len(rows) - MAX_TODOS), 0) if first < len(rows) else len(rows)
        for row in rows[first : first + MAX_TODOS]:
            shown = TodoRow(one_line(row.text, max(renderer.width - 10, 10)), status=row.status)
            yield renderer.render(shown).rstrip("\n")
        if first + MAX_TODOS < len(rows):
            yield renderer.styled(f"     … {plural(len(rows) - first - MAX_TODOS, 'more todo')}", "hint")

    def _unfinished(self, renderer: RowRenderer, room: int) -> Iterator[str]:
        if self._splitter.tail.strip():
            part: ReplyPart = "first" if self._is_first else "next"
            row = ReplyRow(self._splitter.tail, part=part)
            yield from renderer.render(row).rstrip("\n").split("\n")[-room:]
        elif self._thought.strip():
            yield from renderer.render(ThinkingRow(self._thought)).rstrip("\n").split("\n")[-_LAST_LINES:]

    def _running_lines(self, renderer: RowRenderer, call: RunningCall) -> Iterator[str]:
        yield ""
        yield from call_title(renderer, tool_name(call.name), call.about, "open")
        mark = renderer.styled("  ⎿  ", "sign")
        if call.steps:
            step = one_line(call.last_step, renderer.width - 30)
            yield mark + renderer.styled(f"{step} · {plural(call.steps, 'call')}", "quiet")
        elif call.output.strip():
            shown = clean(call.output).rstrip("\n").split("\n")[-_LAST_LINES:]
            for index, line in enumerate(shown):
                yield (mark if index == 0 else "     ") + renderer.styled(one_line(line, renderer.width - 6), "quiet")
        more = max(call.lines - _LAST_LINES, 0)
        seconds = self.clock() - call.started_at if call.started_at is not None else 0
        if seconds >= 2:
            words = [f"+{plural(more, 'line')}" if more else "", format_duration(seconds)]
            words.append("ctrl+b to run in background" if call.name == "Bash" else "")
            yield renderer.styled("     " + " · ".join(w for w in words if w), "quiet")

    def _spinner(self, renderer: RowRenderer, seconds: float) -> str:
        sign = SPINNER[int(seconds * _SPEED) % len(SPINNER)]
        facts = [
            format_duration(seconds),
            f"↓ {format_tokens(self._received // 4)} tokens" if self._received >= 40 else "",
        ]
        if (wait := self._retry_at - self.clock()) > 0:
            facts.insert(0, f"in {format_duration(wait)}")
        facts.append("esc to interrupt")
        details = " · ".join(fact for fact in facts if fact)
        return (
            renderer.styled(f"{sign} ", "sign.agent")
            + f"{one_line(self.activity)}… "
            + renderer.styled(f"({details})", "quiet")
        )
