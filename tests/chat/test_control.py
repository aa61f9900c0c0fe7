"""The control protocol, line by line: what an SDK says, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.api.mock.scripts import ScriptRule
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.config.permission_mode import Mode
from clew.chat.config.plugins import Plugin
from clew.chat.config.settings import Settings
from clew.chat.config.skill_files import Skill
from clew.chat.deps import Deps
from clew.chat.engine import Engine
from clew.chat.events import Emit, TurnFinished
from clew.chat.hooks.runner import Hooks
from clew.chat.mcp.mcp_client import McpServer
from clew.chat.permission.decide import Permissions
from clew.chat.permission.decision import Decision
from clew.chat.sdk.control import Control
from clew.chat.sdk.sdk_frames import MAX_LINE, FrameBuilder
from clew.chat.sdk.sdk_init import SdkInit
from clew.chat.session_config import SessionConfig
from clew.chat.store.pending_prompts import UserPrompt
from clew.wire.json_codec import Json, decode, encode
from tests.chat.chat_fixture import TOOLS, World, use, waiting, world

HELLO = {"type": "control_request", "request_id": "r0", "request": {"subtype": "initialize", "hooks": None}}
GOES = ScriptRule(prompt="go", steps=[[use("Wait")], "done"])
Answer = Callable[[Json], Json | None]


def prompt(text: str) -> Json:
    return {"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": None}


def ask(kind: str, **fields: Any) -> Json:
    return {"type": "control_request", "request_id": kind, "request": {"subtype": kind, **fields}}


class AskFirst:
    """Asks before anything is saved."""

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        return Decision("ask" if tool == "Save" else "allow")

    def apply(self, update: Json) -> Mode | None:
        return None


@dataclass(frozen=True)
class Plain:
    """A session without commands."""

    engine: Engine
    permissions: Permissions
    settings: Settings = field(default_factory=Settings)
    servers: list[McpServer] = field(default_factory=list)
    skills: dict[str, Skill] = field(default_factory=dict)
    kinds: dict[str, AgentKind] = field(default_factory=dict)
    plugins: list[Plugin] = field(default_factory=list)
    style: str = "default"
    styles: list[str] = field(default_factory=list)

    async def say(self, text: str, uuid: str = "") -> TurnFinished:
        return await self.engine.submit(UserPrompt(text, uuid=uuid))

    def reload(self, plugins: Sequence[Path] = ()) -> SessionConfig:
        raise NotImplementedError


class Sdk:
    """The other side: says its lines, each when the frame it waits for has come, and answers what it is asked."""

    def __init__(self, world: World, answer: Answer = lambda request: {}) -> None:
        self.world = world
        self.frames: list[Json] = []
        self._answer = answer
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._news = asyncio.Event()

    def write(self, line: bytes) -> None:
        frame: Json = decode(line)
        self.frames.append(frame)
        self._news.set()
        if frame["type"] == "control_request" and (found := self._answer(frame["request"])) is not None:
            response = {"subtype": "success", "request_id": frame["request_id"], "response": found}
            self.say({"type": "control_response", "response": response})

    def say(self, *lines: Json) -> None:
        for line in lines:
            self._lines.put_nowait(encode(line) + b"\n")

    async def heard(self, is_it: Callable[[Json], bool]) -> Json:
        while True:
            for frame in self.frames:
                if is_it(frame):
                    return frame
            self._news.clear()
            await self._news.wait()

    async def result(self, number: int = 1) -> Json:
        await self.heard(lambda frame: len(self.of("result")) >= number)
        return self.of("result")[number - 1]

    def of(self, kind: str) -> list[Json]:
        return [frame for frame in self.frames if frame["type"] == kind]

    def hang_up(self) -> None:
        self._lines.put_nowait(None)

    async def lines(self) -> AsyncIterator[bytes]:
        while (line := await self._lines.get()) is not None:
            yield line

    def run(
        self,
        drive: Callable[[Sdk], Awaitable[None]],
        *,
        can_prompt_user: bool = True,
        tools: Any = TOOLS,
        permissions: Any = None,
        **more: Any,
    ) -> int:
        """Talk to a session until hanging up; the exit code."""

        async def talk() -> int:
            async with self.world.client() as client:

                async def start(brought: SdkInit, tell: Emit) -> Plain:
                    def changed(means: Deps) -> Deps:
                        known = {**means.tools, **{tool.name: tool for tool in brought.tools}}
                        hooks = Hooks(Settings(), self.world.project, brought.hooks)
                        made = replace(
                            means, tools=known, emit=tell, permissions=permissions or AskFirst(), hooks=hooks
                        )
                        return replace(made, can_prompt_user=can_prompt_user)

                    rules = Permissions(Settings(), self.world.project, self.world.root)
                    engine = self.world.engine(client, tuple(tools), change=changed, entrypoint="sdk-py")
                    return Plain(engine, rules)

                control = Control(self.write, start, more.pop("framing", FrameBuilder()), **more)
                running = asyncio.create_task(control.run(self.lines()))
                await drive(self)
                self.hang_up()
                return await running

        return asyncio.run(talk())


def test_a_turn_is_framed_in_order(tmp_path: Path) -> None:
    with world(tmp_path, [use("Echo", text="hi")], "done") as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            sdk.say(HELLO, prompt("go"))
            await sdk.result()

        assert sdk.run(drive) == 0
        told = [(frame["type"], frame.get("subtype")) for frame in sdk.frames]
        assert told == [
            ("control_response", None),
            ("system", "init"),
            ("assistant", None),
            ("user", None),
            ("assistant", None),
            ("result", "success"),
        ]
        assert sdk.frames[0]["response"]["request_id"] == "r0"
        assert {frame["session_id"] for frame in sdk.frames[1:]} == {here.session().id}
        assert [entry.uuid for entry in here.session().entries if entry.type == "assistant"] == [
            frame["uuid"] for frame in sdk.of("assistant")
        ]
        assert sdk.of("user")[0]["tool_use_result"] == {"text": "hi"}
        assert (sdk.of("result")[0]["result"], sdk.of("result")[0]["num_turns"]) == ("done", 2)


@pytest.mark.parametrize(
    ("answer", "content", "is_error"),
    [
        ({"behavior": "allow", "updatedInput": {"path": "a", "text": "other"}}, "saved", None),
        ({"behavior": "deny", "message": "not there"}, "not there", True),
    ],
)
def test_the_sdk_decides(tmp_path: Path, answer: Json, content: str, is_error: bool | None) -> None:
    with world(tmp_path, [use("Save", path="a", text="x")], "done") as here:
        sdk = Sdk(here, lambda request: answer if request["subtype"] == "can_use_tool" else {})

        async def drive(sdk: Sdk) -> None:
            sdk.say(HELLO, prompt("go"))
            await sdk.result()

        sdk.run(drive)
        (block,) = sdk.of("user")[0]["message"]["content"]
        assert (block["content"], block.get("is_error")) == (content, is_error)
        if not is_error:
            assert (here.project / "a").read_text() == "other"


def test_without_anybody_to_ask_it_is_not_done(tmp_path: Path) -> None:
    with world(tmp_path, [use("Save", path="a", text="x")], "done") as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            sdk.say(HELLO, prompt("go"))
            await sdk.result()

        sdk.run(drive, can_prompt_user=False)
        assert not (here.project / "a").exists()
        assert sdk.of("result")[0]["permission_denials"][0]["tool_name"] == "Save"


def test_hooks_live_with_the_sdk(tmp_path: Path) -> None:
    said = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
    asked: list[Json] = []

    def answer(request: Json) -> Json:
        asked.append(request)
        return said

    hooks = {"PreToolUse": [{"matcher": "Echo", "hookCallbackIds": ["hook_0"]}]}
    with world(tmp_path, [use("Echo", text="hi")], "done") as here:
        sdk = Sdk(here, answer)

        async def drive(sdk: Sdk) -> None:
            sdk.say(ask("initialize", hooks=hooks), prompt("go"))
            await sdk.result()

        sdk.run(drive)
        assert [(r["callback_id"], r["input"]["tool_name"]) for r in asked] == [("hook_0", "Echo")]
        assert sdk.of("user")[0]["message"]["content"][0]["is_error"] is True


def test_tools_of_the_sdk(tmp_path: Path) -> None:
    def answer(request: Json) -> Json:
        message = request["message"]
        found: Json = {}
        if message["method"] == "tools/list":
            found = {"tools": [{"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}]}
        elif message["method"] == "tools/call":
            given = message["params"]["arguments"]
            found = {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}
        return {"mcp_response": {"jsonrpc": "2.0", "id": message.get("id"), "result": found}}

    with world(tmp_path, [use("mcp__calc__add", a=2, b=3)], "done") as here:
        sdk = Sdk(here, answer)

        async def drive(sdk: Sdk) -> None:
            sdk.say(HELLO, prompt("go"))
            await sdk.result()

        sdk.run(drive, servers=["calc"])
        assert sdk.of("user")[0]["message"]["content"][0]["content"] == [{"type": "text", "text": "5"}]


def test_an_interrupt_is_answered_at_once_and_ends_the_turn(tmp_path: Path) -> None:
    with world(tmp_path, [use("Wait")], "done") as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            begun, never = asyncio.Event(), asyncio.Event()
            tools.append(waiting(never, begun))
            sdk.say(HELLO, prompt("go"))
            await begun.wait()
            sdk.say(ask("interrupt"))
            await sdk.heard(lambda f: f["type"] == "control_response" and f["response"]["request_id"] == "interrupt")
            await sdk.result()

        tools: list[Any] = list(TOOLS)
        code = sdk.run(drive, tools=tools)
        last = sdk.of("result")[0]
        assert (code, last["subtype"], last["is_error"]) == (1, "error_during_execution", True)
        assert sdk.of("user")[-1]["message"]["content"][0]["text"].startswith("[Request interrupted by user")


def test_what_is_said_while_a_call_runs_is_heard_with_its_result(tmp_path: Path) -> None:
    with world(tmp_path, rules=[ScriptRule(prompt="also", steps=["both"]), GOES]) as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            begun, release = asyncio.Event(), asyncio.Event()
            tools.append(waiting(release, begun))
            sdk.say(HELLO, prompt("go"))
            await begun.wait()
            sdk.say(prompt("also"), ask("get_context_usage"))
            await sdk.heard(lambda f: f["type"] == "control_response" and f["response"]["request_id"] != "r0")
            release.set()
            await sdk.result()

        tools: list[Any] = list(TOOLS)
        sdk.run(drive, tools=tools)
        assert [f["result"] for f in sdk.of("result")] == ["both"]


def test_what_is_said_while_a_call_is_broken_off_is_said_next(tmp_path: Path) -> None:
    with world(tmp_path, rules=[ScriptRule(prompt="also", steps=["Next."]), GOES]) as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            begun, never = asyncio.Event(), asyncio.Event()
            tools.append(waiting(never, begun))
            sdk.say(HELLO, prompt("go"))
            await begun.wait()
            sdk.say(prompt("also"), ask("interrupt"))
            await sdk.heard(lambda f: f["type"] == "result" and not f["is_error"])

        tools: list[Any] = list(TOOLS)
        sdk.run(drive, tools=tools)
        assert [f["subtype"] for f in sdk.of("result")] == ["error_during_execution", "success"]
        assert sdk.of("result")[1]["result"] == "Next."


def test_modes_models_and_what_nobody_knows(tmp_path: Path) -> None:
    with world(tmp_path, "one") as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            sdk.say(HELLO, ask("set_permission_mode", mode="plan"), ask("set_model", model="claude-opus-4-5"))
            sdk.say(ask("get_context_usage"), ask("fly"), {"type": "keep_alive"}, prompt("go"))
            await sdk.result()

        sdk.run(drive, tells_state=True)
        answers = {f["response"]["request_id"]: f["response"] for f in sdk.of("control_response")}
        assert answers["set_permission_mode"]["response"] == {"mode": "plan"}
        assert answers["get_context_usage"]["response"]["maxTokens"] == 200_000
        assert answers["fly"]["subtype"] == "error"
        begun = next(f for f in sdk.of("system") if f["subtype"] == "init")
        assert (begun["permissionMode"], begun["model"]) == ("plan", "claude-opus-4-5")
        states = [f["state"] for f in sdk.of("system") if f["subtype"] == "session_state_changed"]
        assert states == ["running", "idle"]


def test_a_frame_that_is_too_long_is_shortened(tmp_path: Path) -> None:
    with world(tmp_path, [use("Echo", text="x" * 2 * MAX_LINE)], "done") as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            sdk.say(HELLO, prompt("go"))
            await sdk.result()

        sdk.run(drive)
        results = [f for f in sdk.of("user") if "left out" in str(f)[-400:]]
        assert results
        assert max(len(encode(f)) for f in results) < MAX_LINE


def test_the_stream_is_told_where_it_is_wanted(tmp_path: Path) -> None:
    with world(tmp_path, "done") as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            sdk.say(HELLO, prompt("go"))
            await sdk.result()

        sdk.run(drive, framing=FrameBuilder(shows_partial=True, shows_prompts=True))
        kinds = [f["event"]["type"] for f in sdk.of("stream_event")]
        assert kinds[0] == "message_start"
        assert kinds[-1] == "message_stop"
        assert sdk.of("user")[0]["isReplay"] is True


class RuledAsk:
    """A rule of the person's asks before anything is saved."""

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        return Decision("ask", rule="Save") if tool == "Save" else Decision("allow")


def test_no_hook_answers_what_a_rule_of_the_person_asks(tmp_path: Path) -> None:
    said = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    hooks = {"PreToolUse": [{"hookCallbackIds": ["hook_0"]}]}
    asked: list[str] = []

    def answer(request: Json) -> Json:
        asked.append(request["subtype"])
        return said if request["subtype"] == "hook_callback" else {"behavior": "deny", "message": "no"}

    with world(tmp_path, [use("Save", path="a", text="x")], "done") as here:
        sdk = Sdk(here, answer)

        async def drive(sdk: Sdk) -> None:
            sdk.say(ask("initialize", hooks=hooks), prompt("go"))
            await sdk.result()

        sdk.run(drive, permissions=RuledAsk())
        assert asked == ["hook_callback", "can_use_tool"]
        assert not (here.project / "a").exists()
