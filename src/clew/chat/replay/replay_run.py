"""Replay a recorded session: the engine runs again with the recording instead of a model.

The engine is the one of a normal chat. Its model is a mock with the recorded replies, its tools return recorded
results or run again (`live`), and its clock and ids come from a seed, so that two replays of a session write the
same bytes. Nothing is written to disk.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args
from uuid import UUID

from msgspec import Struct, field

from clew.api.client import Client
from clew.api.endpoint import PROFILES, Endpoint
from clew.api.mock.in_process import InProcessMock
from clew.api.mock.mock_api import Mock
from clew.api.mock.scripts import MockScript
from clew.api.retry import Retry
from clew.chat import events
from clew.chat.agents.agent_kind import DEFAULT_KIND, AgentKind
from clew.chat.config.permission_mode import Mode
from clew.chat.cost import ConversationCost
from clew.chat.deps import ConversationLimits, Deps
from clew.chat.engine import Engine
from clew.chat.replay.live_tools import LiveTools
from clew.chat.replay.recording import ManualCompaction, RecordedCommand, RecordedPrompt, Recording, TitleChange
from clew.chat.replay.recording_playback import (
    EndOfRecording,
    RecordedBackups,
    RecordedCompactor,
    RecordedHooks,
    RecordedTool,
    RecordingPlayer,
)
from clew.chat.store.journal import Journal
from clew.chat.store.journal_lines import Envelope
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.store.pending_prompts import UserPrompt
from clew.chat.tools.tool import Tool, ToolState
from clew.wire.json_codec import Json

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
_TICK = timedelta(milliseconds=1)
_SCRIPT = MockScript(strict=False)


class Played(Struct):
    """The output of a replay: the lines of the session, and those of each agent by call."""

    lines: list[Json] = field(default_factory=list)
    agents: dict[str, list[Json]] = field(default_factory=dict)
    agent_ids: dict[str, str] = field(default_factory=dict)
    unplayed: int = 0  # actions whose replies the engine did not request completely


def recorded_tools(recording: Recording, player: RecordingPlayer) -> Sequence[Tool]:
    """Return tools with recorded results."""
    names = dict.fromkeys(["Read", *(name for each in recording.all() for name in each.names.values())])
    return [RecordedTool(name, player) for name in names]


async def play(recording: Recording, live: LiveTools | None = None, *, seed: int = 0) -> Played:
    """Replay a session, with recorded or live tools."""
    with TemporaryDirectory(prefix="clew-replay-") as scratch:
        run = _Run(recording, Path(scratch), live, seed)
        player = run.player
        transport = InProcessMock(Mock(_SCRIPT, player.choose, checks=False), lambda: run.engine.interrupt())
        endpoint = Endpoint("http://127.0.0.1", key="replay", profile=PROFILES["anthropic"])
        retry = Retry(tries=max(each.tries for each in recording.all()))
        async with Client(endpoint, retry, transport=transport, sleep=_skip_wait, chance=lambda: 0.0) as client:
            run.begin(client, live.tools(player) if live else recorded_tools(recording, player))
            await run.play_all()
        return run.played


async def _skip_wait(seconds: float) -> None:
    """Do not wait in a replay."""


class _Run:
    """One session during replay."""

    engine: Engine

    def __init__(self, recording: Recording, scratch: Path, live: LiveTools | None, seed: int) -> None:
        self.player = RecordingPlayer(recording, queue=self._queue, move=self._move)
        self._recording = recording
        self._live = live
        self._folder = live.folder if live else Path(recording.cwd or "/")
        self._path = scratch / "projects" / "replayed" / f"{recording.session_id or 'session'}.jsonl"
        self._random = random.Random(seed)
        self._time = BEGINNING
        self._states: dict[int, tuple[list[Json], str | None]] = {-1: ([], None)}
        self._files: dict[str, list[Json]] = {}
        self.played = Played()

    def begin(self, client: Client, tools: Sequence[Tool]) -> None:
        recording, player = self._recording, self.player
        envelope = Envelope(recording.session_id, recording.cwd, recording.branch, recording.name, recording.entrypoint)
        journal = Journal(self._path, envelope, clock=self._clock, ids=self._id, write=self._write, durability="off")
        state = ToolState(self._folder, self._folder, (self._folder,))
        conversation = LiveConversation(
            journal,
            state,
            recording.model or "claude",
            backups=RecordedBackups(player) if recording.has_backups else None,
        )
        deps = Deps(
            client,
            {tool.name: tool for tool in tools},
            self._handle_event,
            ConversationCost(),
            hooks=RecordedHooks(player),
            limits=ConversationLimits(auto_compact=False, parallel_calls=1 << 16),
            stopwatch=lambda: 0.0,
        )
        kinds = dict.fromkeys([DEFAULT_KIND, *(kind for each in recording.all() for kind in each.kinds)])
        self.engine = Engine(
            conversation,
            deps,
            {name: AgentKind(name, "", "") for name in kinds},
            compactor=lambda d, m, stopped: RecordedCompactor(d, m, stopped, player=player),
        )

    async def play_all(self) -> None:
        for number, action in enumerate(self._recording.actions):
            match action:
                case RecordedPrompt():
                    await self._submit(action)
                case ManualCompaction():
                    self.player.playback.load(action.items)
                    await self._run_to_end(
                        self.engine.run_compact(action.wish) if action.is_typed else self.engine.compact()
                    )
                case RecordedCommand():
                    self.engine.conversation.command(action.name, action.arguments, action.output)
                case TitleChange():
                    self.engine.rename(action.title)
            self.played.unplayed += not self.player.playback.is_played
            self._states[number] = (list(self.engine.conversation.messages), self.engine.conversation.journal.leaf)
        self._collect_lines()

    async def _submit(self, action: RecordedPrompt) -> None:
        engine, conversation = self.engine, self.engine.conversation
        if action.back_to is not None and action.back_to in self._states:
            messages, conversation.journal.leaf = self._states[action.back_to]
            conversation.messages = list(messages)
        if action.cwd:
            self._move(action.cwd, action.branch)
        mode: Mode | None = next((each for each in get_args(Mode) if each == action.mode), None)
        if mode is not None:
            engine.use_mode(mode)
        conversation.state.todos = list(action.todos)
        self.player.saved = action.backups or {}
        self.player.playback.load(action.items, action.ends)
        await self._run_to_end(engine.submit(UserPrompt(action.content, tuple(action.notes))))

    async def _run_to_end(self, work: Awaitable[object]) -> None:
        """Run until the turn or the recording ends."""
        try:
            await work
        except EndOfRecording:
            pass
        self.engine.conversation.queue.clear()

    def _queue(self, prompt: UserPrompt) -> None:
        self.engine.queue(prompt)

    def _move(self, cwd: str, branch: str) -> None:
        """Use the folder and branch of the recorded lines. Live tools keep their own."""
        self.engine.conversation.journal.move(cwd, branch)
        if self._live is None:
            self.engine.conversation.state.cwd = Path(cwd)

    # -- clock, ids, output and events of the engine

    def _clock(self) -> datetime:
        self._time += _TICK
        return self._time

    def _id(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _write(self, path: Path, lines: Sequence[Json], sync: bool) -> None:
        recorded = [self._live.to_recorded_paths(line) for line in lines] if self._live else lines
        self._files.setdefault(path.stem, []).extend(recorded)

    def _handle_event(self, event: events.Event) -> None:
        if isinstance(event, events.AgentStarted):
            self.played.agent_ids[event.agent] = event.agent_id

    def _collect_lines(self) -> None:
        self.played.lines = self._files.get(self._path.stem, [])
        for call, ident in self.played.agent_ids.items():
            self.played.agents[call] = self._files.get(f"agent-{ident}", [])
