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
    CallItem,
    Interruption,
    Item,
    RecordedCompaction,
    RecordedFailure,
    RecordedProgress,
    RecordedPrompt,
    RecordedQueued,
    RecordedReply,
    RecordedResult,
    RecordedSnapshot,
    Recording,
    RequestItem,
    StopHookBlock,
)
from clew.chat.store import journal_lines
from clew.chat.store.file_snapshots import Backups
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.tool import CallResult, RunAgent, ToolContext, ToolFailed
from clew.chat.turn.compaction import Compactor
from clew.wire.json_codec import Json

LOST = "The recording has no result of this call."


class EndOfRecording(Exception):
    """The recording has no further reply."""


class PlayedRecording:
    """One conversation during playback."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.items: deque[Item] = deque()
        self.running: set[str] = set()
        self.turn = asyncio.Condition()
        self.ends = False

    def load(self, items: Iterable[Item], ends: bool = False) -> None:
        """Start to play the items of an action."""
        self.items, self.ends = deque(items), ends
        self.running = set()

    @property
    def is_played(self) -> bool:
        """Return True if all replies were sent."""
        return not self.running and not any(isinstance(item, RequestItem) for item in self.items)


class RecordingPlayer:
    """Plays a recording to one engine."""

    def __init__(
        self, recording: Recording, *, queue: Callable[[UserPrompt], None], move: Callable[[str, str], None]
    ) -> None:
        """`queue` queues a prompt, `move` changes the folder and the branch of the engine."""
        self.playback = PlayedRecording(recording)
        self._queue = queue
        self._move = move
        self.saved: Json = {}  # backups at the prompt
        self.change: Json | None = None  # backups after the change that a call is about to make, if recorded
        self._now: ContextVar[PlayedRecording] = ContextVar("playback", default=self.playback)

    @property
    def now(self) -> PlayedRecording:
        return self._now.get()

    # -- replies

    def choose(self, body: Mapping[str, Any], script: MockScript) -> ChosenStep:
        """Return the recorded reply for a request. Raises EndOfRecording if there is none."""
        return ChosenStep("record", 0, self._next_step(bool(body.get("tools"))), "")

    def _next_step(self, is_turn: bool) -> ScriptStep:
        playback = self.now
        while self.next() is not None:
            match playback.items.popleft():
                case RecordedReply() as reply:
                    playback.running = {call for call in reply.calls if call in playback.recording.names}
                    if playback is self.playback and reply.cwd:
                        self._move(reply.cwd, reply.branch)
                    return reply.step
                case RecordedFailure(fault):
                    return ScriptStep(fault=fault)
                case RecordedCompaction(step) if not is_turn:
                    return step
                case Interruption():
                    return ScriptStep(content=[], fault=HANG)
        raise EndOfRecording

    def next(self) -> Item | None:
        """Return the next item; prompts queued before it are sent, and items of calls that do not run are skipped."""
        playback = self.now
        while playback.items and isinstance(playback.items[0], RecordedQueued | StopHookBlock | CallItem):
            self._skip_item(playback.items.popleft())
        return playback.items[0] if playback.items else None

    def _skip_item(self, item: Item) -> None:
        if isinstance(item, RecordedQueued) and self.now is self.playback:
            self._queue(UserPrompt(item.content, tuple(item.notes)))

    def stop_hook_reason(self) -> str:
        """Return why the model may not stop yet; empty if it may."""
        items = self.now.items
        while items and not isinstance(items[0], StopHookBlock | RequestItem):
            self._skip_item(items.popleft())
        block = items[0] if len(items) > 1 else None
        if not isinstance(block, StopHookBlock):
            return ""
        items.popleft()
        return block.reason

    # -- results

    async def play_call(self, given: Json, scene: ToolContext) -> CallResult:
        """Return the recorded result of a call when it is due, after playing the agent that it started."""
        playback, call = self.now, scene.call_id
        agent = playback.recording.agents.get(call)
        if agent is not None and scene.send is not None:
            await self._send(scene.send, agent, given, scene)
        is_there = await self.await_turn(call, scene)
        return self._recorded(call) if is_there else CallResult(LOST, is_error=True)

    def settle(self, scene: ToolContext) -> CallResult:
        """Consume the recorded result of a call that is run again, and everything recorded about the call."""
        playback, call = self.now, scene.call_id
        own = [item for item in playback.items if isinstance(item, CallItem) and item.call == call]
        playback.items = deque(item for item in playback.items if item not in own)
        self.change = next((item.backups for item in own if isinstance(item, RecordedSnapshot)), None)
        self._finish_call(call, scene)
        return self._recorded(call)

    def _recorded(self, call: str) -> CallResult:
        outcome = self.now.recording.outcomes.get(call)
        if outcome is None:
            return CallResult(LOST, is_error=True)
        result = outcome.result
        return CallResult(result.content, result.detail, result.is_error, tuple(outcome.notes))

    def _finish_call(self, call: str, scene: ToolContext) -> None:
        """Finish a call. After the last one the user may have interrupted."""
        playback = self.now
        playback.running.discard(call)
        if not playback.running and playback.items and isinstance(playback.items[0], Interruption):
            playback.items.popleft()
            scene.stopped.set()

    async def _send(self, send: RunAgent, agent: Recording, given: Json, scene: ToolContext) -> None:
        playback = PlayedRecording(agent)
        playback.load(item for action in agent.actions if isinstance(action, RecordedPrompt) for item in action.items)
        token = self._now.set(playback)
        try:
            await send({"prompt": "", **given, "run_in_background": False}, scene)  # wait for it
        except (ToolFailed, EndOfRecording):
            pass  # the recording contains the result of the agent
        finally:
            self._now.reset(token)

    async def await_turn(self, call: str, scene: ToolContext) -> bool:
        """Wait until the result of a call is due, and report the items before it. Return False if there is none."""
        playback = self.now
        is_there = False
        async with playback.turn:
            while not is_there and playback.items:
                head = playback.items[0]
                if isinstance(head, CallItem) and head.call != call and head.call in playback.running:
                    await playback.turn.wait()
                    continue
                if not isinstance(head, RecordedQueued | StopHookBlock | CallItem):
                    break
                playback.items.popleft()
                playback.turn.notify_all()
                if isinstance(head, CallItem) and head.call == call:
                    is_there = isinstance(head, RecordedResult)
                    await self._report_item(head, scene)
                else:
                    self._skip_item(head)
            self._finish_call(call, scene)
            playback.turn.notify_all()
        return is_there

    async def _report_item(self, item: CallItem, scene: ToolContext) -> None:
        if isinstance(item, RecordedProgress):
            await scene.progress(item.data)
        elif isinstance(item, RecordedSnapshot):
            self.change = item.backups
            scene.before_change(Path(next(reversed(item.backups), "")))


class RecordedTool:
    """A tool that returns recorded results."""

    description = "Returns the recorded result."

    def __init__(self, name: str, player: RecordingPlayer) -> None:
        self.name = name
        self.schema: Json = {"type": "object"}
        self._player = player

    def is_read_only(self, input: Json) -> bool:
        return True

    async def check(self, input: Json, scene: ToolContext) -> None:
        """Accept any input: the result is recorded."""

    async def call(self, input: Json, scene: ToolContext) -> CallResult:
        return await self._player.play_call(input, scene)


class RecordedHooks:
    """Hooks that repeat their recorded decisions: continue, or stop here."""

    def __init__(self, player: RecordingPlayer) -> None:
        self._player = player

    async def run(self, event: str, payload: Json) -> HookOutcome:
        playback = self._player.now
        if event in ("Stop", "SubagentStop") and (reason := self._player.stop_hook_reason()):
            return HookOutcome(block=True, reason=reason)
        if event.startswith("PostToolUse") and playback.ends and playback.is_played:
            return HookOutcome(stop=True, reason="the recording ends here")
        return HookOutcome()

    def take_late(self) -> tuple[str, ...]:
        return ()


class RecordedCompactor(Compactor, kw_only=True):
    """Compacts at the recorded positions."""

    player: RecordingPlayer

    async def make_room(self, more: int = 0) -> None:
        item = self.player.next()
        if isinstance(item, RecordedCompaction):
            await self.compact("manual" if item.trigger == "manual" else "auto")

    async def compact(self, trigger: Literal["auto", "manual"], wish: str = "", text: str = "") -> bool:
        return isinstance(self.player.next(), RecordedCompaction) and await super().compact(trigger, wish, text)


class RecordedBackups(Backups):
    """Recorded backups: nothing is read or saved."""

    def __init__(self, player: RecordingPlayer) -> None:
        super().__init__(Path(), Path())
        self._player = player
        self._prompt, self._when = "", ""

    def at_prompt(self, prompt: str, time: str) -> Json:
        self._prompt, self._when = prompt, time
        return journal_lines.snapshot(prompt, prompt, self._player.saved, time)

    def before_change(self, path: Path, line: str, time: str) -> Json | None:
        backups, self._player.change = self._player.change, None
        return journal_lines.snapshot(line, self._prompt, backups, self._when) if backups is not None else None
