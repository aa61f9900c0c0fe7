"""What the tests of the engine share: a session of its own against a mock over a real socket, and tools that are real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from clew.api.client import Client
from clew.api.endpoint import PROFILES, Endpoint
from clew.api.mock.scripts import AnyStep, MockScript, ScriptRule
from clew.api.mock.server import MockServer, running
from clew.api.retry import Retry
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.cost import ConversationCost
from clew.chat.deps import AllowAll, Deps, NoHooks
from clew.chat.engine import Engine
from clew.chat.events import Event, TurnFinished
from clew.chat.open_conversation import open_conversation
from clew.chat.session_factory import build_deps, run_engine
from clew.chat.session_spec import SessionSpec
from clew.chat.store.file_snapshots import Backups
from clew.chat.store.journal import Clock, Journal, now
from clew.chat.store.journal_lines import Envelope
from clew.chat.store.live_conversation import LiveConversation
from clew.chat.tools.tool import CallResult, Tool, ToolContext, ToolState
from clew.chat.tools.tool_spec import TEXT, SpecTool, object_schema, optional_field, required_field
from clew.conversation.load import read, request
from clew.conversation.session import Session
from clew.wire.json_codec import Json, decode
from clew.wire.project_slug import slug

MODEL = "claude-sonnet-4-5"
SESSION = "5b5d0c1e-93a1-4c5e-8a4e-0d6f1d8f2a11"
KINDS = {"general-purpose": AgentKind("general-purpose", "Anything.", "You are an agent.")}


async def _echo(input: Json, scene: ToolContext) -> CallResult:
    return CallResult(str(input["text"]), {"text": input["text"]})


async def _save(input: Json, scene: ToolContext) -> CallResult:
    path = scene.state.cwd / str(input["path"])
    scene.before_change(path)
    path.write_text(str(input["text"]))
    await scene.progress({"type": "bash_progress", "output": "half", "elapsedTimeSeconds": 2})
    return CallResult("saved", {"type": "create", "filePath": str(path)})


async def _send(input: Json, scene: ToolContext) -> CallResult:
    assert scene.send is not None
    return await scene.send(input, scene)


ECHO = SpecTool("Echo", "Says it again.", object_schema(text=required_field(TEXT, "what")), _echo, reads=True)
SAVE = SpecTool(
    "Save", "Saves.", object_schema(path=required_field(TEXT, "where"), text=required_field(TEXT, "what")), _save
)
AGENT = SpecTool(
    "Task",
    "Sends an agent.",
    object_schema(
        description=required_field(TEXT, "a"),
        prompt=required_field(TEXT, "b"),
        subagent_type=optional_field(TEXT, "c"),
        isolation=optional_field(TEXT, "d"),
    ),
    _send,
)
TOOLS: tuple[Tool, ...] = (ECHO, SAVE, AGENT)


def use(tool: str, **given: Any) -> str | Json:
    return {"tool": tool, "input": given}


def waiting(release: asyncio.Event, begun: asyncio.Event, heeds: bool = True) -> SpecTool:
    """A tool that waits until it is let go, or stopped."""

    async def wait(input: Json, scene: ToolContext) -> CallResult:
        begun.set()
        watched = [asyncio.create_task(release.wait())] + [asyncio.create_task(scene.stopped.wait())] * heeds
        await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        for task in watched:
            task.cancel()
        return CallResult("waited")

    return SpecTool("Wait", "Waits.", object_schema(), wait)


@dataclass
class World:
    """One project, one server, and the sessions in it."""

    root: Path
    server: MockServer
    events: list[Event] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)

    @property
    def project(self) -> Path:
        return self.root / "project"

    def path(self, session: str = SESSION) -> Path:
        return self.root / "claude" / "projects" / slug(str(self.project)) / f"{session}.jsonl"

    def session(self, session: str = SESSION) -> Session:
        return read(self.path(session))

    def lines(self, session: str = SESSION) -> list[Json]:
        return [decode(line) for line in self.path(session).read_bytes().splitlines()]

    def kinds(self) -> list[str]:
        """Each line as a word: its type, with what tells it apart."""
        return [_kind(line) for line in self.lines()]

    def of(self, kind: type[Event]) -> list[Any]:
        return [each for each in self.events if isinstance(each, kind)]

    @property
    def endpoint(self) -> Endpoint:
        return Endpoint(self.server.url, key="sk-ant-test", profile=PROFILES["anthropic"])

    def client(self, retry: Retry | None = None) -> Client:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        return Client(self.endpoint, retry, sleep=sleep, chance=lambda: 0.5)

    def engine(
        self,
        client: Client,
        tools: tuple[Tool, ...] = TOOLS,
        *,
        change: Callable[[Deps], Deps] = lambda means: means,
        journal: Mapping[str, Any] | None = None,
        session: str = SESSION,
        entrypoint: str = "cli",
        kinds: Mapping[str, AgentKind] = KINDS,
        is_trusted: bool = False,
    ) -> Engine:
        self.project.mkdir(parents=True, exist_ok=True)
        envelope = Envelope(session, str(self.project), "main", entrypoint=entrypoint)
        state = ToolState(self.project, self.project, (self.project,), is_trusted=is_trusted)
        kept = Journal(self.path(session), envelope, **(journal or {"durability": "off"}))
        backups = Backups(self.root / "claude" / "file-history" / session, self.project)
        dialogue = LiveConversation(kept, state, MODEL, backups=backups)
        means = Deps(client, {tool.name: tool for tool in tools}, self.events.append, ConversationCost())
        return Engine(dialogue, change(means), kinds)

    def run(self, *prompts: str, **more: Any) -> TurnFinished:
        """A fresh session with these prompts; how the last one ended."""

        async def all_of_them(engine: Engine) -> TurnFinished:
            return [await engine.submit(prompt) for prompt in prompts][-1]

        done: TurnFinished = self.drive(all_of_them, **more)
        return done

    def drive(self, drive: Callable[[Engine], Awaitable[Any]], retry: Retry | None = None, **more: Any) -> Any:
        async def run() -> Any:
            async with self.client(retry) as client:
                return await drive(self.engine(client, **more))

        return asyncio.run(run())

    @property
    def sent(self) -> list[Json]:
        """The bodies of the conversation's requests."""
        return [row["body"] for row in self.server.rows if row["path"] == "/v1/messages"]

    @property
    def charged(self) -> Json:
        """What the ledger of the mock charges in all."""
        rows = [row["usage"] for row in self.server.rows if row["usage"]]
        return {name: sum(row.get(name, 0) or 0 for row in rows) for name in COUNTS}


@asynccontextmanager
async def open_engine(
    made: World,
    spec: SessionSpec,
    tools: Sequence[Tool] = TOOLS,
    kinds: Mapping[str, AgentKind] | None = None,
    clock: Clock = now,
) -> AsyncIterator[Engine]:
    """The engine of a session with these tools, which allows every call and runs no hooks."""
    async with made.client() as client:
        with open_conversation(spec, clock=clock) as opened:
            cwd = opened.conversation.state.cwd
            emit = made.events.append
            deps = build_deps(spec, client, tools, emit, cwd=cwd, permissions=AllowAll(), hooks=NoHooks(), clock=clock)
            async with run_engine(spec, opened, deps, kinds or {}) as engine:
                yield engine


COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def counts(usage: Json) -> Json:
    return {name: usage[name] for name in COUNTS}


@contextmanager
def world(folder: Path, *steps: AnyStep, rules: list[ScriptRule] | None = None, **more: Any) -> Iterator[World]:
    """A world whose model says these steps to the first prompt that holds `go`, or as the rules tell."""
    script = MockScript(rules=rules or [ScriptRule(prompt="go", steps=list(steps))], **more)
    with running(script, keeps_bodies=True) as server:
        yield World(folder.resolve(), server)


def sound(path: Path) -> list[Json]:
    """What a resume of a file would send, which must be right."""
    from clew.api.lint import lint

    made = request(read(path))
    assert not made.refusal, made.refusal
    assert [v for v in lint([*made.messages, {"role": "user", "content": "next"}]) if v.is_refused] == []
    return made.messages


def _kind(line: Json) -> str:
    content = line.get("message", {}).get("content")
    block = content[0] if isinstance(content, list) and content else {}
    if line["type"] == "assistant":
        is_made_up = line["message"]["model"] == "<synthetic>"
        who = "error" if line.get("isApiErrorMessage") else "synthetic" if is_made_up else "said"
        return f"{who}:{block['type']}"
    if line["type"] == "user":
        if block.get("type") == "tool_result":
            return "result"
        if str(block.get("text", "")).startswith("[Request interrupted"):
            return "interrupted"
        return "note" if line.get("isMeta") else "summary-entry" if line.get("isCompactSummary") else "user"
    if line["type"] == "system":
        return str(line["subtype"])
    if line["type"] == "queue-operation":
        return str(line["operation"])
    return "snapshot" if line["type"] == "file-history-snapshot" else str(line["type"])


def limited(**limits: Any) -> Callable[[Deps], Deps]:
    return lambda means: replace(means, limits=replace(means.limits, **limits))
