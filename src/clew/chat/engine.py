"""One chat session: it takes prompts, runs turns and reports events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clew.chat import events
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.agents.subagents import Subagents
from clew.chat.config.permission_mode import Mode
from clew.chat.config.system_prompt import system_reminder
from clew.chat.deps import Deps
from clew.chat.loop import Loop
from clew.chat.store import journal_lines
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.builtin.background import Background
from clew.chat.tools.tool import Tool
from clew.chat.turn import background_tasks
from clew.chat.turn.compaction import Compactor
from clew.chat.turn.hook_events import run_hooks
from clew.chat.turn.model_switch import Confirm, Source, switch_model
from clew.chat.turn.stream_reply import ReplyStreamer
from clew.chat.turn.until_stopped import until_stopped
from clew.errors import Busy, NotFound
from clew.models import model_of
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from clew.chat.rewind.carry_out import Rewound
    from clew.chat.rewind.rewind_plan import Edits, PathChange, RewindPlan

BACKGROUND_TIMEOUT = 600.0  # seconds that `settle` waits for a background command, as Claude Code does


class Engine:
    """A running session. One turn runs at a time; prompts that arrive meanwhile wait in a queue.

    Commands and subagents can continue in the background while no turn runs, so a front end must answer their
    requests (`PermissionRequested`, `QuestionRequested`) at any time. `TaskBackgrounded` and `TaskFinished` report
    them, `tasks` lists them, `stop_task` stops one, `send_to_background` moves the running call there, `interrupt`
    leaves them running and `close` stops them. During a turn the model is told when they end. While no turn runs,
    the front end has to start a turn for it: wait for `task_ended` as well as for the user's input,

        typed = await until_stopped(engine.task_ended, inbox.get())
        finished = await (engine.report_tasks() if typed is None else engine.submit(typed))

    `report_tasks` is a turn without a prompt. If the user types first, nothing is lost: the next `submit` reports
    the tasks before the prompt. A front end that sends one prompt and exits calls `settle` after its turn.
    """

    def __init__(
        self,
        conversation: LiveConversation,
        deps: Deps,
        kinds: Mapping[str, AgentKind] | None = None,
        *,
        closing: Sequence[Json] = (),
        source: str = "startup",
        missed: Sequence[UserPrompt] = (),
        compactor: Callable[[LiveConversation, Deps, asyncio.Event], Compactor] = Compactor,
    ) -> None:
        """`closing` are lines that an unfinished turn of a resumed session still needs; they are written before the
        next prompt. `missed` are reports of background tasks that ended before the model was told.
        """
        self.conversation = conversation
        self.deps = deps
        self.stopped = asyncio.Event()
        self.aside = asyncio.Event()
        self.is_busy = False
        self._closing = list(closing)
        self._missed = list(missed)
        self._source = source
        self._has_begun = False
        self._title = ""  # which is not in the file yet
        self.title = ""  # that the user gave in this process
        self._needs_reload = False  # a write failed: the file may lack lines
        self._started = deps.stopwatch()
        self.api_milliseconds = 0  # of all turns so far
        self._compactor = compactor(conversation, deps, self.stopped)
        subagents = Subagents(conversation, deps, kinds or {})
        streamer = ReplyStreamer(conversation, deps, shown=self._compactor.shown)
        self._loop = Loop(conversation, deps, self.stopped, self._compactor, streamer, subagents.send, aside=self.aside)

    @property
    def milliseconds(self) -> int:
        """Milliseconds since the session was opened."""
        return round((self.deps.stopwatch() - self._started) * 1000)

    @property
    def last_text(self) -> str:
        """The text of the newest reply."""
        return self._loop.last_text

    @property
    def window(self) -> int:
        """The size of the context window in tokens."""
        return self.deps.limits.window or self.conversation.window

    async def submit(self, prompt: UserPrompt | str) -> events.TurnFinished:
        """Send a prompt and wait until its turn is over. Raises OSError if the session file cannot be written.

        Reports of background tasks that ended since the last turn precede the prompt.
        """
        prompt = UserPrompt(prompt) if isinstance(prompt, str) else prompt
        async with self._turn() as context:
            queue = self.conversation.queue
            reports = queue.take_task_reports()
            if self.conversation.journal.envelope.entrypoint != "cli":
                queue.add(prompt)
                prompt = queue.take()
            return await self._run(replace(prompt, notes=(*prompt.notes, *context)), reports)

    async def _run(self, prompt: UserPrompt, reports: Sequence[UserPrompt]) -> events.TurnFinished:
        finished = await self._loop.run(prompt, reports)
        self.api_milliseconds += finished.api_milliseconds
        return finished

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[tuple[str, ...]]:
        """Prepare a turn and complete the file after it. Yield the context that SessionStart hooks add."""
        self._occupy()
        try:
            self.stopped.clear()
            self.aside.clear()
            self.conversation.journal.hold()  # until it is clear whether the prompt needs a compaction
            yield await self._begin()
            self.conversation.journal.release()
            self._write_title()
        except OSError:
            self._needs_reload = True
            raise
        finally:
            self._release()

    def queue(self, prompt: UserPrompt | str) -> None:
        """Queue a prompt during a turn: the model gets it with the next tool results, or after the turn."""
        self.conversation.queue.add(UserPrompt(prompt) if isinstance(prompt, str) else prompt)

    def interrupt(self) -> None:
        """Stop the turn. Every pending call gets a result."""
        self.stopped.set()

    def send_to_background(self) -> None:
        """Let the command or subagents that the turn waits for continue in the background."""
        self.aside.set()

    # -- background tasks

    @property
    def tasks(self) -> Mapping[str, Background]:
        """Background commands and subagents by id, including those that have ended."""
        return self.conversation.state.background

    @property
    def has_task_reports(self) -> bool:
        """Whether a background task has ended that the model was not told of."""
        return self.conversation.queue.has_task_reports

    @property
    def task_ended(self) -> asyncio.Event:
        """Set while no turn runs and a background task has ended that the model was not told of."""
        return self.conversation.queue.task_ended

    async def report_tasks(self) -> events.TurnFinished | None:
        """Run a turn that reports ended background tasks to the model. Return None if there are none."""
        async with self._turn():
            reports = self.conversation.queue.take_task_reports()
            return await self._run(reports.pop(), reports) if reports else None

    async def stop_task(self, task_id: str) -> None:
        """Stop a background task; the model is told. Raises NotFound."""
        if task_id not in self.tasks:
            raise NotFound(task_id, kind="task")
        await self.tasks[task_id].stop()

    async def settle(self, seconds: float = BACKGROUND_TIMEOUT) -> events.TurnFinished | None:
        """Wait until no background task is left, reporting each to the model. Return the last turn, None if there
        was none. A command that takes longer than `seconds` is stopped. An interrupt ends the wait.
        """
        finished = None
        while self.has_pending_tasks and await until_stopped(self.stopped, self._wait_for_task(seconds)):
            finished = await self.report_tasks() or finished
        return finished

    @property
    def has_pending_tasks(self) -> bool:
        """Whether `settle` has something to wait for: a running task, or an end that was not reported yet."""
        return self.has_task_reports or bool(self.conversation.watchers)

    async def _wait_for_task(self, seconds: float) -> bool:
        """Wait until a background task has ended."""
        commands = [task for task in self.tasks.values() if task.kind == "local_bash" and task.status == "running"]
        watchers = self.conversation.watchers
        if not self.has_task_reports:
            timeout = seconds if commands else None
            done, _ = await asyncio.wait(watchers, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in () if done else commands:
                await task.stop()
        return True

    # -- compaction

    async def preview(self, instructions: str = "") -> str:
        """Return the summary that a compaction would continue from."""
        return (await self._compactor.summarise(instructions)).text.strip()

    async def compact(self, instructions: str = "", summary: str = "") -> bool:
        """Replace the conversation by a summary: `summary`, or one that the model writes now."""
        self._occupy()
        try:
            self.stopped.clear()
            await self._begin()
            return await self._compactor.compact("manual", instructions, summary)
        finally:
            self._release()

    async def run_compact(self, instructions: str) -> events.TurnFinished:
        """Run `/compact` and record it in the session as a command."""
        if not await self.compact(instructions):
            return self._loop.report("", ("The conversation could not be compacted.",))
        self.conversation.command("compact", instructions, "Compacted")
        self.deps.emit(events.CommandOutput(text="Compacted"))
        return self._loop.report("Compacted")

    # -- rewind

    async def record_changes(self) -> None:
        """Record what background commands have changed so far, so that a rewind plan includes it."""
        if self.conversation.watch is not None:
            await self.conversation.watch.settle(self.deps.emit)

    def plan_rewind(self, position: str) -> RewindPlan:
        """Return what a rewind to a prompt would change: the files (`changes`, with diffs) and the number of dropped
        turns. Nothing is changed yet.

        `position` is the uuid of the prompt's line or the number of its turn (-1 for the last);
        `clew.chat.rewind.rewind_plan` lists them. Raises NotFound, and Refused if this session saves no states.
        """
        from clew.chat.rewind.rewind_conversation import plan_rewind

        return plan_rewind(self.conversation, position)

    def plan_undo(self) -> RewindPlan:
        """Return what undoing the last rewind would change; pass it to `rewind`. Raises NotFound if there was none."""
        from clew.chat.rewind.rewind_conversation import plan_undo

        return plan_undo(self.conversation)

    async def rewind(
        self,
        plan: RewindPlan,
        *,
        code: bool = True,
        conversation: bool = True,
        edits: Edits = "refuse",
        keep: Sequence[PathChange] = (),
    ) -> Rewound:
        """Carry out a plan: restore the files, the conversation, or both. The next prompt continues from there.

        Show `plan.edited` first: these files were changed by someone else. With `edits` "refuse" they make this
        raise Refused and nothing is changed; "keep" leaves them as they are, "overwrite" restores them too. Changes
        in `keep` are skipped. The present state is saved, and `plan_undo` restores it. Raises Busy while a turn
        runs.
        """
        from clew.chat.rewind.carry_out import carry_out
        from clew.chat.rewind.rewind_conversation import LiveRewind

        self._occupy()
        try:
            going = LiveRewind(self.conversation) if conversation and plan.has_conversation else None
            done = await asyncio.to_thread(carry_out, plan, edits, code=code, conversation=going, keep=keep)
            for change in done.changed:
                self.conversation.state.seen.pop(change.path, None)
            if going is not None:
                self._closing = going.closing
            return done
        finally:
            self._release()

    async def use_model(
        self, model: str, requested: str | None, source: Source, confirm: Confirm | None = None
    ) -> None:
        """Set the model of the next requests: a full name or `opusplan`, as `resolve_choice` returns it. `requested` is
        what the user named. Raises ModelSwitchBlocked.
        """
        await switch_model(model, requested, source, self.conversation, self.deps, confirm)

    async def report_folder(self, folder: Path, source: str) -> None:
        """Tell hooks that a folder was added to the session: by `slash_command` or `register_repo_root`."""
        payload: Json = {"directory": str(folder), "source": source}
        await run_hooks("DirectoryAdded", payload, self.conversation, self.deps)

    def use_effort(self, level: str) -> None:
        """Set the effort of the next requests: one of EFFORTS, or "" for what the settings or the model say."""
        self.conversation.reasoning = self.conversation.reasoning.with_effort(level)

    def use_saved_effort(self, model: str, level: str) -> None:
        """Set the effort of one model, as its entry in the settings says from now on; "" if that was removed."""
        reasoning = self.conversation.reasoning
        saved = {**reasoning.saved_efforts, model_of(model).name or model: level}
        self.conversation.reasoning = replace(reasoning, effort="", saved_efforts=saved)

    def use_thinking(self, budget: int | None) -> None:
        """Set the tokens of thinking of the next requests: 0 for none, None for the default."""
        self.conversation.reasoning = replace(self.conversation.reasoning, is_off=budget == 0, budget=budget or None)

    async def ask_aside(self, question: str) -> str:
        """Answer a question about the conversation without adding it. Raises ApiError."""
        from clew.chat.turn.side_request import ask_aside

        return await ask_aside(self.deps, self._loop.streamer.build_request(), question)

    def replace_tools(self, prefix: str, tools: Sequence[Tool]) -> None:
        """Replace the tools whose names have a prefix, from the next request on."""
        for name in [name for name in self.deps.tools if name.startswith(prefix)]:
            del self.deps.tools[name]
        self.deps.tools.update({tool.name: tool for tool in tools})

    def use_mode(self, mode: Mode) -> None:
        self.conversation.mode = mode

    def rename(self, title: str) -> None:
        """Set the title of the session; for a new session it is written after the first turn."""
        self._title = self.title = title
        if self.conversation.journal.leaf is not None:
            self._write_title()

    def _write_title(self) -> None:
        if self._title:
            self.conversation.journal.beside(journal_lines.title(self._title, self.conversation.session_id))
            self._title = ""

    async def close(self, reason: str = "other") -> None:
        """Stop the background tasks and run the SessionEnd hooks."""
        await background_tasks.stop_tasks(self.conversation)
        await self.record_changes()
        if self._has_begun:
            await run_hooks("SessionEnd", {"reason": reason}, self.conversation, self.deps)

    def _occupy(self) -> None:
        if self.is_busy:
            raise Busy(str(self.conversation.journal.path))
        self.is_busy = True
        self.conversation.queue.begin_turn()

    def _release(self) -> None:
        self.is_busy = False
        self.conversation.queue.end_turn()

    def _reload(self) -> None:
        """After a failed write, continue from what the session file contains."""
        from clew.chat.store.resume_session import resume
        from clew.conversation.load import read, request

        self._needs_reload = False
        conversation = self.conversation
        conversation.messages, conversation.journal.leaf = [], None
        conversation.known_tokens, conversation.known_messages = 0, 0
        if conversation.journal.path.exists() and request(read(conversation.journal.path)).is_resumable:
            resumed = resume(conversation.journal.path)
            conversation.load(resumed.messages, resumed.model)
            conversation.journal.leaf = resumed.leaf
            conversation.known_tokens, conversation.known_messages = resumed.known_tokens, resumed.known_messages
            conversation.largest_requests = dict(resumed.largest_requests)
            self._closing = list(resumed.closing)
            pending = {prompt.task for prompt in conversation.queue} | {
                task_id for task_id, background in self.tasks.items() if background.status == "running"
            }
            self._missed = [UserPrompt(text, task=task) for task, text in resumed.missed if task not in pending]

    async def _begin(self) -> tuple[str, ...]:
        """Write what an earlier process left open. Before the first turn, run the SessionStart hooks and return the
        context that they add.
        """
        if self._needs_reload:
            self._reload()
        await self.record_changes()
        for body in self._closing:
            self.conversation.journal.add(body)
        self._closing.clear()
        for report in self._missed:
            self.conversation.queue.add(report)
        self._missed.clear()
        if self._has_begun:
            return ()
        self._has_begun = True
        outcome = await run_hooks("SessionStart", {"source": self._source}, self.conversation, self.deps)
        for file in self.deps.first_memory:
            await run_hooks("InstructionsLoaded", file, self.conversation, self.deps)
        return tuple(system_reminder(f"A hook says: {text}") for text in outcome.context)
