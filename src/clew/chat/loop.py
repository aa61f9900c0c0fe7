"""Run one turn: a prompt and all replies and tool calls that follow, until the model is done.

What follows a reply depends on its `stop_reason`:

    tool calls               run them and request the next reply, whatever the reason
    end_turn, stop_sequence  run the Stop hooks, then end the turn
    max_tokens               ask the model to continue, at most three times in a row
    pause_turn               request the next reply
    refusal                  end the turn with an error
    empty reply              ask once more
    window exceeded          compact the conversation, once
    unknown                  end the turn with an error
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from clew.api.retry import TOO_LONG
from clew.api.token_estimate import estimate_tokens
from clew.chat import events
from clew.chat.config.system_prompt import system_reminder
from clew.chat.cost import ConversationCost
from clew.chat.deps import Deps
from clew.chat.events import Ending
from clew.chat.store import journal_lines
from clew.chat.store.live_conversation import LiveConversation, blocks_of
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.tool import RunAgent
from clew.chat.turn.compaction import Compactor
from clew.chat.turn.loop_guard import LoopGuard
from clew.chat.turn.prompt_hooks import PromptVerdict, run_prompt_hooks
from clew.chat.turn.stop_hooks import run_stop_hooks
from clew.chat.turn.stream_reply import ReceivedReply, ReplyStreamer
from clew.chat.turn.tool_calls import INTERRUPTED_CALL, CallRunner
from clew.chat.turn.turn_limits import TurnLimits
from clew.errors import ApiError
from clew.system.environment import positive_number
from clew.system.plural import plural
from clew.wire.json_codec import Json

CONTINUE_CUT_REPLY = (
    "The reply was cut at the limit of its length. Go on exactly where it ended, without repeating any of it."
)
CONTINUE_LOST_REPLY = "The connection was lost in the middle of the reply above. Go on from what was received of it."
RETRY_EMPTY_REPLY = "The reply was empty. Continue with the task, or say what is missing."
REPEATED_CALL = "The same call was made many times with the same result. Do something else, or say what is in the way."
NOT_RUN = "The connection was lost before the reply was complete, so this call was not run."
MAX_CUTS = 3
MAX_LOST_REPLIES = 2
STOP_HOOK_BLOCKS = 9  # in a row, unless the user sets another limit
_TRANSIENT = ("connection", "idle", "timeout", "protocol", "overloaded_error", "api_error")


@dataclass
class Loop:
    """Runs the turns of one conversation."""

    conversation: LiveConversation
    deps: Deps
    stopped: asyncio.Event
    compactor: Compactor
    streamer: ReplyStreamer
    send: RunAgent | None = None
    agent: str = ""
    aside: asyncio.Event | None = None
    # A subagent ends only after the subagents that it started.
    wait_for_subagents: Callable[[asyncio.Event], Awaitable[bool]] | None = None
    _runner: CallRunner = field(init=False)
    _guard: LoopGuard = field(init=False)
    _replies: int = field(init=False, default=0)
    _turns: int = field(init=False, default=0)
    _usage: ConversationCost = field(init=False)
    _text: str = field(init=False, default="")
    _cuts: int = field(init=False, default=0)
    _lost_replies: int = field(init=False, default=0)
    _has_compacted: bool = field(init=False, default=False)
    _was_empty: bool = field(init=False, default=False)
    _end_reason: Literal["", "hook_stopped", "stop_hook_prevented"] = field(init=False, default="")
    _assumed_models: set[str] = field(
        init=False, default_factory=set
    )  # those without a price that the user was told of

    def __post_init__(self) -> None:
        self._limits = TurnLimits(self.conversation, self.deps, self.agent)

    @property
    def last_text(self) -> str:
        """The text of the newest reply that has any."""
        return self._text

    async def run(self, prompt: UserPrompt, before: Sequence[UserPrompt] = ()) -> events.TurnFinished:
        """Run a turn, then the turns of the prompts that were queued meanwhile. If cancelled, every call still gets
        a result.

        `before` are reports of background tasks that ended since the last turn; the model gets them first.
        """
        started = self.deps.stopwatch()
        self._runner = CallRunner(self.conversation, self.deps, self.stopped, self.send, self.agent, self.aside)
        self._guard, self._text, self._cuts, self._lost_replies = LoopGuard(), "", 0, 0
        self._replies, self._turns, self._usage = 0, 1, ConversationCost(self.deps.cost.prices)
        self._has_compacted = self._was_empty = False
        self._end_reason = ""
        self._limits.begin()
        self.streamer.api_seconds = 0.0
        try:
            await self._make_room(prompt)
            return await self._turn(prompt, before, started)
        finally:
            self.conversation.journal.release()

    async def _turn(self, prompt: UserPrompt, before: Sequence[UserPrompt], started: float) -> events.TurnFinished:
        for report in before:
            await self._record_prompt(report)
        if refusal := await self._record_prompt(prompt):
            self._begin()
            self._turns, self._text = 0, refusal
            return self._finish("success", started)
        try:
            self._begin()
            received, ending, errors = await self._run_rounds()
            while ending == "success" and not errors and await self._has_more():
                prompt = self.conversation.queue.take()
                if not await self._record_prompt(prompt, is_queued=True):
                    self._begin()
                    received, ending, errors = await self._run_rounds()
        except asyncio.CancelledError:
            self._abandon()
            raise
        self.conversation.end_turn(round((self.deps.stopwatch() - started) * 1000))
        return self._finish(ending, started, received, errors)

    def report(self, text: str, errors: tuple[str, ...] = ()) -> events.TurnFinished:
        """Report the end of something that is not a turn, such as a command."""
        self._runner = CallRunner(self.conversation, self.deps, self.stopped)
        self._turns, self._text, self.streamer.api_seconds = 0, text, 0.0
        self._usage = ConversationCost(self.deps.cost.prices)
        return self._finish("success", self.deps.stopwatch(), errors=errors)

    async def _make_room(self, prompt: UserPrompt) -> None:
        """Compact if the prompt would not fit. The compaction is written together with the reply, not before."""
        # A process that is killed between the compaction and the reply must not leave a session whose prompt is lost,
        # so the lines are held until the reply starts. Nothing was compacted if the leaf is unchanged.
        journal = self.conversation.journal
        journal.hold()
        leaf = journal.leaf
        await self.compactor.make_room(estimate_tokens([{"role": "user", "content": blocks_of(prompt.content)}]))
        if journal.leaf == leaf:
            journal.release()

    async def _record_prompt(self, prompt: UserPrompt, is_queued: bool = False) -> str:
        """Record a prompt, unless a hook refuses it; return the refusal or "". Task reports do not run hooks."""
        if prompt.task:
            uuid = self.conversation.prompt(prompt)
            self.deps.emit(events.TaskReported(agent=self.agent, uuid=uuid, task_id=prompt.task, text=prompt.text))
            return ""
        is_main = self.conversation.parent is None
        verdict = await run_prompt_hooks(prompt, self._runner) if is_main else PromptVerdict()
        if verdict.refusal:
            self.deps.emit(events.Notice(text=verdict.refusal, level="warning", hook="UserPromptSubmit"))
            return verdict.refusal
        uuid = self.conversation.prompt(prompt)
        if verdict.title:
            self.conversation.journal.beside(journal_lines.title(verdict.title, self.conversation.session_id))
        self._tell(verdict.context)
        self.deps.emit(events.PromptRecorded(agent=self.agent, uuid=uuid, content=prompt.content, is_queued=is_queued))
        return ""

    async def _has_more(self) -> bool:
        """Return whether another prompt follows the turn; a subagent first waits for the subagents that it started."""
        while not self.conversation.queue.has_prompts():
            if (
                self.wait_for_subagents is None
                or self.stopped.is_set()
                or not await self.wait_for_subagents(self.stopped)
            ):
                return False
        return True

    def _begin(self) -> None:
        self.deps.emit(
            events.TurnStarted(
                agent=self.agent,
                session_id=self.conversation.session_id,
                cwd=str(self.conversation.state.cwd),
                model=self.conversation.model,
                mode=self.conversation.mode,
                tools=tuple(self.deps.tools),
            )
        )

    async def _run_rounds(self) -> tuple[ReceivedReply | None, Ending, tuple[str, ...]]:
        """Request replies and run calls until the turn is over. Return the last reply, the ending and the errors."""
        blocks = 0  # how often hooks did not let the turn end
        if (ended := self._limits.end_at_budget()) is not None:
            return None, *ended
        while True:
            await self.compactor.make_room()
            self._tell((*self.conversation.take_hook_context(), *self.deps.hooks.take_late()))
            received = await self.streamer.stream_reply(self.stopped)
            self._replies += bool(received.reply.id)
            self._usage.add(received.reply.model or self.conversation.requested_model, received.reply.usage)
            self._text = _reply_text(received) or self._text
            if received.is_stopped:
                return self._interrupt(received)
            if received.error is not None:
                if await self._recover(received, received.error):
                    continue
                payload: Json = {"error": received.error.kind, "last_assistant_message": self._text}
                await self._runner.run_hooks("StopFailure", None, payload)
                return self._fail(received, received.error)
            if calls := received.calls:
                ended = await self._run_calls(received)
                if self.stopped.is_set():
                    self.conversation.interrupt(in_tool=True)
                    return received, "error_during_execution", ()
                if ended is not None:
                    return received, *ended
                self._cuts = self._cuts + 1 if calls[-1].is_cut else 0
                if self._cuts > MAX_CUTS:
                    return received, "success", ("The reply was cut at the limit of its length, again and again.",)
                continue
            if (problem := await self._check_stop_reason(received)) is not None:
                if problem:
                    return received, "success", (problem,)
                continue
            if self.deps.output is not None:
                if (ended := self._limits.require_output()) is not None:
                    return received, *ended
                continue
            if (ended := self._limits.end_at_budget()) is not None:
                return received, *ended
            verdict = await run_stop_hooks(self._runner, self._text, blocks > 0)
            if not verdict.reason:
                self._end_reason = "stop_hook_prevented" if verdict.is_final else ""
                return received, "success", ()
            blocks += 1
            self._turns += 1
            text = f"Stop hook feedback:\n{verdict.reason}"
            uuid = self.conversation.note(system_reminder(text))
            self.deps.emit(events.StopBlocked(agent=self.agent, uuid=uuid, text=text))
            if blocks >= (positive_number("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP") or STOP_HOOK_BLOCKS):
                warning = f"A hook did not let the turn end {blocks} times in a row, so it ends now."
                self.deps.emit(events.Notice(agent=self.agent, text=warning, level="warning", hook="Stop"))
                return received, "success", ()

    # -- between two requests

    async def _run_calls(self, received: ReceivedReply) -> tuple[Ending, tuple[str, ...]] | None:
        """Run the calls of a reply; return how the turn ends if it does."""
        calls = received.calls
        results = await self._runner.run(calls)
        self._turns += len(results)
        self.conversation.update_cwd()
        for result in results.values():
            self.conversation.records.add(result, self.conversation.journal, self.conversation.state.todos)
        if self.stopped.is_set():
            return None
        if reason := self._runner.end_reason:
            self._end_reason = "hook_stopped"
            self.deps.emit(events.Notice(agent=self.agent, text=f"A hook ended the turn: {reason}", level="warning"))
            return "success", ()
        if (ended := self._limits.end_with_output()) is not None:
            self._text = self._limits.output_text or self._text
            return ended
        if self._guard.detects_loop(calls, results):
            if self._guard.warnings > 1:
                return "error_during_execution", ("The model makes the same call again and again.",)
            self._remind(REPEATED_CALL)
        limits = self.deps.limits
        if limits.turns is not None and self._replies >= limits.turns:
            self._turns = limits.turns + 1  # as Claude Code counts here, however many calls there were
            return "error_max_turns", (f"Reached the limit of {plural(limits.turns, 'turn')}.",)
        if (ended := self._limits.end_at_budget()) is not None:
            return ended
        while self.conversation.queue.has_prompts():
            await self._record_prompt(self.conversation.queue.take(), is_queued=True)
        return None

    async def _check_stop_reason(self, received: ReceivedReply) -> str | None:
        """Return None if the model is done, "" to request another reply, or an error that ends the turn."""
        reason = received.reply.stop_reason
        if reason == "max_tokens":
            self._cuts += 1
            if self._cuts > MAX_CUTS:
                return "The reply was cut at the limit of its length, again and again."
            self._remind(CONTINUE_CUT_REPLY)
            return ""
        if reason == "pause_turn":
            return ""
        if reason == "refusal":
            return "The model refused to answer."
        if reason == "model_context_window_exceeded":
            return "" if await self._compact_once() else "The conversation is too long for the model."
        if not received.reply.content and not self._was_empty:
            self._was_empty = True
            self._remind(RETRY_EMPTY_REPLY)
            return ""
        if reason not in ("end_turn", "stop_sequence", "tool_use"):
            return f"The model stopped for a reason that is not known: {reason}."
        return None

    def _tell(self, texts: Sequence[str]) -> None:
        """Add texts of hooks for the model."""
        for text in texts:
            self.conversation.note(system_reminder(f"A hook says: {text}"))

    def _remind(self, text: str) -> None:
        """Add a text of the program for the model."""
        self._turns += 1
        self.conversation.note(system_reminder(text))

    # -- errors and interrupts

    async def _compact_once(self) -> bool:
        if self._has_compacted:
            return False
        self._has_compacted = True
        return await self.compactor.compact("auto")

    async def _recover(self, received: ReceivedReply, error: ApiError) -> bool:
        """Return whether the request can be repeated after an error: compacted, shorter, or after the received part."""
        if error.kind == TOO_LONG and not received.lines:
            return await self._compact_once()
        if self.streamer.adopt_output_limit(error):
            return True
        if not received.lines or error.kind not in _TRANSIENT or self._lost_replies >= MAX_LOST_REPLIES:
            return False
        self._lost_replies += 1
        self._runner.refuse(received.calls, NOT_RUN)
        self._remind(CONTINUE_LOST_REPLY)
        return True

    def _fail(self, received: ReceivedReply, error: ApiError) -> tuple[ReceivedReply, Ending, tuple[str, ...]]:
        self._runner.refuse(received.calls, NOT_RUN)
        journal = self.conversation.journal
        journal.add(
            journal_lines.api_error(f"API Error: {error}", journal.new_id(), error.kind, error.status), is_safe=True
        )
        return received, "error_during_execution", (f"{error} {error.hint}".strip(),)

    def _interrupt(self, received: ReceivedReply) -> tuple[ReceivedReply, Ending, tuple[str, ...]]:
        self._runner.refuse(received.calls, INTERRUPTED_CALL)
        self.conversation.interrupt(in_tool=bool(received.calls))
        return received, "error_during_execution", ()

    def _abandon(self) -> None:
        """Leave a complete session when the caller is cancelled."""
        last = self.conversation.messages[-1] if self.conversation.messages else {}
        if last.get("role") == "assistant" and self.streamer.last.calls:
            self._runner.refuse(self.streamer.last.calls, INTERRUPTED_CALL)
        self.conversation.interrupt(in_tool=bool(self.streamer.last.calls))

    def _finish(
        self, ending: Ending, started: float, received: ReceivedReply | None = None, errors: tuple[str, ...] = ()
    ) -> events.TurnFinished:
        cost = self.deps.cost
        error = received.error if received else None
        finished = events.TurnFinished(
            agent=self.agent,
            ending=ending,
            text=self._text,
            turns=self._turns,
            milliseconds=round((self.deps.stopwatch() - started) * 1000),
            api_milliseconds=round(self.streamer.api_seconds * 1000),
            usage=cost.usage,
            turn_usage=self._usage.usage,
            models=cost.by_model,
            cost=cost.dollars if cost.is_priced else None,
            stop_reason=received.reply.stop_reason if received else None,
            denials=tuple(self._runner.denials),
            errors=errors,
            status=error.status if error else None,
            is_interrupted=self.stopped.is_set(),
            structured_output=self.deps.output.answer if self.deps.output else None,
            end_reason=self._end_reason,
        )
        self.deps.emit(finished)
        return finished


def _reply_text(received: ReceivedReply) -> str:
    return "".join(str(b.get("text", "")) for _, b in received.lines if b.get("type") == "text")
