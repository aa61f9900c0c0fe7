"""The engine: one session with all that belongs to it. Doors give it prompts and listen to its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from clew.chat import events
from clew.chat.agents import background_tasks
from clew.chat.agents.subagents import Subagents
from clew.chat.config.agent_kind import Kind
from clew.chat.deps import Deps
from clew.chat.hooks.hook_events import reminder, tell_hooks
from clew.chat.loop import Loop
from clew.chat.permission.decision import Mode
from clew.chat.store import journal_lines
from clew.chat.store.live_conversation import LiveConversation, UserPrompt
from clew.chat.tools.builtin.background import Background
from clew.chat.turn.compaction import Compactor
from clew.chat.turn.stream_reply import Asking
from clew.chat.turn.until_stopped import unless
from clew.errors import Busy, NotFound
from clew.wire.json_codec import Json

if TYPE_CHECKING:
    from clew.chat.rewind.carry_out import Rewound
    from clew.chat.rewind.rewind_plan import Edits, PathChange, RewindPlan

PATIENCE = 600.0  # seconds that a door which asks once waits for a command in the background, as the original does


class Engine:
    """A session that goes on. One turn runs at a time; what is said meanwhile waits in a queue.

    Commands and agents may go on in the background, and do so while no turn runs: a door has to answer what they ask
    (`PermissionAsked`, `QuestionAsked`) at any time. `TaskLeft` and `TaskEnded` tell which there are, `tasks` lists them,
    `stop_task` stops one, `put_aside` sends there what is being waited for, `interrupt` leaves them alone and `close` stops
    them. While a turn runs, the model hears of their ends by itself. While none runs, the door has to let it: wait for
    `news` beside what the person may type,

        typed = await unless(engine.news, inbox.get())
        finished = await (engine.heed() if typed is None else engine.submit(typed))

    and `heed` is a turn like any other, begun by no prompt. A door that does not, or a person who is faster, loses nothing:
    the next `submit` says it first. A door that asks once and ends calls `settle` behind its turn.
    """

    def __init__(
        self,
        dialogue: LiveConversation,
        means: Deps,
        kinds: Mapping[str, Kind] | None = None,
        *,
        closing: Sequence[Json] = (),
        source: str = "startup",
        missed: Sequence[UserPrompt] = (),
        compactor: Callable[[LiveConversation, Deps, asyncio.Event], Compactor] = Compactor,
    ) -> None:
        """`closing` are lines that an unfinished turn of a resumed session still needs: written before the next prompt.
        `missed` is what ended in the background of it and was never told."""
        self.dialogue = dialogue
        self.means = means
        self.stopped = asyncio.Event()
        self.aside = asyncio.Event()
        self.is_busy = False
        self._closing = list(closing)
        self._missed = list(missed)
        self.news = asyncio.Event()  # set while no turn runs and the model is to hear what ended in the background
        self._source = source
        self._has_begun = False
        self._title = ""
        self._is_unsure = False  # whether the file has all that was said
        self._compactor = compactor(dialogue, means, self.stopped)
        errands = Subagents(dialogue, means, kinds or {})
        asking = Asking(dialogue, means, shown=self._compactor.shown)
        self._loop = Loop(dialogue, means, self.stopped, self._compactor, asking, errands.send, aside=self.aside)
        dialogue.heard = self._look_for_news

    @property
    def window(self) -> int:
        """Tokens that the conversation may have."""
        return self.means.limits.window or self.dialogue.window

    async def submit(self, said: UserPrompt | str) -> events.TurnFinished:
        """Say something, and wait for all that comes of it. Raises OSError if it cannot be written down."""
        finished = await self._turn(UserPrompt(said) if isinstance(said, str) else said)
        assert finished is not None
        return finished

    async def _turn(self, prompt: UserPrompt | None) -> events.TurnFinished | None:
        """A turn that begins with what ended in the background, then with a prompt; None if there is neither."""
        self._occupy()
        try:
            self.stopped.clear()
            self.aside.clear()
            self.dialogue.journal.hold()  # until it is known that nothing has to be compacted for the prompt
            context = await self._begin()
            ended = self.dialogue.endings()
            if prompt is None:
                finished = await self._loop.run(ended.pop(), ended) if ended else None
            else:
                if self.dialogue.journal.envelope.entrypoint != "cli":
                    self.dialogue.enqueue(prompt)
                    prompt = self.dialogue.dequeue()
                finished = await self._loop.run(UserPrompt(prompt.content, (*prompt.notes, *context)), ended)
            self.dialogue.journal.release()
            self._write_title()
            return finished
        except OSError:
            self._is_unsure = True
            raise
        finally:
            self._release()

    def queue(self, said: UserPrompt | str) -> None:
        """Say something while the engine is busy: the model hears it with the next results, or after the turn."""
        self.dialogue.enqueue(UserPrompt(said) if isinstance(said, str) else said)

    def interrupt(self) -> None:
        """Break off. Every call gets a result, and the turn ends."""
        self.stopped.set()

    def put_aside(self) -> None:
        """Let the command or the agents that are waited for go on in the background."""
        self.aside.set()

    # -- what goes on in the background

    @property
    def tasks(self) -> Mapping[str, Background]:
        """Commands and agents in the background, by their ids, also those that have ended."""
        return self.dialogue.state.background

    @property
    def has_news(self) -> bool:
        """Whether something has ended in the background that the model does not know yet."""
        return any(said.task and said.task not in self.dialogue.state.told for said in self.dialogue.queue)

    async def heed(self) -> events.TurnFinished | None:
        """Let the model hear what ended in the background, and wait for all that comes of it. None if it knows already."""
        return await self._turn(None)

    async def stop_task(self, task_id: str) -> None:
        """Stop something in the background, as the person wishes; the model hears of it. Raises NotFound."""
        if task_id not in self.tasks:
            raise NotFound(task_id, kind="task")
        await self.tasks[task_id].stop()

    async def settle(self, patience: float = PATIENCE) -> events.TurnFinished | None:
        """For a door that asks once: wait until nothing goes on in the background any more, and let the model hear of each.
        The last turn; None if there was none. A command that takes longer is stopped. Breaking off ends the waiting."""
        finished = None
        while self.is_awaited and await unless(self.stopped, self._happened(patience)):
            finished = await self.heed() or finished
        return finished

    @property
    def is_awaited(self) -> bool:
        """Whether there is something that `settle` would wait for: what goes on, or an end that is not told yet."""
        return self.has_news or bool(self.dialogue.watchers)

    async def _happened(self, patience: float) -> bool:
        """Wait until something in the background has ended."""
        commands = [task for task in self.tasks.values() if task.kind == "local_bash" and task.status == "running"]
        watchers = self.dialogue.watchers
        if not self.has_news:
            late = patience if commands else None
            done, _ = await asyncio.wait(watchers, timeout=late, return_when=asyncio.FIRST_COMPLETED)
            for task in () if done else commands:
                await task.stop()
        return True

    def _look_for_news(self) -> None:
        if self.has_news and not self.is_busy:
            self.news.set()
        else:
            self.news.clear()

    # -- the conversation as a whole

    async def preview(self, wish: str = "") -> str:
        """The summary that a compaction would go on from."""
        return (await self._compactor.summarise(wish)).text.strip()

    async def compact(self, wish: str = "", summary: str = "") -> bool:
        """Go on from a summary: a given one, or one that is made now."""
        self._occupy()
        try:
            self.stopped.clear()
            await self._begin()
            return await self._compactor.compact("manual", wish, summary)
        finally:
            self._release()

    async def run_compact(self, wish: str) -> events.TurnFinished:
        """`/compact`, as a person types it: written down as a command."""
        if not await self.compact(wish):
            return self._loop.report("", ("The conversation could not be compacted.",))
        self.dialogue.command("compact", wish, "Compacted")
        return self._loop.report("Compacted")

    # -- going back

    def plan_rewind(self, place: str) -> RewindPlan:
        """What going back to a prompt would change: files (`changes`, with diffs), and how many turns would be dropped.

        `place` is the uuid of the prompt's line or the number of its turn (-1 for the last);
        `clew.chat.rewind.rewind_plan.places` lists them. Nothing is changed. Raises NotFound, and Refused if this session
        keeps nothing.
        """
        from clew.chat.rewind.rewind_conversation import planned

        return planned(self.dialogue, place)

    def plan_undo(self) -> RewindPlan:
        """What undoing the last rewind would change; give it to `rewind`. Raises NotFound if there was none."""
        from clew.chat.rewind.rewind_conversation import undoing

        return undoing(self.dialogue)

    async def rewind(
        self,
        plan: RewindPlan,
        *,
        code: bool = True,
        conversation: bool = True,
        edits: Edits = "refuse",
        keep: Sequence[PathChange] = (),
    ) -> Rewound:
        """Carry out a plan: the files, the conversation, or both. The next prompt continues from before the place.

        Show `plan.edited` first: those files were changed by someone else. With `edits` "refuse" they make this raise
        Refused and nothing is changed; "keep" leaves them as they are, "overwrite" does not. Changes in `keep` are not
        made. What exists now is saved, and `plan_undo` brings it back. Raises Busy while a turn runs.
        """
        from clew.chat.rewind.carry_out import carry_out
        from clew.chat.rewind.rewind_conversation import Going

        self._occupy()
        try:
            going = Going(self.dialogue) if conversation and plan.has_conversation else None
            done = await asyncio.to_thread(carry_out, plan, edits, code=code, talk=going, keep=keep)
            for change in done.changed:
                self.dialogue.state.seen.pop(change.path, None)
            if going is not None:
                self._closing = going.closing
            return done
        finally:
            self.is_busy = False

    def use_model(self, model: str) -> None:
        """Choose the model of the next requests: a full name, or `opusplan` (see `clew.chat.config.model_alias.choose`)."""
        self.dialogue.choice = model

    def use_mode(self, mode: Mode) -> None:
        self.dialogue.mode = mode

    def rename(self, title: str) -> None:
        """Give the session a title; one that nothing was said in yet gets it behind the first turn."""
        self._title = title
        if self.dialogue.journal.leaf is not None:
            self._write_title()

    def _write_title(self) -> None:
        if self._title:
            self.dialogue.journal.beside(journal_lines.title(self._title, self.dialogue.session_id))
            self._title = ""

    async def close(self, reason: str = "other") -> None:
        """Stop what runs in the background, and tell the hooks that the session ends."""
        await background_tasks.close(self.dialogue)
        if self.dialogue.watch is not None:
            await self.dialogue.watch.settle(self.means.tell)
        if self._has_begun:
            await tell_hooks("SessionEnd", {"reason": reason}, self.dialogue, self.means)

    def _occupy(self) -> None:
        if self.is_busy:
            raise Busy(str(self.dialogue.journal.path))
        self.is_busy = True
        self._look_for_news()

    def _release(self) -> None:
        self.is_busy = False
        self._look_for_news()

    def _reload(self) -> None:
        """What could not be written down was not said: go on from what the file says."""
        from clew.chat.store.resume_session import resume
        from clew.conversation.load import read, request

        self._is_unsure = False
        dialogue = self.dialogue
        dialogue.messages, dialogue.reported, dialogue.weighed, dialogue.journal.leaf = [], 0, 0, None
        if dialogue.journal.path.exists() and request(read(dialogue.journal.path)).is_resumable:
            found = resume(dialogue.journal.path)
            dialogue.load(found.messages, found.model)
            dialogue.journal.leaf = found.leaf
            dialogue.reported, dialogue.weighed = found.reported, found.weighed
            dialogue.largest = dict(found.largest)
            self._closing = list(found.closing)
            waiting = {said.task for said in dialogue.queue} | {
                t for t, each in self.tasks.items() if each.status == "running"
            }
            self._missed = [UserPrompt(text, task=task) for task, text in found.missed if task not in waiting]

    async def _begin(self) -> tuple[str, ...]:
        """Close what an earlier process left open; once, tell the hooks that the session begins: what they add."""
        if self._is_unsure:
            self._reload()
        if self.dialogue.watch is not None:
            await self.dialogue.watch.settle(self.means.tell)
        for body in self._closing:
            self.dialogue.journal.add(body)
        self._closing.clear()
        for said in self._missed:
            self.dialogue.notify(said)
        self._missed.clear()
        if self._has_begun:
            return ()
        self._has_begun = True
        outcome = await tell_hooks("SessionStart", {"source": self._source}, self.dialogue, self.means)
        return tuple(reminder(f"A hook says: {text}") for text in outcome.context)
