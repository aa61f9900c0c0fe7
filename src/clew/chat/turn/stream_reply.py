"""Request one reply, stream it, and write it to the session file as it arrives."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.api.client import Broken, ClientEvent, LeftOut, Retrying, Switched
from clew.api.reasoning import reasoning_fields
from clew.api.request_body import Capability, MessagesRequest
from clew.api.stream_assembly import ApiReply, BlockComplete, BlockDelta, ReplyFinished, ReplyStarted
from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.store import journal_lines
from clew.chat.store.journal import ReplyWriter
from clew.chat.store.live_conversation import NO_CONTENT, LiveConversation, PendingCall, blocks_of
from clew.chat.tools.tool import Tool
from clew.chat.tools.toolbox import select_offered
from clew.chat.turn.repair_messages import repair_messages
from clew.chat.turn.until_stopped import until_stopped
from clew.errors import ApiError
from clew.models import longest_output, model_of, without_suffix
from clew.wire.json_codec import Json

LONG_WINDOW = Capability("the long window", "context-1m-2025-08-07")
_OUTPUT_LIMIT = re.compile(r"max_tokens: \d+ > (\d+)")

SelectMessages = Callable[[list[Json]], list[Json]]


class ReceivedReply(Struct, frozen=True):
    """The result of a request: the blocks with the uuids of their lines, and the error or interrupt that ended it
    early.
    """

    reply: ApiReply
    lines: tuple[tuple[str, Json], ...] = ()
    error: ApiError | None = None
    is_stopped: bool = False

    @property
    def calls(self) -> list[PendingCall]:
        calls = []
        last = len(self.lines) - 1
        for index, (line, block) in enumerate(self.lines):
            if block.get("type") == "tool_use":
                call_input = block.get("input")
                is_cut = self.reply.stop_reason == "max_tokens" and index == last
                unparsed = self.reply.unparsed.get(index, "")
                call = PendingCall(
                    str(block["id"]), str(block["name"]), call_input if isinstance(call_input, dict) else {}, line
                )
                calls.append(replace(call, unparsed=unparsed, is_cut=is_cut))
        return calls


class ReplyStreamer(Struct):
    """Requests and streams replies for one conversation."""

    conversation: LiveConversation
    deps: Deps
    agent: str = ""
    shown: SelectMessages = list  # selects what is sent: old tool results may be left out
    api_seconds: float = 0.0
    max_output: int = 1 << 30  # in tokens; lowered when the API reports a smaller limit
    last: ReceivedReply = field(default_factory=lambda: ReceivedReply(ApiReply({})))
    _partial_text: list[str] = field(default_factory=list)  # text received so far of the current block
    _writer: ReplyWriter | None = None
    _message: Json = field(default_factory=dict)
    _request_id: str = ""
    _error: ApiError | None = None
    _reply: ApiReply | None = None

    def build_request(self) -> MessagesRequest:
        """Build the next request. Messages that break a rule of the API are repaired and reported."""
        choice, messages = self.conversation.begin_request()
        model, is_long = without_suffix(choice)
        messages, repairs = repair_messages(self.shown(messages))
        for repair in repairs:
            self._notify(f"The request broke a rule of the API and was repaired: {repair}", "warning")
        if messages and (context := self.deps.context()):
            first = messages[0]
            messages = [{**first, "content": [*blocks_of(context), *first["content"]]}, *messages[1:]]
        is_long = is_long or self.conversation.window > model_of(model).window
        return self._request(model, messages, is_long, self.deps.fallback)

    def _request(self, model: str, messages: list[Json], is_long: bool, fallback: str = "") -> MessagesRequest:
        """Build the request to one model, with the limits, the thinking and the effort that are its own."""
        max_tokens = min(self._output_of(model), self.max_output)
        fields = reasoning_fields(model, max_tokens, self.conversation.reasoning)
        name, is_long_fallback = without_suffix(fallback)
        return MessagesRequest(
            model=model,
            messages=messages,
            max_tokens=max_tokens,
            system=self.deps.system,
            tools=[_tool_definition(tool) for tool in select_offered(self.deps.tools.values())],
            thinking=fields.thinking,
            temperature=fields.temperature,
            capabilities=[LONG_WINDOW, *fields.capabilities] if is_long else fields.capabilities,
            fallback=self._request(name, messages, is_long_fallback) if name not in ("", model) else None,
        )

    def _output_of(self, model: str) -> int:
        asked = self.deps.limits.output
        return min(asked, longest_output(model)) if asked else model_of(model).output

    def adopt_output_limit(self, error: ApiError) -> bool:
        """Return True if an error states the output limit of the model; later requests stay within it."""
        limit = _OUTPUT_LIMIT.search(str(error)) if error.status == 400 else None
        if limit is None or int(limit[1]) >= min(self._output_of(self.conversation.model), self.max_output):
            return False
        self.max_output = int(limit[1])
        return True

    async def stream_reply(self, stopped: asyncio.Event) -> ReceivedReply:
        """Request a reply. It ends early if the API fails or `stopped` is set.

        Complete blocks are kept either way. After an interrupt the text received so far is kept too, as Claude Code
        does; an unsigned thinking block or a call with incomplete input cannot be sent back and is dropped.
        """
        self._writer, self._message, self._error, self._reply = None, {}, None, None
        self._partial_text = []
        try:
            request = self.build_request()
        except ApiError as error:
            self.last = ReceivedReply(ApiReply({}), error=error)
            return self.last
        self.deps.emit(events.RequestStarted(agent=self.agent))
        started = time.monotonic()
        is_complete = None
        try:
            is_complete = await until_stopped(stopped, self._read(request))
        finally:
            self.api_seconds += time.monotonic() - started
            self.last = self._finish(is_stopped=is_complete is None)
        return self.last

    async def _read(self, request: MessagesRequest) -> bool:
        try:
            async with self.deps.client.stream(request, "block") as stream:
                async for stream_event in stream:
                    self._handle(stream_event)
        except ApiError as error:
            self._error = error
        return True

    def _handle(self, stream_event: ClientEvent) -> None:
        match stream_event:
            case ReplyStarted(message, request_id):
                self.conversation.journal.release()
                self._message, self._request_id = message, request_id
                self._writer = ReplyWriter(self.conversation.journal, message, request_id)
                self._emit_stream({"type": "message_start", "message": message})
            case BlockDelta(_, raw):
                self._collect_text(raw)
                self._emit_stream(raw)
            case BlockComplete(index, block):
                self._complete_block(index, block)
            case ReplyFinished(reply):
                self._reply = reply
                end = {"stop_reason": reply.stop_reason, "stop_sequence": reply.data.get("stop_sequence")}
                self._emit_stream({"type": "message_delta", "delta": end, "usage": reply.usage})
                self._emit_stream({"type": "message_stop"})
            case Broken(_, so_far):
                self._reply = so_far
            case Retrying():
                self._record_retry(stream_event)
            case LeftOut(name, _):
                self._notify(f"The server does not support {name}; the request is repeated without it.", "warning")
            case Switched(model):
                self.conversation.choice = self.conversation.requested_model = model
                self._notify(f"The model is overloaded; using {model} instead.", "warning")

    def _complete_block(self, index: int, block: Json) -> None:
        self._partial_text = []
        if self._writer is not None:
            self._write_block(self._writer, block)
        self._emit_stream({"type": "content_block_stop", "index": index})

    def _write_block(self, writer: ReplyWriter, block: Json, is_aborted: bool = False) -> None:
        uuid = writer.take(block, is_aborted)
        message = {**self._message, "content": [block], "stop_reason": None}
        self.deps.emit(events.BlockCompleted(agent=self.agent, uuid=uuid, message=message, request_id=self._request_id))

    def _collect_text(self, raw: Json) -> None:
        match raw:
            case {"type": "content_block_start", "content_block": {"type": "text", "text": str(text)}}:
                self._partial_text = [text]
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                self._partial_text.append(text)

    def _record_retry(self, failed: Retrying) -> None:
        """Forget the failed attempt, of which nothing was written, and record the retry and its usage."""
        error, usage = failed.error, failed.so_far.usage
        self._writer, self._message, self._partial_text = None, {}, []
        self.deps.cost.add(self.conversation.charged_model(failed.so_far.model), usage)
        line = journal_lines.retry(str(error), error.status, failed.delay, failed.number, failed.of, usage)
        self.conversation.journal.add(line)
        retried = events.RequestRetried(
            agent=self.agent,
            number=failed.number,
            of=failed.of,
            delay=failed.delay,
            message=str(error),
            status=error.status,
        )
        self.deps.emit(retried)

    def _finish(self, is_stopped: bool) -> ReceivedReply:
        """Write the end of the reply and its usage."""
        # Without a complete reply (interrupt, lost connection) the start message is what is known: its usage has the
        # input tokens, which were charged.
        partial = ApiReply({**self._message, "stop_reason": None})
        reply = self._reply or partial
        writer = self._writer
        if writer is not None and reply.stop_reason is not None and not writer.lines:
            writer.take({"type": "text", "text": NO_CONTENT})  # an empty reply was charged but cannot be sent back
        if writer is not None and is_stopped and (text := "".join(self._partial_text)).strip():
            self._write_block(writer, {"type": "text", "text": text}, is_aborted=True)
        if writer is not None:
            writer.finish(reply)
        self.deps.cost.add(self.conversation.charged_model(reply.model), reply.usage)
        lines = tuple(writer.lines) if writer is not None else ()
        self.conversation.reply([block for _, block in lines], reply.usage)
        if reply.id:
            self.deps.emit(
                events.ReplyCompleted(
                    agent=self.agent,
                    message_id=reply.id,
                    model=reply.model,
                    stop_reason=reply.stop_reason,
                    usage=reply.usage,
                )
            )
        return ReceivedReply(reply, lines, self._error, is_stopped)

    def _emit_stream(self, raw: Json) -> None:
        self.deps.emit(events.StreamEvent(agent=self.agent, event=raw))

    def _notify(self, text: str, level: Any) -> None:
        self.deps.emit(events.Notice(agent=self.agent, text=text, level=level))


def _tool_definition(tool: Tool) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
