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
from clew.chat.replay.recording import Compact, RecordedCommand, Recording, Rename, Say
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
from clew.chat.store.live_conversation import LiveConversation, UserPrompt
from clew.chat.tools.tool import Tool, ToolState
from clew.wire.json_codec import Json

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
_TICK = timedelta(milliseconds=1)
_WITHOUT_ERRORS = MockScript(strict=False)


class Played(Struct):
    """The output of a replay: the lines of the session, and those of each agent by call."""

    lines: list[Json] = field(default_factory=list)
    agents: dict[str, list[Json]] = field(default_factory=dict)
    agent_ids: dict[str, str] = field(default_factory=dict)
    unplayed: int = 0  # acts whose replies the engine did not ask for to the end


def recorded_tools(cassette: Recording, deck: RecordingPlayer) -> Sequence[Tool]:
    """Return tools with recorded results."""
    names = dict.fromkeys(["Read", *(name for each in cassette.all() for name in each.names.values())])
    return [RecordedTool(name, deck) for name in names]


async def play(cassette: Recording, live: LiveTools | None = None, *, seed: int = 0) -> Played:
    """Replay a session, with recorded or live tools."""
    with TemporaryDirectory(prefix="clew-replay-") as scratch:
        deck = RecordingPlayer(cassette)
        run = _Run(cassette, deck, Path(scratch), live, seed)
        transport = InProcessMock(Mock(_WITHOUT_ERRORS, deck.choose, checks=False), lambda: run.engine.interrupt())
        endpoint = Endpoint("http://127.0.0.1", key="replay", profile=PROFILES["anthropic"])
        retry = Retry(tries=max(each.tries for each in cassette.all()))
        async with Client(endpoint, retry, transport=transport, sleep=_skip_wait, chance=lambda: 0.0) as client:
            run.begin(client, live.tools(deck) if live else recorded_tools(cassette, deck))
            await run.all()
        return run.played


async def _skip_wait(seconds: float) -> None:
    """Do not wait in a replay."""


class _Run:
    """One session during replay."""

    engine: Engine

    def __init__(
        self, cassette: Recording, deck: RecordingPlayer, scratch: Path, live: LiveTools | None, seed: int
    ) -> None:
        self._cassette = cassette
        self._deck = deck
        self._live = live
        self._folder = live.folder if live else Path(cassette.cwd or "/")
        self._path = scratch / "projects" / "replayed" / f"{cassette.session_id or 'session'}.jsonl"
        self._chance = random.Random(seed)
        self._time = BEGINNING
        self._states: dict[int, tuple[list[Json], str | None]] = {-1: ([], None)}
        self._files: dict[str, list[Json]] = {}
        self.played = Played()

    def begin(self, client: Client, tools: Sequence[Tool]) -> None:
        made, deck = self._cassette, self._deck
        envelope = Envelope(made.session_id, made.cwd, made.branch, made.name, made.entrypoint)
        journal = Journal(self._path, envelope, clock=self._clock, ids=self._id, write=self._write, durability="off")
        state = ToolState(self._folder, self._folder, (self._folder,))
        dialogue = LiveConversation(
            journal, state, made.model or "claude", backups=RecordedBackups(deck) if made.has_backups else None
        )
        means = Deps(
            client,
            {tool.name: tool for tool in tools},
            self._hear,
            ConversationCost(),
            hooks=RecordedHooks(deck),
            limits=ConversationLimits(auto_compact=False, parallel_calls=1 << 16),
            stopwatch=lambda: 0.0,
        )
        kinds = dict.fromkeys([DEFAULT_KIND, *(kind for each in made.all() for kind in each.kinds)])
        self.engine = Engine(
            dialogue,
            means,
            {name: AgentKind(name, "", "") for name in kinds},
            compactor=lambda d, m, stopped: RecordedCompactor(d, m, stopped, deck=deck),
        )
        deck.queue = self.engine.queue
        deck.move = self._move

    async def all(self) -> None:
        for number, act in enumerate(self._cassette.acts):
            match act:
                case Say():
                    await self._say(act)
                case Compact():
                    self._deck.reel.load(act.items)
                    await self._quietly(self.engine.run_compact(act.wish) if act.is_typed else self.engine.compact())
                case RecordedCommand():
                    self.engine.conversation.command(act.name, act.arguments, act.output)
                case Rename():
                    self.engine.rename(act.title)
            self.played.unplayed += not self._deck.reel.is_played
            self._states[number] = (list(self.engine.conversation.messages), self.engine.conversation.journal.leaf)
        self._sort()

    async def _say(self, act: Say) -> None:
        engine, dialogue = self.engine, self.engine.conversation
        if act.back_to is not None and act.back_to in self._states:
            messages, dialogue.journal.leaf = self._states[act.back_to]
            dialogue.messages = list(messages)
        if act.cwd:
            self._move(act.cwd, act.branch)
        mode: Mode | None = next((each for each in get_args(Mode) if each == act.mode), None)
        if mode is not None:
            engine.use_mode(mode)
        dialogue.state.todos = list(act.todos)
        self._deck.saved = act.backups or {}
        self._deck.reel.load(act.items, act.ends)
        await self._quietly(engine.submit(UserPrompt(act.content, tuple(act.notes))))

    async def _quietly(self, work: Awaitable[object]) -> None:
        """Run to the end of the recording, which may come before the end of the turn."""
        try:
            await work
        except EndOfRecording:
            pass
        self.engine.conversation.queue.clear()

    def _move(self, cwd: str, branch: str) -> None:
        """Use the folder and branch of the recorded lines. Live tools keep their own."""
        self.engine.conversation.journal.move(cwd, branch)
        if self._live is None:
            self.engine.conversation.state.cwd = Path(cwd)

    # -- what the engine is given

    def _clock(self) -> datetime:
        self._time += _TICK
        return self._time

    def _id(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))

    def _write(self, path: Path, lines: Sequence[Json], sync: bool) -> None:
        told = [self._live.there(line) for line in lines] if self._live else lines
        self._files.setdefault(path.stem, []).extend(told)

    def _hear(self, told: events.Event) -> None:
        if isinstance(told, events.AgentStarted):
            self.played.agent_ids[told.agent] = told.agent_id

    def _sort(self) -> None:
        self.played.lines = self._files.get(self._path.stem, [])
        for call, ident in self.played.agent_ids.items():
            self.played.agents[call] = self._files.get(f"agent-{ident}", [])
