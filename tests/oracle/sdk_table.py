"""The options of the Agent SDK for Python, each tried with the published Claude Code and with clew.

`python -m tests.oracle.sdk_table` tries all of them and prints a table in Markdown: what came of each option with either
program. A row is alike if the same came of it.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

from clew.api.mock.scripts import AnyStep, MockScript, ScriptRule
from clew.api.mock.server import running
from tests.chat.chat_fixture import use
from tests.chat.test_mcp_client import SERVER
from tests.oracle.claude import LATEST, command
from tests.oracle.stream_talk import environment

Json = dict[str, Any]
AGENT = str(Path(sys.executable).with_name("clew-agent"))
LIMIT = 90  # seconds for one option


@dataclass
class Talk:
    """What came of a talk: the messages that the SDK gave, and the requests that the API got."""

    messages: list[Any]
    bodies: list[Json]

    @property
    def result(self) -> ResultMessage:
        return next(message for message in reversed(self.messages) if isinstance(message, ResultMessage))

    @property
    def init(self) -> Json:
        found = [m for m in self.messages if isinstance(m, SystemMessage) and m.subtype == "init"]
        return found[-1].data

    @property
    def ending(self) -> str:
        return f"{self.result.subtype}, {self.result.num_turns} turns"

    @property
    def calls(self) -> str:
        """How the calls ended."""
        blocks = [b for m in self.messages if isinstance(m, UserMessage) for b in m.content if not isinstance(b, str)]
        ended = ["failed" if b.is_error else "done" for b in blocks if isinstance(b, ToolResultBlock)]
        return ", ".join(ended) or "no calls"

    @property
    def main(self) -> Json:
        return next(body for body in self.bodies if body.get("tools"))

    @property
    def system(self) -> str:
        system = self.main.get("system") or ""
        return system if isinstance(system, str) else " ".join(block["text"] for block in system)


@dataclass
class Bench:
    """One program with folders of its own."""

    program: str
    folder: Path
    talks: int = 0
    errors: list[str] = field(default_factory=list)

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def options(self, url: str, **more: Any) -> ClaudeAgentOptions:
        env = {**environment(self.folder / "home", url), **more.pop("env", {})}
        defaults: Json = {"cli_path": self.program, "cwd": str(self.project), "env": env}
        return ClaudeAgentOptions(**{**defaults, **more})

    async def ask(self, steps: Sequence[AnyStep] = ("Done.",), prompt: str = "go", **more: Any) -> Talk:
        """Send one prompt with these options."""
        with running(MockScript(rules=[*RULES, ScriptRule(prompt="go", steps=list(steps))]), keeps_bodies=True) as api:
            asked: Any = _stream(prompt) if "can_use_tool" in more else prompt
            messages = [message async for message in query(prompt=asked, options=self.options(api.url, **more))]
            return Talk(messages, [row["body"] for row in api.rows if row["path"] == "/v1/messages"])

    async def talk(
        self, drive: Callable[[ClaudeSDKClient], Awaitable[Any]], steps: Sequence[AnyStep], **more: Any
    ) -> Any:
        """Drive a client; return what `drive` gives, and the requests."""
        with running(MockScript(rules=[*RULES, ScriptRule(prompt="go", steps=list(steps))]), keeps_bodies=True) as api:
            async with ClaudeSDKClient(options=self.options(api.url, **more)) as client:
                given = await drive(client)
            return given, [row["body"] for row in api.rows if row["path"] == "/v1/messages"]


RULES = [ScriptRule(prompt="inner work", steps=["Inner done."])]
Feature = Callable[[Bench], Awaitable[str]]
FEATURES: dict[str, Feature] = {}


def feature(name: str) -> Callable[[Feature], Feature]:
    def add(function: Feature) -> Feature:
        FEATURES[name] = function
        return function

    return add


async def _stream(prompt: str) -> AsyncIterator[Json]:
    yield {
        "type": "user",
        "message": {"role": "user", "content": prompt},
        "parent_tool_use_id": None,
        "session_id": "x",
    }


def _write(bench: Bench, name: str = "new.txt") -> list[Any]:
    return [use("Write", file_path=str(bench.project / name), content="x\n")]


def _bash(text: str) -> list[Any]:
    return [use("Bash", command=text, description="Try")]


async def _answer(client: ClaudeSDKClient, prompt: str = "go") -> list[Any]:
    await client.query(prompt)
    return [message async for message in client.receive_response()]


@feature("query()")
async def _(bench: Bench) -> str:
    talk = await bench.ask(["Hello."])
    return f"{talk.ending}: {talk.result.result}"


@feature("system_prompt")
async def _(bench: Bench) -> str:
    return "sent" if "You are a clock." in (await bench.ask(system_prompt="You are a clock.")).system else "not sent"


@feature("system_prompt preset with append")
async def _(bench: Bench) -> str:
    preset = {"type": "preset", "preset": "claude_code", "append": "Be a clock."}
    talk = await bench.ask(system_prompt=preset)
    return "appended" if "Be a clock." in talk.system and len(talk.system) > 200 else "not appended"


@feature("allowed_tools")
async def _(bench: Bench) -> str:
    return (await bench.ask([_write(bench), "Done."], allowed_tools=["Write"])).calls


@feature("no allowed_tools")
async def _(bench: Bench) -> str:
    talk = await bench.ask([_write(bench), "Done."])
    return f"{talk.calls}, {len(talk.result.permission_denials or [])} denials"


@feature("disallowed_tools")
async def _(bench: Bench) -> str:
    talk = await bench.ask([_bash("echo hi"), "Done."], disallowed_tools=["Bash"])
    return f"{talk.calls}, Bash offered: {'Bash' in talk.init['tools']}"


@feature("tools")
async def _(bench: Bench) -> str:
    return str(sorted((await bench.ask(tools=["Read", "Bash"])).init["tools"]))


@feature("permission_mode acceptEdits")
async def _(bench: Bench) -> str:
    return (await bench.ask([_write(bench), "Done."], permission_mode="acceptEdits")).calls


@feature("permission_mode plan")
async def _(bench: Bench) -> str:
    talk = await bench.ask([_write(bench), "Done."], permission_mode="plan")
    return f"{talk.calls}, {talk.init['permissionMode']}"


@feature("permission_mode bypassPermissions")
async def _(bench: Bench) -> str:
    return (await bench.ask([_bash("touch made"), "Done."], permission_mode="bypassPermissions")).calls


@feature("can_use_tool allows, with another input")
async def _(bench: Bench) -> str:
    async def may(name: str, given: Json, context: Any) -> PermissionResultAllow:
        return PermissionResultAllow(updated_input={**given, "content": "changed\n"})

    talk = await bench.ask([_write(bench), "Done."], can_use_tool=may)
    return f"{talk.calls}: {(bench.project / 'new.txt').read_text().strip()}"


@feature("can_use_tool denies")
async def _(bench: Bench) -> str:
    async def may(name: str, given: Json, context: Any) -> PermissionResultDeny:
        return PermissionResultDeny(message="Not now.")

    talk = await bench.ask([_write(bench), "Done."], can_use_tool=may)
    return f"{talk.calls}, said: {'Not now.' in json.dumps(talk.bodies[-1]['messages'])}"


@feature("hooks PreToolUse denies")
async def _(bench: Bench) -> str:
    async def hook(given: Any, call: str | None, context: Any) -> Any:
        reason = {"permissionDecision": "deny", "permissionDecisionReason": "No hooks."}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **reason}}

    hooks = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[hook])]}
    talk = await bench.ask([_bash("echo hi"), "Done."], hooks=hooks)
    return f"{talk.calls}, said: {'No hooks.' in json.dumps(talk.bodies[-1]['messages'])}"


@feature("hooks UserPromptSubmit adds context")
async def _(bench: Bench) -> str:
    async def hook(given: Any, call: str | None, context: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "It is noon."}}

    talk = await bench.ask(hooks={"UserPromptSubmit": [HookMatcher(hooks=[hook])]})
    return "sent" if "It is noon." in json.dumps(talk.bodies[0]["messages"]) else "not sent"


@feature("mcp_servers in the program")
async def _(bench: Bench) -> str:
    @tool("add", "Adds.", {"a": int, "b": int})
    async def add(given: Json) -> Json:
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    servers = {"calc": create_sdk_mcp_server("calc", tools=[add])}
    talk = await bench.ask(
        [[use("mcp__calc__add", a=2, b=3)], "Done."], mcp_servers=servers, allowed_tools=["mcp__calc__add"]
    )
    return f"{talk.calls}, servers: {[(s['name'], s['status']) for s in talk.init['mcp_servers']]}"


@feature("mcp_servers stdio")
async def _(bench: Bench) -> str:
    path = bench.folder / "server.py"
    path.write_text(SERVER)
    servers = {"calc": {"type": "stdio", "command": sys.executable, "args": [str(path)]}}
    talk = await bench.ask(
        [[use("mcp__calc__add", a=2, b=3)], "Done."], mcp_servers=servers, allowed_tools=["mcp__calc"]
    )
    return talk.calls


@feature("max_turns")
async def _(bench: Bench) -> str:
    return (await bench.ask([_bash("echo 1"), _bash("echo 2"), "Done."], max_turns=1)).ending


@feature("max_budget_usd")
async def _(bench: Bench) -> str:
    return (await bench.ask([_bash("echo 1"), _bash("echo 2"), "Done."], max_budget_usd=0.000001)).result.subtype


@feature("model")
async def _(bench: Bench) -> str:
    return str((await bench.ask(model="claude-sonnet-5-5")).main["model"])


@feature("effort")
async def _(bench: Bench) -> str:
    return str((await bench.ask(effort="high")).main.get("output_config"))


@feature("thinking of a model with a budget")
async def _(bench: Bench) -> str:
    talk = await bench.ask(model="claude-sonnet-4-5", max_thinking_tokens=5000)
    thinking = talk.main.get("thinking") or {}
    return f"{thinking.get('type')} {thinking.get('budget_tokens')}"


@feature("output_format")
async def _(bench: Bench) -> str:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    steps: list[AnyStep] = [[use("StructuredOutput", n=3)], "Done."]
    talk = await bench.ask(steps, output_format={"type": "json_schema", "schema": schema})
    return f"{talk.result.subtype}: {talk.result.structured_output}"


@feature("resume")
async def _(bench: Bench) -> str:
    first = (await bench.ask(["First."])).result.session_id
    second = await bench.ask(["Second."], resume=first)
    return f"same session: {second.result.session_id == first}, remembers: {'First.' in json.dumps(second.bodies[-1])}"


@feature("continue_conversation")
async def _(bench: Bench) -> str:
    first = (await bench.ask(["First."])).result.session_id
    second = await bench.ask(["Second."], continue_conversation=True)
    return f"same session: {second.result.session_id == first}"


@feature("fork_session")
async def _(bench: Bench) -> str:
    first = (await bench.ask(["First."])).result.session_id
    second = await bench.ask(["Second."], resume=first, fork_session=True)
    return f"same session: {second.result.session_id == first}, remembers: {'First.' in json.dumps(second.bodies[-1])}"


@feature("session_id")
async def _(bench: Bench) -> str:
    wanted = "44444444-4444-4444-8444-444444444444"
    return f"kept: {(await bench.ask(session_id=wanted)).result.session_id == wanted}"


@feature("add_dirs")
async def _(bench: Bench) -> str:
    other = bench.folder / "other"
    other.mkdir()
    steps: list[AnyStep] = [[use("Write", file_path=str(other / "x.txt"), content="x\n")], "Done."]
    return (await bench.ask(steps, add_dirs=[str(other)], permission_mode="acceptEdits")).calls


@feature("env")
async def _(bench: Bench) -> str:
    talk = await bench.ask([_bash("echo $COLOUR"), "Done."], env={"COLOUR": "blue"}, allowed_tools=["Bash"])
    return "passed on" if "blue" in json.dumps(talk.bodies[-1]["messages"]) else "not passed on"


@feature("settings")
async def _(bench: Bench) -> str:
    rules = json.dumps({"permissions": {"allow": ["Write"]}})
    return (await bench.ask([_write(bench), "Done."], settings=rules)).calls


@feature("setting_sources without the user")
async def _(bench: Bench) -> str:
    claude = bench.folder / "home" / ".claude"
    claude.mkdir(parents=True)
    (claude / "settings.json").write_text(json.dumps({"permissions": {"allow": ["Write"]}}))
    return (await bench.ask([_write(bench), "Done."], setting_sources=["project"])).calls


@feature("agents")
async def _(bench: Bench) -> str:
    agents = {"helper": AgentDefinition(description="Helps.", prompt="You help.")}
    call = use("Task", description="Help", prompt="inner work", subagent_type="helper", run_in_background=False)
    talk = await bench.ask([[call], "Done."], agents=agents)
    return f"{talk.calls}, listed: {'helper' in talk.init['agents']}"


@feature("include_partial_messages")
async def _(bench: Bench) -> str:
    talk = await bench.ask(["Hello."], include_partial_messages=True)
    return ", ".join(
        m.event["type"] for m in talk.messages if isinstance(m, StreamEvent) and "delta" not in m.event["type"]
    )


@feature("plugins")
async def _(bench: Bench) -> str:
    plugin = bench.folder / "plugin"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text(json.dumps({"name": "tidy", "version": "1.0.0"}))
    (plugin / "commands").mkdir()
    (plugin / "commands" / "sweep.md").write_text("---\ndescription: sweeps\n---\nSweep.\n")
    talk = await bench.ask(plugins=[{"type": "local", "path": str(plugin)}])
    return f"command listed: {'tidy:sweep' in talk.init['slash_commands']}"


@feature("slash commands of the project")
async def _(bench: Bench) -> str:
    folder = bench.folder / "home" / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "hello.md").write_text("go and say $ARGUMENTS\n")
    talk = await bench.ask(["Hello."], prompt="/hello world")
    return f"{talk.result.result}, expanded: {'go and say world' in json.dumps(talk.bodies[0]['messages'])}"


@feature("client.interrupt()")
async def _(bench: Bench) -> str:
    async def drive(client: ClaudeSDKClient) -> str:
        await client.query("go")
        async for message in client.receive_response():
            if isinstance(message, AssistantMessage):
                await client.interrupt()
            if isinstance(message, ResultMessage):
                return message.subtype
        return "no result"

    given, _bodies = await bench.talk(drive, [_bash("sleep 30"), "Done."], allowed_tools=["Bash"])
    return str(given)


@feature("client.set_model() and set_permission_mode()")
async def _(bench: Bench) -> str:
    async def drive(client: ClaudeSDKClient) -> list[Any]:
        await client.set_model("claude-sonnet-5-5")
        await client.set_permission_mode("acceptEdits")
        return await _answer(client)

    messages, bodies = await bench.talk(drive, [_write(bench), "Done."])
    talk = Talk(messages, bodies)
    return f"{talk.calls}, {talk.main['model']}"


@feature("client.get_mcp_status() and get_context_usage()")
async def _(bench: Bench) -> str:
    async def drive(client: ClaudeSDKClient) -> str:
        await _answer(client)
        usage = await client.get_context_usage()
        return f"{await client.get_mcp_status()}, window {usage['maxTokens']}"

    given, _bodies = await bench.talk(drive, ["Done."], model="claude-sonnet-5-5")
    return str(given)


@feature("enable_file_checkpointing and rewind_files()")
async def _(bench: Bench) -> str:
    path = bench.project / "a.txt"
    path.write_text("one\n")

    async def drive(client: ClaudeSDKClient) -> str:
        messages = await _answer(client)
        uuids = [m.uuid for m in messages if isinstance(m, UserMessage) and m.uuid and isinstance(m.content, str)]
        before = path.read_text().strip()
        await client.rewind_files(uuids[0])
        return f"{before}, then {path.read_text().strip()}"

    edit = use("Edit", file_path=str(path), old_string="one", new_string="two")
    steps: list[AnyStep] = [[use("Read", file_path=str(path))], [edit], "Done."]
    more = {"permission_mode": "acceptEdits", "enable_file_checkpointing": True}
    given, _bodies = await bench.talk(drive, steps, extra_args={"replay-user-messages": None}, **more)
    return str(given)


@feature("a second prompt in one talk")
async def _(bench: Bench) -> str:
    async def drive(client: ClaudeSDKClient) -> str:
        first, second = await _answer(client), await _answer(client, "go again")
        ids = {m.session_id for m in (*first, *second) if isinstance(m, ResultMessage)}
        return f"{len(ids)} session, {second[-1].result}"

    given, bodies = await bench.talk(drive, ["First."])
    return f"{given}, {len([body for body in bodies if body.get('tools')])} requests"


async def outcome(name: str, program: str, folder: Path) -> str:
    """Return what comes of an option with a program."""
    bench = Bench(program, folder)
    bench.project.mkdir(parents=True)
    try:
        return await asyncio.wait_for(FEATURES[name](bench), LIMIT)
    except (ClaudeSDKError, TimeoutError) as error:
        return type(error).__name__


def compare(name: str) -> tuple[str, str]:
    """Return what comes of an option with the real program and with clew."""
    with tempfile.TemporaryDirectory(prefix="clew-", ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary).resolve()

        async def both() -> tuple[str, str]:
            real = outcome(name, command(LATEST)[0], folder / "real")
            return await asyncio.gather(real, outcome(name, AGENT, folder / "clew"))

        return asyncio.run(both())


def main() -> int:
    rows = {name: compare(name) for name in FEATURES}
    print("| option or method | Claude Code | clew | alike |\n|---|---|---|---|")
    for name, (real, ours) in rows.items():
        print(f"| `{name}` | {real} | {ours} | {'yes' if real == ours else 'no'} |")
    print(f"\n{sum(real == ours for real, ours in rows.values())} of {len(rows)} alike")
    return 0


if __name__ == "__main__":
    sys.exit(main())
