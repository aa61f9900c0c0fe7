"""The transcript while it grows: events become rows that are printed for good, and a few lines that still change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from clew.chat import events
from clew.chat.events import Event
from clew.chat.tools.tool import text_of
from clew.console.call_result import result_rows
from clew.console.markdown_splitter import FinishedBlock, Splitter
from clew.console.render import Painter, call_title
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
    ThinkingRow,
    WarningRow,
)
from clew.view.sanitize import clean, format_duration, format_tokens, one_line
from clew.wire.json_codec import Json

SPINNER = "·✢✳✶✻✽✻✶✳✢"
_SPEED = 8  # pictures of the spinner in a second
_NOTICES: dict[str, type[NoteRow | WarningRow | ErrorRow]] = {"info": NoteRow, "warning": WarningRow, "error": ErrorRow}
_LAST_LINES = 5


@dataclass
class Running:
    """A call that has no result yet."""

    name: str
    input: Json
    about: str
    began: float | None = None
    output: str = ""
    lines: int = 0
    steps: int = 0  # calls of an agent
    last_step: str = ""


@dataclass
class Transcript:
    """What is heard of a session. `put` prints a row for good."""

    put: Callable[[Row], None]
    cwd: str = ""
    clock: Callable[[], float] = time.monotonic
    is_verbose: bool = False
    is_asking: bool = False  # a question stands
    running: dict[str, Running] = field(default_factory=dict)
    began: float | None = None  # when the turn began; None between turns
    doing: str = ""
    has_spoken: bool = False
    _splitter: Splitter = field(default_factory=Splitter)
    _fed: int = 0  # characters of the block that comes
    _is_first: bool = True
    _thought: str = ""
    _thinks_since: float = 0.0
    _received: int = 0  # tokens of the turn, about

    # -- events

    def hear(self, told: Event) -> None:
        if told.agent and not isinstance(told, events.TaskFinished):
            self._of_agent(told)
            return
        match told:
            case events.StreamEvent(event=raw):
                self._stream(raw)
            case events.BlockCompleted(message=message):
                self._said(message["content"][0])
            case events.CallStarted(call_id=call_id, name=name, input=given):
                self.call(call_id, name, given).began = self.clock()
                self.doing = f"Running {tool_name(name)}"
            case events.CallProgressed(call_id=call_id, data=data) if call_id in self.running:
                self.running[call_id].output = str(data.get("fullOutput") or data.get("output") or "")
                self.running[call_id].lines = int(data.get("totalLines") or 0)
            case events.CallFinished(call_id=call_id, name=name, result=result):
                call = self.running.pop(call_id, None) or self.call(call_id, name, {})
                self.running.pop(call_id, None)
                self._print_title(call, result.is_error)
                for row in result_rows(call.name, call.input, result, self.cwd, self.is_verbose):
                    self.put(row)
                self.doing = "Waiting for the model"
            case events.RequestRetried(number=number, of=of, delay=delay, message=text):
                self._reset_block()
                self.put(WarningRow(f"{text} Again in {delay:.0f} s ({number} of {of})."))
            case events.Notice(text=text, level=level):
                self.put(_NOTICES[level](text))
            case events.ConversationCompacted(trigger=trigger, before=before, after=after):
                self.put(CompactionRow(trigger=trigger, before=before, after=after))
            case events.PromptRecorded(content=content, is_queued=True):
                self.put(PromptRow(text_of(content)))
            case events.TaskFinished(summary=summary):
                self.put(NoteRow(summary))
            case events.TurnFinished():
                self._finish(told)

    def begin(self, doing: str = "Waiting for the model") -> None:
        """A turn begins."""
        self.began, self.doing, self._received, self.has_spoken = self.clock(), doing, 0, False

    def end(self) -> None:
        self.began, self.doing = None, ""
        self.running.clear()
        self._reset_block()

    def call(self, call_id: str, name: str, given: Json) -> Running:
        """The call of this id, known from now on."""
        known = self.running.get(call_id)
        if known is None or given:
            about = subject(name, given, self.cwd)
            known = self.running[call_id] = Running(name, given, about, known.began if known else None)
        return known

    def _print_title(self, call: Running, is_failed: bool) -> None:
        took = self.clock() - call.began if call.began is not None else 0.0
        label = f"{tool_name(call.name)} {call.about}".strip()
        self.put(CallRow(label, failed=is_failed, seconds=took if took >= 10 else None))

    def _finish(self, told: events.TurnFinished) -> None:
        for piece in self._splitter.finish():
            self._put_piece(piece)
        if told.is_interrupted:
            self.put(InterruptRow("Interrupted. What should be done instead?"))
        for error in told.errors:
            self.put(ErrorRow(error))
        if told.milliseconds >= 60_000:
            self.put(AboutRow(f"took {format_duration(told.milliseconds / 1000)}"))

    # -- a reply as it comes

    def _stream(self, raw: Json) -> None:
        match raw:
            case {"type": "content_block_start", "content_block": {"type": kind}}:
                self._reset_block()
                self._thinks_since = self.clock()
                self.doing = {"thinking": "Thinking", "text": "Writing", "tool_use": "Preparing a call"}.get(
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
                self._is_first = True

    def _feed(self, text: str) -> None:
        self._fed += len(text)
        self._received += len(text)
        self.has_spoken = True
        for piece in self._splitter.feed(text):
            self._put_piece(piece)

    def _put_piece(self, piece: FinishedBlock) -> None:
        part: ReplyPart = "first" if self._is_first else "on" if piece.goes_on else "next"
        self._is_first = False
        self.put(ReplyRow(piece.text, part=part))

    def _said(self, block: Json) -> None:
        """A block is complete."""
        self.has_spoken = True
        if block.get("type") == "text":
            if not self._fed:
                self._feed(str(block.get("text", "")))
            for piece in self._splitter.finish():
                self._put_piece(piece)
        elif block.get("type") == "thinking":
            text = str(block.get("thinking") or "")
            seconds = self.clock() - self._thinks_since
            if text.strip() and self.is_verbose:
                self.put(ThinkingRow(text))
            elif text.strip():
                self.put(ThinkingRow(f"Thought for {format_duration(seconds)}" if seconds >= 1 else "Thought"))
        elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            self.call(str(block["id"]), str(block["name"]), block["input"])
        self._reset_block()
        self._is_first = True

    def _reset_block(self) -> None:
        self._splitter, self._fed, self._thought, self._is_first = Splitter(), 0, "", True

    # -- agents

    def _of_agent(self, told: Event) -> None:
        call = self.running.get(told.agent)
        if call is None:
            return
        if isinstance(told, events.CallStarted):
            call.steps += 1
            call.last_step = f"{tool_name(told.name)} {subject(told.name, told.input, self.cwd)}".strip()

    # -- what still changes

    def live(self, brush: Callable[[], Painter], room: int) -> list[str]:
        """The lines below what was printed, at most so many."""
        if self.began is None and not self.running:
            return []
        painter = brush()
        made = [*self._unfinished(painter, room)]
        for call in self.running.values():
            if (
                call.began is not None or not self.is_asking
            ):  # a waiting call above a question would pass for its subject
                made += self._running_lines(painter, call)
        made = made[-max(room - 2, 1) :]
        return [*made, "", self._spinner(painter)] if self.began is not None and not self.is_asking else made

    def _unfinished(self, painter: Painter, room: int) -> Iterator[str]:
        if self._splitter.tail.strip():
            part: ReplyPart = "first" if self._is_first else "next"
            row = ReplyRow(self._splitter.tail, part=part)
            yield from painter.paint(row).rstrip("\n").split("\n")[-room:]
        elif self._thought.strip():
            yield from painter.paint(ThinkingRow(self._thought)).rstrip("\n").split("\n")[-_LAST_LINES:]

    def _running_lines(self, painter: Painter, call: Running) -> Iterator[str]:
        yield ""
        yield from call_title(painter, tool_name(call.name), call.about, "open")
        mark = painter.styled("  ⎿  ", "sign")
        if call.steps:
            step = one_line(call.last_step, painter.width - 30)
            yield mark + painter.styled(f"{step} · {plural(call.steps, 'call')}", "quiet")
        elif call.output.strip():
            shown = clean(call.output).rstrip("\n").split("\n")[-_LAST_LINES:]
            for index, line in enumerate(shown):
                yield (mark if index == 0 else "     ") + painter.styled(one_line(line, painter.width - 6), "quiet")
        more = max(call.lines - _LAST_LINES, 0)
        seconds = self.clock() - call.began if call.began is not None else 0
        if seconds >= 2:
            words = [f"+{plural(more, 'line')}" if more else "", format_duration(seconds)]
            words.append("ctrl+b to put it aside" if call.name == "Bash" else "")
            yield painter.styled("     " + " · ".join(w for w in words if w), "quiet")

    def _spinner(self, painter: Painter) -> str:
        assert self.began is not None
        seconds = self.clock() - self.began
        sign = SPINNER[int(seconds * _SPEED) % len(SPINNER)]
        facts = [
            format_duration(seconds),
            f"↓ {format_tokens(self._received // 4)} tokens" if self._received >= 40 else "",
        ]
        facts.append("esc to interrupt")
        told = " · ".join(fact for fact in facts if fact)
        return painter.styled(f"{sign} ", "sign.agent") + f"{self.doing}… " + painter.styled(f"({told})", "quiet")
