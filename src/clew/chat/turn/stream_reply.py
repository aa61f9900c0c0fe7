"""One reply: a request is made of the conversation, sent, and what comes back is written down as it comes."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.api.client import Broken, ClientEvent, LeftOut, Retrying, Switched
from clew.api.request_body import Capability, MessagesRequest
from clew.api.stream_assembly import ApiReply, BlockComplete, BlockDelta, ReplyFinished, ReplyStarted
from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.store import journal_lines
from clew.chat.store.journal import Replying
from clew.chat.store.live_conversation import NO_CONTENT, LiveConversation, PendingCall, blocks_of
from clew.chat.tools.tool import Tool
from clew.chat.tools.toolbox import offered
from clew.chat.turn.repair_messages import mended
from clew.chat.turn.until_stopped import unless
from clew.errors import ApiError
from clew.models import model_of, without_suffix
from clew.wire.json_codec import Json

LONG_WINDOW = Capability("the long window", "context-1m-2025-08-07")
_MOST_OUTPUT = re.compile(r"max_tokens: \d+ > (\d+)")

Shown = Callable[[list[Json]], list[Json]]


class Received(Struct, frozen=True):
    """What came of a request: the blocks with their lines, and the error or the person that ended it too early."""

    reply: ApiReply
    lines: tuple[tuple[str, Json], ...] = ()
    error: ApiError | None = None
    is_stopped: bool = False

    @property
    def calls(self) -> list[PendingCall]:
        found = []
        last = len(self.lines) - 1
        for index, (line, block) in enumerate(self.lines):
            if block.get("type") == "tool_use":
                given = block.get("input")
                cut = self.reply.stop_reason == "max_tokens" and index == last
                unparsed = self.reply.unparsed.get(index, "")
                call = PendingCall(str(block["id"]), str(block["name"]), given if isinstance(given, dict) else {}, line)
                found.append(replace(call, unparsed=unparsed, is_cut=cut))
        return found


class Asking(Struct):
    """Asks for one reply."""

    dialogue: LiveConversation
    means: Deps
    agent: str = ""
    shown: Shown = list  # what is sent of the messages: old results may be left out
    api_seconds: float = 0.0
    most_output: int = 1 << 30  # tokens that the model was found to allow
    last: Received = field(default_factory=lambda: Received(ApiReply({})))
    _partial_text: list[str] = field(default_factory=list)  # of the text block that is being streamed
    _writing: Replying | None = None
    _begun: Json = field(default_factory=dict)
    _error: ApiError | None = None
    _reply: ApiReply | None = None

    def request(self) -> MessagesRequest:
        """The next request: mended if that is needed, which is told and never sent broken."""
        asked, messages = self.dialogue.begin_request()
        model, is_long = without_suffix(asked)
        messages, found = mended(self.shown(messages))
        for sentence in found:
            self._tell_note(f"The request broke a rule of the API and was mended: {sentence}", "warning")
        if messages and (context := self.means.context()):
            first = messages[0]
            messages = [{**first, "content": [*blocks_of(context), *first["content"]]}, *messages[1:]]
        return MessagesRequest(
            model=model,
            messages=messages,
            max_tokens=min(self._output, self.most_output),
            system=self.means.system,
            tools=[_told(tool) for tool in offered(self.means.tools.values())],
            thinking=self.means.thinking,
            capabilities=[LONG_WINDOW] if is_long or self.dialogue.window > model_of(model).window else (),
            fallback=self.means.fallback,
        )

    @property
    def _output(self) -> int:
        return self.means.limits.output or model_of(self.dialogue.model).output

    def learns_from(self, error: ApiError) -> bool:
        """Whether an error tells how long a reply may be; from now on it is."""
        found = _MOST_OUTPUT.search(str(error)) if error.status == 400 else None
        if found is None or int(found[1]) >= min(self._output, self.most_output):
            return False
        self.most_output = int(found[1])
        return True

    async def ask(self, stopped: asyncio.Event) -> Received:
        """Ask for a reply. It ends early if the API fails or `stopped` is set.

        Complete blocks are kept either way. After a stop the text received so far is kept too, as Claude Code does;
        a thought without its signature or a call without its whole input cannot be sent back and is dropped.
        """
        self._writing, self._begun, self._error, self._reply = None, {}, None, None
        self._partial_text = []
        try:
            request = self.request()
        except ApiError as error:
            self.last = Received(ApiReply({}), error=error)
            return self.last
        began = time.monotonic()
        is_heard = None
        try:
            is_heard = await unless(stopped, self._read(request))
        finally:
            self.api_seconds += time.monotonic() - began
            self.last = self._received(is_stopped=is_heard is None)
        return self.last

    async def _read(self, request: MessagesRequest) -> bool:
        try:
            async with self.means.client.stream(request, "block") as happenings:
                async for each in happenings:
                    self._take(each)
        except ApiError as error:
            self._error = error
        return True

    def _take(self, each: ClientEvent) -> None:
        match each:
            case ReplyStarted(message, request_id):
                self.dialogue.journal.release()
                self._begun = message
                self._writing = Replying(self.dialogue.journal, message, request_id)
                self._tell_stream({"type": "message_start", "message": message})
            case BlockDelta(_, raw):
                self._collect_text(raw)
                self._tell_stream(raw)
            case BlockComplete(index, block):
                self._block(index, block)
            case ReplyFinished(reply):
                self._reply = reply
                end = {"stop_reason": reply.stop_reason, "stop_sequence": reply.data.get("stop_sequence")}
                self._tell_stream({"type": "message_delta", "delta": end, "usage": reply.usage})
                self._tell_stream({"type": "message_stop"})
            case Broken(_, so_far):
                self._reply = so_far
            case Retrying():
                self._retry(each)
            case LeftOut(name, _):
                self._tell_note(f"The server does not take {name}; it is asked without.", "warning")
            case Switched(model):
                self.dialogue.choice = self.dialogue.asked = model
                self._tell_note(f"The model stayed overloaded; {model} is asked instead.", "warning")

    def _block(self, index: int, block: Json) -> None:
        self._partial_text = []
        self._write_block(block)
        self._tell_stream({"type": "content_block_stop", "index": index})

    def _write_block(self, block: Json, is_aborted: bool = False) -> None:
        assert self._writing is not None
        uuid = self._writing.take(block, is_aborted)
        message = {**self._begun, "content": [block], "stop_reason": None}
        self.means.tell(events.BlockSaid(agent=self.agent, uuid=uuid, message=message))

    def _collect_text(self, raw: Json) -> None:
        match raw:
            case {"type": "content_block_start", "content_block": {"type": "text", "text": str(text)}}:
                self._partial_text = [text]
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                self._partial_text.append(text)

    def _retry(self, failed: Retrying) -> None:
        """Nothing of the failed try was written; what it was charged is."""
        error, usage = failed.error, failed.so_far.usage
        self._writing, self._begun, self._partial_text = None, {}, []
        self.means.tally.add(failed.so_far.model or self.dialogue.asked, usage)
        line = journal_lines.retry(str(error), error.status, failed.delay, failed.number, failed.of, usage)
        self.dialogue.journal.add(line)
        told = events.Retried(
            agent=self.agent,
            number=failed.number,
            of=failed.of,
            delay=failed.delay,
            message=str(error),
            status=error.status,
        )
        self.means.tell(told)

    def _received(self, is_stopped: bool) -> Received:
        """Write down the end of the reply, and what it took."""
        partial = ApiReply({**self._begun, "stop_reason": None})
        reply = self._reply or partial
        writing = self._writing
        if writing is not None and reply.stop_reason is not None and not writing.lines:
            writing.take(
                {"type": "text", "text": NO_CONTENT}
            )  # an empty reply cannot be sent back, but it was paid for
        if writing is not None and is_stopped and (text := "".join(self._partial_text)).strip():
            self._write_block({"type": "text", "text": text}, is_aborted=True)
        if writing is not None:
            writing.finish(reply)
        self.means.tally.add(reply.model or self.dialogue.asked, reply.usage)
        lines = tuple(writing.lines) if writing is not None else ()
        self.dialogue.reply([block for _, block in lines], reply.usage)
        if reply.id:
            self.means.tell(
                events.Replied(
                    agent=self.agent,
                    message_id=reply.id,
                    model=reply.model,
                    stop_reason=reply.stop_reason,
                    usage=reply.usage,
                )
            )
        return Received(reply, lines, self._error, is_stopped)

    def _tell_stream(self, raw: Json) -> None:
        self.means.tell(events.Streamed(agent=self.agent, event=raw))

    def _tell_note(self, text: str, level: Any) -> None:
        self.means.tell(events.Noted(agent=self.agent, text=text, level=level))


def _told(tool: Tool) -> Json:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
