"""Run the tool calls of a reply: check, ask for permission, run hooks, call. Each call gets exactly one result."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from msgspec import Struct, field, structs
from msgspec.structs import replace

from clew.chat import events
from clew.chat.config.system_prompt import system_reminder
from clew.chat.deps import Deps
from clew.chat.hooks.runner import HookOutcome
from clew.chat.permission.decision import Decision
from clew.chat.permission.suggest_rules import as_permission_updates
from clew.chat.store.live_conversation import LiveConversation, PendingCall
from clew.chat.tools.builtin.background import Background
from clew.chat.tools.builtin.plan_mode import read_plan
from clew.chat.tools.builtin.structured_output import STRUCTURED_OUTPUT
from clew.chat.tools.input_schema import failure_result, unknown_tool_error, validate_input
from clew.chat.tools.tool import CallResult, RunAgent, Tool, ToolContext, ToolFailed, text_of
from clew.chat.turn.background_tasks import watch_task
from clew.chat.turn.hook_events import run_hooks
from clew.chat.turn.hook_results import replace_output
from clew.chat.turn.side_request import extract, search_web
from clew.conversation.agent_sessions import SUBAGENT_TOOLS
from clew.errors import ClewError
from clew.wire.json_codec import Json

DECLINED = "The user declined this call. It was not run, and nothing was changed by it."
NOT_PERMITTED = (
    "This call needs the user's permission, which no one can give in this session, so it was not run: {name}."
)
CUT_CALL = "The reply ended in the middle of this call, so it was not run. Say it again, shorter or in smaller parts."
INTERRUPTED_CALL = "The user interrupted before this call was run."
_REJECTED = "User rejected tool use"


class CallRunner(Struct):
    """Runs the tool calls of one conversation."""

    conversation: LiveConversation
    deps: Deps
    stopped: asyncio.Event
    send: RunAgent | None = None
    agent: str = ""
    aside: asyncio.Event | None = None  # set when the running calls should continue in the background
    denials: list[Json] = field(default_factory=list)
    end_reason: str = ""  # why a hook ended the turn

    async def run(self, calls: Sequence[PendingCall]) -> dict[str, CallResult]:
        """Run the calls and return their results by call id. Each is written as it arrives; a call that did not run
        gets an error as its result, also on cancellation.
        """
        results: dict[str, CallResult] = {}
        before = self.conversation.state.cwd
        aliases = self.deps.tool_aliases
        calls = [structs.replace(call, name=aliases.get(call.name, call.name)) for call in calls]
        try:
            for batch in self._batches(calls):
                if self.stopped.is_set() or self.end_reason:
                    break
                await self._run_batch(batch, results)
        finally:
            for call in calls:
                if call.id not in results:
                    reason = f"Not run: {self.end_reason}" if self.end_reason else INTERRUPTED_CALL
                    self._record_result(call, CallResult(reason, _REJECTED, is_error=True), results)
            self.conversation.answer(calls, results)
        if calls and not self.stopped.is_set():
            await self._report_calls(calls, results, before)
        return results

    def refuse(self, calls: Sequence[PendingCall], text: str) -> None:
        """Give all calls the same error result without running any."""
        results: dict[str, CallResult] = {}
        for call in calls:
            self._record_result(call, CallResult(text, is_error=True), results)
        self.conversation.answer(calls, results)

    def _batches(self, calls: Sequence[PendingCall]) -> list[list[PendingCall]]:
        """Group consecutive read-only calls and subagents, which run in parallel; any other call runs alone."""
        batches: list[list[PendingCall]] = []
        was_parallel = False
        for call in calls:
            is_parallel = self._is_parallel(call)
            if is_parallel and was_parallel:
                batches[-1].append(call)
            else:
                batches.append([call])
            was_parallel = is_parallel
        return batches

    def _is_parallel(self, call: PendingCall) -> bool:
        tool = self.deps.tools.get(call.name)
        return tool is not None and (call.name in SUBAGENT_TOOLS or tool.is_read_only(call.input))

    async def _run_batch(self, batch: Sequence[PendingCall], results: dict[str, CallResult]) -> None:
        slots = asyncio.Semaphore(self.deps.limits.parallel_calls)

        async def one(call: PendingCall) -> None:
            async with slots:
                if not self.stopped.is_set():
                    self._record_result(call, await self._run(call), results)

        tasks = [asyncio.create_task(one(call)) for call in batch]
        stopping = asyncio.create_task(self.stopped.wait())
        waiting = asyncio.gather(*tasks)
        try:
            racing: set[asyncio.Future[Any]] = {waiting, stopping}
            await asyncio.wait(racing, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                await asyncio.wait({waiting}, timeout=self.deps.limits.grace)
            if waiting.done():
                await waiting
        finally:
            for task in (*tasks, stopping):
                task.cancel()
            await asyncio.gather(*tasks, waiting, stopping, return_exceptions=True)
            if self.aside is not None:
                self.aside.clear()  # it applied to the calls of this batch

    def _record_result(self, call: PendingCall, result: CallResult, results: dict[str, CallResult]) -> None:
        results[call.id] = result
        uuid = self.conversation.result(call, result)
        self.deps.emit(events.CallFinished(agent=self.agent, uuid=uuid, call_id=call.id, name=call.name, result=result))

    # -- one call

    async def _run(self, call: PendingCall) -> CallResult:
        tool = self.deps.tools.get(call.name)
        if tool is None:
            return failure_result(unknown_tool_error(call.name))
        try:
            call_input = _check_input(call, tool)
            if not self._is_denied(call, call_input):  # what a denied file contains must not show in an error
                await tool.check(call_input, self._context(call))
        except ToolFailed as failed:
            return failure_result(failed)
        except OSError as error:
            return failure_result(ToolFailed(f"{type(error).__name__}: {error}", is_misuse=False))
        decision, context = await self._decide(call, call_input)
        if decision.kind != "allow":
            self.denials.append({"tool_name": call.name, "tool_use_id": call.id, "tool_input": call_input})
            return failure_result(ToolFailed(decision.message or DECLINED, is_misuse=False))
        if decision.input is not None:
            call_input = decision.input
        self.deps.emit(events.CallStarted(agent=self.agent, call_id=call.id, name=call.name, input=call_input))
        started = self.deps.stopwatch()
        result = await self._call(tool, call, call_input)
        milliseconds = round((self.deps.stopwatch() - started) * 1000)
        return await self._run_result_hooks(call, call_input, result, milliseconds, context)

    async def _call(self, tool: Tool, call: PendingCall, call_input: Json) -> CallResult:
        try:
            watch = self.conversation.root.watch
            async with watch.around(tool, call_input, call.line, self.deps.emit) if watch else nullcontext():
                return await tool.call(call_input, self._context(call))
        except ToolFailed as failed:
            return failure_result(failed)
        except OSError as error:
            return failure_result(ToolFailed(f"{type(error).__name__}: {error}", is_misuse=False))

    def _context(self, call: PendingCall) -> ToolContext:
        async def progress(data: Json) -> None:
            self.conversation.journal.progress(data, call.id)
            self.deps.emit(events.CallProgressed(agent=self.agent, call_id=call.id, data=data))

        return ToolContext(
            call_id=call.id,
            session_id=self.conversation.session_id,
            folder=self.conversation.folder,
            state=self.conversation.state,
            stopped=self.stopped,
            progress=progress,
            before_change=lambda path: self.conversation.before_change(path, call.line),
            ask=(lambda questions: self._ask(call, questions)) if self.deps.can_prompt_user else None,
            send=self.send,
            extract=self._extract,
            search=self._search if self.deps.client.endpoint.profile.searches else None,
            aside=self.aside,
            left=lambda task: self._watch_task(task, call),
            planning=self._plan,
        )

    def _watch_task(self, task: Background, call: PendingCall) -> None:
        watch_task(task, call.id, self.conversation, self.deps, self.agent)

    async def _plan(self, enters: bool) -> None:
        """Enter or leave plan mode; leaving restores the mode before it."""
        conversation = self.conversation
        if enters and conversation.mode != "plan":
            conversation.mode_before, conversation.mode = conversation.mode, "plan"
        elif not enters and conversation.mode == "plan":
            conversation.mode = conversation.mode_before

    async def _ask(self, call: PendingCall, questions: Sequence[Json]) -> Mapping[str, Any]:
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self.deps.emit(events.QuestionRequested(agent=self.agent, call_id=call.id, questions=questions, answer=answer))
        return await answer

    async def _search(self, query: str, allowed: Sequence[str], blocked: Sequence[str]) -> Sequence[Json]:
        reasoning = self.conversation.reasoning
        return await search_web(self.deps, self.conversation.model, reasoning, query, allowed, blocked)

    async def _extract(self, text: str, prompt: str) -> str:
        return await extract(self.deps, self.conversation.model, text, prompt)

    # -- permissions

    def _is_denied(self, call: PendingCall, call_input: Json) -> bool:
        """Return whether a call is denied for another reason than that its mode changes nothing or asks nobody."""
        conversation = self.conversation
        decision = self.deps.permissions.decide(call.name, call_input, conversation.state.cwd, conversation.mode)
        return decision.kind == "deny" and (bool(decision.rule) or conversation.mode not in ("plan", "dontAsk"))

    async def _decide(self, call: PendingCall, call_input: Json) -> tuple[Decision, tuple[str, ...]]:
        """Return the decision, and texts of hooks for the model. A hook can deny what rules allow, but not allow
        what they deny.
        """
        outcome = await self.run_hooks("PreToolUse", call, {"tool_name": call.name, "tool_input": call_input})
        if outcome.block or outcome.decision == "deny":
            return Decision("deny", message=outcome.reason or f"A PreToolUse hook refused {call.name}."), ()
        changed = outcome.updated_input
        call_input = changed if changed is not None else call_input
        decision = self.deps.permissions.decide(
            call.name, call_input, self.conversation.state.cwd, self.conversation.mode
        )
        if decision.kind == "ask" and outcome.decision == "allow" and not decision.rule:
            decision = replace(decision, kind="allow", reason="a hook allows it")
        elif decision.kind == "allow" and outcome.decision == "ask":
            decision = replace(decision, kind="ask", reason=outcome.reason or "a hook asks for it")
        if decision.kind == "ask":
            decision = await self._request_permission(call, call_input, decision)
        elif decision.kind == "deny" and call.name != "Read":  # Claude Code reports a denied path as a failed read
            self._report_denial(call, decision.message or DECLINED)
        if decision.kind == "allow" and decision.input is None and changed is not None:
            decision = replace(decision, input=changed)
        return decision, outcome.context

    async def _request_permission(self, call: PendingCall, call_input: Json, decision: Decision) -> Decision:
        about = {"tool_name": call.name, "tool_input": call_input}
        suggested = as_permission_updates(decision.suggestions)
        outcome = await self.run_hooks("PermissionRequest", call, {**about, "permission_suggestions": suggested})
        if outcome.decision == "allow" and not decision.rule:
            self._apply_updates(outcome.permission_updates)
            return Decision("allow", input=outcome.updated_input or decision.input)
        if outcome.decision == "deny" or outcome.block:
            if outcome.interrupts:
                self.stopped.set()
            return Decision("deny", message=outcome.reason or DECLINED)
        if not self.deps.can_prompt_user:
            text = decision.message or NOT_PERMITTED.format(name=call.name)
            self._report_denial(call, text)
            return Decision("deny", message=text)
        notification: Json = {"message": f"{call.name} needs your permission", "notification_type": "permission_prompt"}
        await self.run_hooks("Notification", None, notification)
        answer: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self.deps.emit(
            events.PermissionRequested(
                agent=self.agent,
                call_id=call.id,
                name=call.name,
                input=self._complete(call.name, call_input),
                decision=decision,
                answer=answer,
                folder=str(self.conversation.state.cwd),
                mode=self.conversation.mode,
                asker=self._requesting_agent(),
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
            return Decision("deny", message=INTERRUPTED_CALL)
        user_decision = answer.result()
        return (
            replace(user_decision, input=decision.input)
            if user_decision.kind == "allow" and user_decision.input is None
            else user_decision
        )

    def _apply_updates(self, updates: Sequence[Json]) -> None:
        """Apply the permission updates of a hook, as those of a user who answers."""
        for update in updates:
            try:
                mode = self.deps.permissions.apply(update)
            except (ClewError, OSError) as error:
                self.deps.emit(events.Notice(agent=self.agent, text=str(error), level="warning"))
                continue
            if mode is not None:
                self.conversation.mode = mode

    def _report_denial(self, call: PendingCall, text: str) -> None:
        self.deps.emit(events.CallDenied(agent=self.agent, call_id=call.id, name=call.name, message=text))

    def _complete(self, name: str, call_input: Json) -> Json:
        """Add to the input what the tool would read itself, so that the user approves what is there."""
        if name == "ExitPlanMode" and not call_input.get("plan") and (plan := read_plan(self.conversation.state)):
            return {**call_input, "plan": plan}
        return call_input

    def _requesting_agent(self) -> events.RequestingAgent | None:
        conversation = self.conversation
        if conversation.parent is None:
            return None
        return events.RequestingAgent(
            conversation.journal.envelope.agent_id, conversation.kind, conversation.description
        )

    # -- hooks

    async def _report_calls(
        self, calls: Sequence[PendingCall], results: Mapping[str, CallResult], before: Path
    ) -> None:
        """Run the hooks after all calls of a reply, and those for a changed working directory."""
        listed = [
            {
                "tool_name": call.name,
                "tool_input": call.input,
                "tool_use_id": call.id,
                "tool_response": text_of(results[call.id].content),
            }
            for call in calls
        ]
        outcome = await self.run_hooks("PostToolBatch", None, {"tool_calls": listed})
        if outcome.stop or outcome.block:
            self.end_reason = self.end_reason or outcome.reason or "A hook ended the turn."
        for text in outcome.context:
            self.conversation.note(system_reminder(f"A hook says: {text}"))
        after = self.conversation.state.cwd
        if after != before:
            await self.run_hooks("CwdChanged", None, {"old_cwd": str(before), "new_cwd": str(after)})

    async def run_hooks(self, name: str, call: PendingCall | None, payload: Json) -> HookOutcome:
        """Run the hooks of an event; a hook may end the turn."""
        call_id = call.id if call else ""
        outcome = await run_hooks(name, payload, self.conversation, self.deps, agent=self.agent, call_id=call_id)
        if outcome.stop:
            self.end_reason = outcome.reason or f"a {name} hook ended the turn"
        return outcome

    async def _run_result_hooks(
        self, call: PendingCall, call_input: Json, result: CallResult, milliseconds: int, context: tuple[str, ...]
    ) -> CallResult:
        """Run the hooks after a call, use the output that they give in its place, and add their texts to the result."""
        name = "PostToolUseFailure" if result.is_error else "PostToolUse"
        about: Json = {"tool_name": call.name, "tool_input": call_input, "duration_ms": milliseconds}
        if result.is_error:
            about |= {"error": text_of(result.content), "is_interrupt": self.stopped.is_set()}
        else:
            about["tool_response"] = result.detail if result.detail is not None else text_of(result.content)
        outcome = await self.run_hooks(name, call, about)
        if outcome.updated_output is not None and not result.is_error:
            result = self._replace_output(call, result, outcome.updated_output)
        reason = (outcome.reason,) if outcome.block and outcome.reason else ()
        added = [system_reminder(f"A hook says: {text}") for text in (*context, *outcome.context, *reason)]
        path = call_input.get("file_path")
        if call.name == "Read" and not result.is_error and isinstance(path, str):
            memory, loaded = self.deps.nested_memory(Path(path))
            added += [system_reminder(memory)] if memory else []
            for file in loaded:
                await self.run_hooks("InstructionsLoaded", None, file)
        return replace(result, notes=(*result.notes, *added)) if added else result

    def _replace_output(self, call: PendingCall, result: CallResult, updated: Any) -> CallResult:
        replaced = replace_output(call.name, result, updated)
        if replaced is None:
            text = f"A PostToolUse hook gave an output that is not of the form of {call.name}'s; it is not used."
            self.deps.emit(events.Notice(agent=self.agent, text=text, level="warning"))
        return replaced or result


def _check_input(call: PendingCall, tool: Tool) -> Json:
    if call.is_cut:
        raise ToolFailed(CUT_CALL)
    if call.unparsed:
        raise ToolFailed(f"InputValidationError: the input of {call.name} is not JSON: {call.unparsed[:200]}")
    return call.input if call.name == STRUCTURED_OUTPUT else validate_input(tool, call.input)  # that has its own check
