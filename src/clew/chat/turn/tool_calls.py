"""Calls: from what the model asked for to what it is told. Every call gets exactly one result, whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from clew.chat import events
from clew.chat.agents.background_tasks import watch
from clew.chat.deps import Deps
from clew.chat.hooks.hook_events import reminder, tell_hooks
from clew.chat.hooks.runner import HookOutcome
from clew.chat.permission.decision import Decision
from clew.chat.store.live_conversation import LiveConversation, PendingCall, text_of
from clew.chat.tools.builtin.background import Background
from clew.chat.tools.builtin.plan_mode import written
from clew.chat.tools.input_schema import check, failure, unknown
from clew.chat.tools.tool import CallResult, Errand, Tool, ToolContext, ToolFailed
from clew.chat.turn.side_request import extract
from clew.conversation.agent_sessions import SUBAGENT_TOOLS
from clew.wire.json_codec import Json

DECLINED = "The user declined this call. It was not run, and nothing was changed by it."
UNGRANTED = "This call needs the user's permission, nobody is there to give it, and it was not run: {name}."
CUT_OFF = "The reply ended in the middle of this call, so it was not run. Say it again, shorter or in smaller parts."
STOPPED = "The user broke off before this call was run."
_REJECTED = "User rejected tool use"


class Runner(Struct):
    """Runs the calls of one conversation."""

    dialogue: LiveConversation
    means: Deps
    stopped: asyncio.Event
    send: Errand | None = None
    agent: str = ""
    aside: asyncio.Event | None = None  # set when what runs is to go on in the background
    denials: list[Json] = field(default_factory=list)
    ends_turn: str = ""  # why a hook wants the turn to end

    async def run(self, calls: Sequence[PendingCall]) -> dict[str, CallResult]:
        """The results by call, written down as they come. A call that nothing came of is told so, also on cancelling."""
        results: dict[str, CallResult] = {}
        try:
            for batch in self._batches(calls):
                if self.stopped.is_set() or self.ends_turn:
                    break
                await self._run_batch(batch, results)
        finally:
            for call in calls:
                if call.id not in results:
                    reason = f"Not run: {self.ends_turn}" if self.ends_turn else STOPPED
                    self._done(call, CallResult(reason, _REJECTED, is_error=True), results)
            self.dialogue.answer(calls, results)
        return results

    def refuse(self, calls: Sequence[PendingCall], text: str) -> None:
        """The same answer to all, without running any."""
        results: dict[str, CallResult] = {}
        for call in calls:
            self._done(call, CallResult(text, is_error=True), results)
        self.dialogue.answer(calls, results)

    def _batches(self, calls: Sequence[PendingCall]) -> list[list[PendingCall]]:
        """Calls in a row that change nothing, and agents, run side by side; any other alone, in its turn."""
        made: list[list[PendingCall]] = []
        was_shared = False
        for call in calls:
            is_shared = self._is_shared(call)
            if is_shared and was_shared:
                made[-1].append(call)
            else:
                made.append([call])
            was_shared = is_shared
        return made

    def _is_shared(self, call: PendingCall) -> bool:
        tool = self.means.tools.get(call.name)
        return tool is not None and (call.name in SUBAGENT_TOOLS or tool.is_read_only(call.input))

    async def _run_batch(self, batch: Sequence[PendingCall], results: dict[str, CallResult]) -> None:
        room = asyncio.Semaphore(self.means.limits.at_once)

        async def one(call: PendingCall) -> None:
            async with room:
                if not self.stopped.is_set():
                    self._done(call, await self._run(call), results)

        tasks = [asyncio.create_task(one(call)) for call in batch]
        stopping = asyncio.create_task(self.stopped.wait())
        waiting = asyncio.gather(*tasks)
        try:
            racing: set[asyncio.Future[Any]] = {waiting, stopping}
            await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                await asyncio.wait({waiting}, timeout=self.means.limits.grace)
            if waiting.done():
                await waiting
        finally:
            for task in (*tasks, stopping):
                task.cancel()
            await asyncio.gather(*tasks, waiting, stopping, return_exceptions=True)
            if self.aside is not None:
                self.aside.clear()  # it was meant for what ran

    def _done(self, call: PendingCall, found: CallResult, results: dict[str, CallResult]) -> None:
        results[call.id] = found
        uuid = self.dialogue.result(call, found)
        self.means.tell(events.Answered(agent=self.agent, uuid=uuid, call_id=call.id, name=call.name, result=found))

    # -- one call

    async def _run(self, call: PendingCall) -> CallResult:
        tool = self.means.tools.get(call.name)
        try:
            given = _checked(call, tool)
        except ToolFailed as failed:
            return failure(failed)
        assert tool is not None
        decision, context = await self._permitted(call, given)
        if decision.kind != "allow":
            self.denials.append({"tool_name": call.name, "tool_use_id": call.id, "tool_input": given})
            return failure(ToolFailed(decision.message or DECLINED, is_misuse=False))
        if decision.input is not None:
            given = decision.input
        self.means.tell(events.Called(agent=self.agent, call_id=call.id, name=call.name, input=given))
        result = await self._call(tool, call, given)
        return await self._hooked(call, given, result, context)

    async def _call(self, tool: Tool, call: PendingCall, given: Json) -> CallResult:
        try:
            eye = self.dialogue.root.watch
            async with eye.around(tool, given, call.line, self.means.tell) if eye else nullcontext():
                return await tool.call(given, self._scene(call))
        except ToolFailed as failed:
            return failure(failed)
        except OSError as error:
            return failure(ToolFailed(f"{type(error).__name__}: {error}", is_misuse=False))

    def _scene(self, call: PendingCall) -> ToolContext:
        async def progress(data: Json) -> None:
            self.dialogue.journal.progress(data, call.id)
            self.means.tell(events.Progressed(agent=self.agent, call_id=call.id, data=data))

        return ToolContext(
            call_id=call.id,
            session_id=self.dialogue.session_id,
            folder=self.dialogue.folder,
            state=self.dialogue.state,
            stopped=self.stopped,
            progress=progress,
            before_change=lambda path: self.dialogue.before_change(path, call.line),
            ask=(lambda questions: self._ask(call, questions)) if self.means.can_ask else None,
            send=self.send,
            extract=self._extract,
            aside=self.aside,
            left=lambda task: self._leave(task, call),
            planning=self._plan,
        )

    def _leave(self, task: Background, call: PendingCall) -> None:
        watch(task, call.id, self.dialogue, self.means, self.agent)

    async def _plan(self, begins: bool) -> None:
        """Planning is a mode; what it was before comes back behind it."""
        dialogue = self.dialogue
        if begins and dialogue.mode != "plan":
            dialogue.mode_before, dialogue.mode = dialogue.mode, "plan"
        elif not begins and dialogue.mode == "plan":
            dialogue.mode = dialogue.mode_before

    async def _ask(self, call: PendingCall, questions: Sequence[Json]) -> Mapping[str, Any]:
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self.means.tell(events.QuestionAsked(agent=self.agent, call_id=call.id, questions=questions, answer=answer))
        return await answer

    async def _extract(self, text: str, prompt: str) -> str:
        return await extract(self.means, self.dialogue.model, text, prompt)

    # -- may it be run

    async def _permitted(self, call: PendingCall, given: Json) -> tuple[Decision, tuple[str, ...]]:
        """The decision, and what hooks tell the model. A hook may deny what rules allow, never allow what they deny."""
        outcome = await self.hook("PreToolUse", call, {"tool_name": call.name, "tool_input": given})
        if outcome.block or outcome.decision == "deny":
            return Decision("deny", message=outcome.reason or f"A PreToolUse hook refused {call.name}."), ()
        changed = outcome.updated_input
        given = changed if changed is not None else given
        decision = self.means.permits.decide(call.name, given, self.dialogue.state.cwd, self.dialogue.mode)
        if decision.kind == "ask" and outcome.decision == "allow" and not decision.rule:
            decision = replace(decision, kind="allow", reason="a hook allows it")
        elif decision.kind == "allow" and outcome.decision == "ask":
            decision = replace(decision, kind="ask", reason=outcome.reason or "a hook asks for it")
        if decision.kind == "ask":
            decision = await self._asked(call, given, decision)
        if decision.kind == "allow" and decision.input is None and changed is not None:
            decision = replace(decision, input=changed)
        return decision, outcome.context

    async def _asked(self, call: PendingCall, given: Json, decision: Decision) -> Decision:
        outcome = await self.hook("PermissionRequest", call, {"tool_name": call.name, "tool_input": given})
        if outcome.decision == "allow" and not decision.rule:
            return Decision("allow", input=outcome.updated_input or decision.input)
        if outcome.decision == "deny" or outcome.block:
            return Decision("deny", message=outcome.reason or DECLINED)
        if not self.means.can_ask:
            return Decision("deny", message=decision.message or UNGRANTED.format(name=call.name))
        told: Json = {"message": f"{call.name} needs your permission", "notification_type": "permission_prompt"}
        await self.hook("Notification", None, told)
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self.means.tell(
            events.PermissionAsked(
                agent=self.agent,
                call_id=call.id,
                name=call.name,
                input=self._complete(call.name, given),
                decision=decision,
                answer=answer,
                folder=str(self.dialogue.state.cwd),
                mode=self.dialogue.mode,
                asker=self._asker(),
            )
        )
        stopping = asyncio.create_task(self.stopped.wait())
        try:
            racing: set[asyncio.Future[Any]] = {answer, stopping}
            await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        if not answer.done():
            answer.cancel()
            return Decision("deny", message=STOPPED)
        found = answer.result()
        return replace(found, input=decision.input) if found.kind == "allow" and found.input is None else found

    def _complete(self, name: str, given: Json) -> Json:
        """The input with what the tool would read by itself, so that the user approves what is there."""
        if name == "ExitPlanMode" and not given.get("plan") and (plan := written(self.dialogue.state)):
            return {**given, "plan": plan}
        return given

    def _asker(self) -> events.AskingAgent | None:
        dialogue = self.dialogue
        if dialogue.parent is None:
            return None
        return events.AskingAgent(dialogue.journal.envelope.agent_id, dialogue.kind, dialogue.description)

    # -- hooks

    async def hook(self, name: str, call: PendingCall | None, payload: Json) -> HookOutcome:
        """Run the hooks of an event; one of them may want the turn to end."""
        call_id = call.id if call else ""
        outcome = await tell_hooks(name, payload, self.dialogue, self.means, agent=self.agent, call_id=call_id)
        if outcome.stop:
            self.ends_turn = outcome.reason or f"a {name} hook ended the turn"
        return outcome

    async def _hooked(self, call: PendingCall, given: Json, found: CallResult, context: tuple[str, ...]) -> CallResult:
        """The result with what hooks add to it behind the call."""
        name = "PostToolUseFailure" if found.is_error else "PostToolUse"
        told = found.detail if found.detail is not None else text_of(found.content)
        outcome = await self.hook(name, call, {"tool_name": call.name, "tool_input": given, "tool_response": told})
        reason = (outcome.reason,) if outcome.block and outcome.reason else ()
        added = [reminder(f"A hook says: {text}") for text in (*context, *outcome.context, *reason)]
        path = given.get("file_path")
        if (
            call.name == "Read"
            and not found.is_error
            and isinstance(path, str)
            and (near := self.means.nearby(Path(path)))
        ):
            added.append(reminder(near))
        return replace(found, notes=(*found.notes, *added)) if added else found


def _checked(call: PendingCall, tool: Tool | None) -> Json:
    if tool is None:
        raise unknown(call.name)
    if call.is_cut:
        raise ToolFailed(CUT_OFF)
    if call.unparsed:
        raise ToolFailed(f"InputValidationError: the input of {call.name} is not JSON: {call.unparsed[:200]}")
    return check(tool, call.input)
