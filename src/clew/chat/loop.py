"""The loop: a prompt, and all replies and calls that come of it, until the model has nothing more to do.

stop_reason            what follows
calls                  they are run, and the model is asked again, whatever the reason says
end_turn, stop_sequence  the Stop hooks; then the turn is over
max_tokens             the model is asked to go on, three times in a row at most
pause_turn             it is asked again as it is
refusal                the turn is over, and it is said
nothing said           it is asked once more
window exceeded        the conversation is compacted, once
unknown                the turn is over, and it is said
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from clew.api.retry import TOO_LONG
from clew.api.token_estimate import estimate_tokens
from clew.chat import events
from clew.chat.deps import Deps
from clew.chat.events import Ending
from clew.chat.hooks.hook_events import reminder
from clew.chat.store import journal_lines
from clew.chat.store.live_conversation import LiveConversation, UserPrompt, blocks_of
from clew.chat.tools.tool import Errand
from clew.chat.turn.compaction import Compactor
from clew.chat.turn.loop_guard import LoopGuard
from clew.chat.turn.stream_reply import Asking, Received
from clew.chat.turn.tool_calls import STOPPED, Runner
from clew.system.plural import plural
from clew.wire.json_codec import Json

GO_ON = "The reply was cut at the limit of its length. Go on exactly where it ended, without repeating any of it."
BROKEN_OFF = "The connection was lost in the middle of the reply above. Go on from what was received of it."
NOTHING = "The reply was empty. Go on with what was asked, or say what is missing."
AGAIN = "The same call was made many times with the same result. Do something else, or say what is in the way."
NOT_RUN = "The connection was lost before the reply was complete, so this call was not run."
MOST_CUTS = 3
MOST_BREAKS = 2
_TRANSIENT = ("connection", "idle", "timeout", "protocol", "overloaded_error", "api_error")


@dataclass
class Loop:
    """Turns of one conversation."""

    dialogue: LiveConversation
    means: Deps
    stopped: asyncio.Event
    compactor: Compactor
    asking: Asking
    send: Errand | None = None
    agent: str = ""
    aside: asyncio.Event | None = None
    linger: Callable[[asyncio.Event], Awaitable[bool]] | None = None  # an agent ends only when those that it sent have
    _runner: Runner = field(init=False)
    _guard: LoopGuard = field(init=False)
    _turns: int = field(init=False, default=0)
    _said: str = field(init=False, default="")
    _cuts: int = field(init=False, default=0)
    _breaks: int = field(init=False, default=0)
    _has_compacted: bool = field(init=False, default=False)
    _was_empty: bool = field(init=False, default=False)

    @property
    def said(self) -> str:
        """The model's last words."""
        return self._said

    async def run(self, said: UserPrompt, before: Sequence[UserPrompt] = ()) -> events.TurnFinished:
        """One turn, and those of the prompts that came while it was busy. Cancelling leaves every call with a result.

        `before` is what ended in the background since the last turn: the model hears it first.
        """
        began = self.means.stopwatch()
        self._runner = Runner(self.dialogue, self.means, self.stopped, self.send, self.agent, self.aside)
        self._guard, self._turns, self._said, self._cuts, self._breaks = LoopGuard(), 0, "", 0, 0
        self._has_compacted = self._was_empty = False
        self.asking.api_seconds = 0.0
        try:
            await self._make_room(said)
            return await self._turn(said, before, began)
        finally:
            self.dialogue.journal.release()

    async def _turn(self, said: UserPrompt, before: Sequence[UserPrompt], began: float) -> events.TurnFinished:
        for ended in before:
            await self._hear(ended)
        if refusal := await self._hear(said):
            return self._finished("success", began, errors=(refusal,))
        try:
            self._begin()
            received, ending, errors = await self._rounds()
            while ending == "success" and not errors and await self._has_more():
                said = self.dialogue.dequeue()
                if not await self._hear(said, is_queued=True):
                    self._begin()
                    received, ending, errors = await self._rounds()
        except asyncio.CancelledError:
            self._abandon()
            raise
        self.dialogue.end_turn(round((self.means.stopwatch() - began) * 1000))
        return self._finished(ending, began, received, errors)

    def report(self, text: str, errors: tuple[str, ...] = ()) -> events.TurnFinished:
        """How something ended that was no turn."""
        self._runner = Runner(self.dialogue, self.means, self.stopped)
        self._turns, self._said, self.asking.api_seconds = 0, text, 0.0
        return self._finished("success", self.means.stopwatch(), errors=errors)

    async def _make_room(self, said: UserPrompt) -> None:
        """Compact if the prompt would not fit. That is written together with the answer, and not before."""
        journal = self.dialogue.journal
        journal.hold()
        leaf = journal.leaf
        await self.compactor.make_room(estimate_tokens([{"role": "user", "content": blocks_of(said.content)}]))
        if journal.leaf == leaf:
            journal.release()

    async def _hear(self, said: UserPrompt, is_queued: bool = False) -> str:
        """Write a prompt down, unless a hook refuses it: then why. Hooks have no say in what the program tells."""
        if said.task:
            uuid = self.dialogue.prompt(said)
            self.means.tell(events.Notified(agent=self.agent, uuid=uuid, task_id=said.task, text=said.text))
            return ""
        outcome = await self._runner.hook("UserPromptSubmit", None, {"prompt": said.text})
        if outcome.block or outcome.stop:
            refusal = f"A hook refused the prompt: {outcome.reason}"
            self.means.tell(events.Noted(agent=self.agent, text=refusal, level="warning"))
            return refusal
        uuid = self.dialogue.prompt(said)
        for text in outcome.context:
            self.dialogue.note(reminder(f"A hook says: {text}"))
        self.means.tell(events.Prompted(agent=self.agent, uuid=uuid, content=said.content, is_queued=is_queued))
        return ""

    async def _has_more(self) -> bool:
        """Whether something is to be said behind the turn; an agent waits for the agents that it sent."""
        while not self.dialogue.something_waits():
            if self.linger is None or self.stopped.is_set() or not await self.linger(self.stopped):
                return False
        return True

    def _begin(self) -> None:
        self.means.tell(
            events.Begun(
                agent=self.agent,
                session_id=self.dialogue.session_id,
                cwd=str(self.dialogue.state.cwd),
                model=self.dialogue.model,
                mode=self.dialogue.mode,
                tools=tuple(self.means.tools),
            )
        )

    async def _rounds(self) -> tuple[Received | None, Ending, tuple[str, ...]]:
        """Replies and calls until the turn is over: the last reply, how it ended, what went wrong."""
        is_hooked = False
        while True:
            await self.compactor.make_room()
            received = await self.asking.ask(self.stopped)
            self._turns += bool(received.reply.id)
            self._said = _text(received) or self._said
            if received.is_stopped:
                return self._interrupted(received)
            if received.error is not None:
                if await self._recovers(received):
                    continue
                return self._failed(received)
            if calls := received.calls:
                ended = await self._run_calls(received)
                if self.stopped.is_set():
                    self.dialogue.interrupt(in_tool=True)
                    return received, "error_during_execution", ()
                if ended is not None:
                    return received, *ended
                self._cuts = self._cuts + 1 if calls[-1].is_cut else 0
                if self._cuts > MOST_CUTS:
                    return received, "success", ("The reply was cut at the limit of its length, again and again.",)
                continue
            if (told := await self._goes_on(received)) is not None:
                if told:
                    return received, "success", (told,)
                continue
            reason = await self._stop_hooks(is_hooked)
            if not reason:
                return received, "success", ()
            is_hooked = True
            self.dialogue.note(reminder(f"Before you may stop, a hook says: {reason}"))

    # -- between a reply and the next request

    async def _run_calls(self, received: Received) -> tuple[Ending, tuple[str, ...]] | None:
        """Run the calls; how the turn ends, if it does."""
        calls = received.calls
        results = await self._runner.run(calls)
        self.dialogue.follow()
        for found in results.values():
            self.dialogue.link(found)
            self.dialogue.keep_list(found)
        if self.stopped.is_set():
            return None
        if self._runner.ends_turn:
            return "success", (self._runner.ends_turn,)
        if self._guard.sees_loop(calls, results):
            if self._guard.warnings > 1:
                return "error_during_execution", ("The model makes the same call again and again.",)
            self.dialogue.note(reminder(AGAIN))
        limits = self.means.limits
        if limits.turns is not None and self._turns >= limits.turns:
            return "error_max_turns", (f"Reached the limit of {plural(limits.turns, 'turn')}.",)
        if limits.dollars is not None and self.means.tally.dollars >= limits.dollars:
            return "error_max_budget_usd", (f"Reached the budget of ${limits.dollars:g}.",)
        while self.dialogue.something_waits():
            await self._hear(self.dialogue.dequeue(), is_queued=True)
        return None

    async def _goes_on(self, received: Received) -> str | None:
        """None if the model is done; else "" if it is to be asked again, or a sentence that ends the turn."""
        reason = received.reply.stop_reason
        if reason == "max_tokens":
            self._cuts += 1
            if self._cuts > MOST_CUTS:
                return "The reply was cut at the limit of its length, again and again."
            self.dialogue.note(reminder(GO_ON))
            return ""
        if reason == "pause_turn":
            return ""
        if reason == "refusal":
            return "The model refused to answer."
        if reason == "model_context_window_exceeded":
            return "" if await self._compact_once() else "The conversation is too long for the model."
        if not received.reply.content and not self._was_empty:
            self._was_empty = True
            self.dialogue.note(reminder(NOTHING))
            return ""
        if reason not in ("end_turn", "stop_sequence", "tool_use"):
            return f"The model stopped for a reason that is not known: {reason}."
        return None

    async def _stop_hooks(self, is_hooked: bool) -> str:
        """What the model has to do before it may stop; empty if nothing."""
        payload: Json = {"stop_hook_active": is_hooked, "last_assistant_message": self._said}
        name = "Stop"
        if agent_id := self.dialogue.journal.envelope.agent_id:
            name = "SubagentStop"
            path = str(self.dialogue.journal.path)
            payload |= {"agent_id": agent_id, "agent_type": self.dialogue.kind, "agent_transcript_path": path}
        outcome = await self._runner.hook(name, None, payload)
        return outcome.reason if outcome.block and not outcome.stop else ""

    # -- when it goes wrong

    async def _compact_once(self) -> bool:
        if self._has_compacted:
            return False
        self._has_compacted = True
        return await self.compactor.compact("auto")

    async def _recovers(self, received: Received) -> bool:
        """Whether the model can be asked again after an error: made shorter, or behind what was received."""
        error = received.error
        assert error is not None
        if error.kind == TOO_LONG and not received.lines:
            return await self._compact_once()
        if self.asking.learns_from(error):
            return True
        if not received.lines or error.kind not in _TRANSIENT or self._breaks >= MOST_BREAKS:
            return False
        self._breaks += 1
        self._runner.refuse(received.calls, NOT_RUN)
        self.dialogue.note(reminder(BROKEN_OFF))
        return True

    def _failed(self, received: Received) -> tuple[Received, Ending, tuple[str, ...]]:
        error = received.error
        assert error is not None
        self._runner.refuse(received.calls, NOT_RUN)
        journal = self.dialogue.journal
        journal.add(
            journal_lines.api_error(f"API Error: {error}", journal.new_id(), error.kind, error.status), is_safe=True
        )
        return received, "error_during_execution", (f"{error} {error.hint}".strip(),)

    def _interrupted(self, received: Received) -> tuple[Received, Ending, tuple[str, ...]]:
        self._runner.refuse(received.calls, STOPPED)
        self.dialogue.interrupt(in_tool=bool(received.calls))
        return received, "error_during_execution", ()

    def _abandon(self) -> None:
        """Whoever waits for this turn has gone: leave it whole."""
        last = self.dialogue.messages[-1] if self.dialogue.messages else {}
        if last.get("role") == "assistant" and self.asking.last.calls:
            self._runner.refuse(self.asking.last.calls, STOPPED)
        self.dialogue.interrupt(in_tool=bool(self.asking.last.calls))

    def _finished(
        self, ending: Ending, began: float, received: Received | None = None, errors: tuple[str, ...] = ()
    ) -> events.TurnFinished:
        tally = self.means.tally
        error = received.error if received else None
        finished = events.TurnFinished(
            agent=self.agent,
            ending=ending,
            text=self._said,
            turns=self._turns,
            milliseconds=round((self.means.stopwatch() - began) * 1000),
            api_milliseconds=round(self.asking.api_seconds * 1000),
            usage=tally.usage,
            models=tally.by_model,
            cost=tally.dollars if tally.is_priced else None,
            stop_reason=received.reply.stop_reason if received else None,
            denials=tuple(self._runner.denials),
            errors=errors,
            status=error.status if error else None,
            is_interrupted=self.stopped.is_set(),
        )
        self.means.tell(finished)
        return finished


def _text(received: Received) -> str:
    return "".join(str(b.get("text", "")) for _, b in received.lines if b.get("type") == "text")
