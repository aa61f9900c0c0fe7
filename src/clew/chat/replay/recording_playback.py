"""Play a recording: it answers the mock with replies, tools with results, and hooks with what comes next.

The played conversation follows from the context of the request: the loop of an agent runs in the context of the call
that started it, and that context names its recording.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal

from clew.api.mock.scripts import ChosenStep, MockScript, ScriptStep
from clew.chat.hooks.runner import HookOutcome
from clew.chat.replay.recording import (
    HANG,
    Fail,
    Hold,
    Item,
    RecordedCompaction,
    RecordedQueued,
    RecordedResult,
    Recording,
    Save,
    Say,
    Sign,
    Stop,
    Take,
)
from clew.chat.store import journal_lines
from clew.chat.store.file_snapshots import Backups
from clew.chat.store.live_conversation import UserPrompt
from clew.chat.tools.tool import CallResult, ToolContext, ToolFailed
from clew.chat.turn.compaction import Compactor
from clew.wire.json_codec import Json

LOST = "The record has no result of this call."
_OF_CALLS = (Sign, Save, RecordedResult)


class EndOfRecording(Exception):
    """The recording has no further reply."""


class PlayedRecording:
    """One conversation during playback."""

    def __init__(self, cassette: Recording) -> None:
        self.cassette = cassette
        self.items: deque[Item] = deque()
        self.running: set[str] = set()
        self.turn = asyncio.Condition()
        self.ends = False

    def load(self, items: Iterable[Item], ends: bool = False) -> None:
        """Begin with an act."""
        self.items, self.ends = deque(items), ends
        self.running = set()

    @property
    def is_played(self) -> bool:
        """Return True if all replies were sent."""
        return not self.running and not any(
            isinstance(item, Take | RecordedCompaction | Fail | Stop) for item in self.items
        )


class RecordingPlayer:
    """Plays a recording to one engine."""

    def __init__(self, cassette: Recording) -> None:
        self.reel = PlayedRecording(cassette)
        self.queue: Callable[[UserPrompt], None] = lambda said: None
        self.move: Callable[[str, str], None] = lambda cwd, branch: None
        self.saved: Json = {}  # the backups at the prompt
        self.change: Json | None = None  # those behind the change that a call is about to make, if it is told
        self._now: ContextVar[PlayedRecording] = ContextVar("reel", default=self.reel)

    @property
    def now(self) -> PlayedRecording:
        return self._now.get()

    # -- replies

    def choose(self, body: Mapping[str, Any], script: MockScript) -> ChosenStep:
        """Return the recorded reply for a request. Raises EndOfRecording if there is none."""
        return ChosenStep("record", 0, self._step(bool(body.get("tools"))), "")

    def _step(self, is_turn: bool) -> ScriptStep:
        reel = self.now
        while self.next() is not None:
            match reel.items.popleft():
                case Take() as take:
                    reel.running = {call for call in take.calls if call in reel.cassette.names}
                    if reel is self.reel and take.cwd:
                        self.move(take.cwd, take.branch)
                    return take.step
                case Fail(fault):
                    return ScriptStep(fault=fault)
                case RecordedCompaction(step) if not is_turn:
                    return step
                case Stop():
                    return ScriptStep(content=[], fault=HANG)
        raise EndOfRecording

    def next(self) -> Item | None:
        """Return the next item; prompts queued before it are sent, and items of calls that do not run are skipped."""
        reel = self.now
        while reel.items and isinstance(reel.items[0], RecordedQueued | Hold | Sign | Save | RecordedResult):
            self._pass(reel.items.popleft())
        return reel.items[0] if reel.items else None

    def _pass(self, item: Item) -> None:
        if isinstance(item, RecordedQueued) and self.now is self.reel:
            self.queue(UserPrompt(item.content, tuple(item.notes)))

    def held(self) -> str:
        """Return why the model may not stop yet; empty if it may."""
        items = self.now.items
        while items and not isinstance(items[0], Hold | Take | RecordedCompaction | Fail | Stop):
            self._pass(items.popleft())
        if len(items) > 1 and isinstance(items[0], Hold):
            held = items.popleft()
            assert isinstance(held, Hold)
            return held.reason
        return ""

    # -- results

    async def perform(self, given: Json, scene: ToolContext) -> CallResult:
        """Return the recorded result of a call when it is due, after playing the agent that it started."""
        reel, call = self.now, scene.call_id
        agent = reel.cassette.agents.get(call)
        if agent is not None and scene.send is not None:
            await self._send(agent, given, scene)
        is_there = await self.await_turn(call, scene)
        return self._recorded(call) if is_there else CallResult(LOST, is_error=True)

    def settle(self, scene: ToolContext) -> CallResult:
        """Consume the recorded result of a call that is run again, and everything recorded about the call."""
        reel, call = self.now, scene.call_id
        own = [item for item in reel.items if isinstance(item, _OF_CALLS) and item.call == call]
        reel.items = deque(item for item in reel.items if item not in own)
        self.change = next((item.backups for item in own if isinstance(item, Save)), None)
        self._leave(call, scene)
        return self._recorded(call)

    def _recorded(self, call: str) -> CallResult:
        outcome = self.now.cassette.outcomes.get(call)
        if outcome is None:
            return CallResult(LOST, is_error=True)
        found = outcome.result
        return CallResult(found.content, found.detail, found.is_error, tuple(outcome.notes))

    def _leave(self, call: str, scene: ToolContext) -> None:
        """Finish a call. After the last one the user may have interrupted."""
        reel = self.now
        reel.running.discard(call)
        if not reel.running and reel.items and isinstance(reel.items[0], Stop):
            reel.items.popleft()
            scene.stopped.set()

    async def _send(self, agent: Recording, given: Json, scene: ToolContext) -> None:
        assert scene.send is not None
        reel = PlayedRecording(agent)
        reel.load(item for act in agent.acts if isinstance(act, Say) for item in act.items)
        token = self._now.set(reel)
        try:
            await scene.send({"prompt": "", **given, "run_in_background": False}, scene)  # here it is waited for
        except (ToolFailed, EndOfRecording):
            pass  # what the agent came to is in the record
        finally:
            self._now.reset(token)

    async def await_turn(self, call: str, scene: ToolContext) -> bool:
        """Wait until the result of a call is due, and report the items before it. Return False if there is none."""
        reel = self.now
        is_there = False
        async with reel.turn:
            while not is_there and reel.items:
                head = reel.items[0]
                if isinstance(head, _OF_CALLS) and head.call != call and head.call in reel.running:
                    await reel.turn.wait()
                    continue
                if not isinstance(head, RecordedQueued | Hold | Sign | Save | RecordedResult):
                    break
                reel.items.popleft()
                reel.turn.notify_all()
                if isinstance(head, _OF_CALLS) and head.call == call:
                    is_there = isinstance(head, RecordedResult)
                    await self._tell(head, scene)
                else:
                    self._pass(head)
            self._leave(call, scene)
            reel.turn.notify_all()
        return is_there

    async def _tell(self, item: Sign | Save | RecordedResult, scene: ToolContext) -> None:
        if isinstance(item, Sign):
            await scene.progress(item.data)
        elif isinstance(item, Save):
            self.change = item.backups
            scene.before_change(Path(next(reversed(item.backups), "")))


class RecordedTool:
    """A tool that returns recorded results."""

    description = "Gives back what was recorded."

    def __init__(self, name: str, deck: RecordingPlayer) -> None:
        self.name = name
        self.schema: Json = {"type": "object"}
        self._deck = deck

    def is_read_only(self, input: Json) -> bool:
        return True

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        return await self._deck.perform(input, scene)


class RecordedHooks:
    """Hooks that repeat their recorded decisions: continue, or stop here."""

    def __init__(self, deck: RecordingPlayer) -> None:
        self._deck = deck

    async def run(self, event: str, payload: Json) -> HookOutcome:
        reel = self._deck.now
        if event in ("Stop", "SubagentStop") and (reason := self._deck.held()):
            return HookOutcome(block=True, reason=reason)
        if event.startswith("PostToolUse") and reel.ends and reel.is_played:
            return HookOutcome(stop=True, reason="the record ends here")
        return HookOutcome()


class RecordedCompactor(Compactor, kw_only=True):
    """Compacts at the recorded positions."""

    deck: RecordingPlayer

    async def make_room(self, more: int = 0) -> None:
        found = self.deck.next()
        if isinstance(found, RecordedCompaction):
            await self.compact("manual" if found.trigger == "manual" else "auto")

    async def compact(self, trigger: Literal["auto", "manual"], wish: str = "", text: str = "") -> bool:
        return isinstance(self.deck.next(), RecordedCompaction) and await super().compact(trigger, wish, text)


class RecordedBackups(Backups):
    """Recorded backups: nothing is read or saved."""

    def __init__(self, deck: RecordingPlayer) -> None:
        super().__init__(Path(), Path())
        self._deck = deck
        self._prompt, self._when = "", ""

    def at_prompt(self, prompt: str, time: str) -> Json:
        self._prompt, self._when = prompt, time
        return journal_lines.snapshot(prompt, prompt, self._deck.saved, time)

    def before_change(self, path: Path, line: str, time: str) -> Json | None:
        backups, self._deck.change = self._deck.change, None
        return journal_lines.snapshot(line, self._prompt, backups, self._when) if backups is not None else None
