"""The Agent SDK for Python, as it is published, drives `clew-agent` in the place of the program that it was made for."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    InMemorySessionStore,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    SystemMessage,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    get_session_messages,
    list_sessions,
    query,
    tool,
)

import clew
from clew.api.mock.scripts import MockScript, ScriptRule
from clew.api.mock.server import MockServer, running
from tests.chat.chat_fixture import use

AGENT = str(Path(sys.executable).with_name("clew-agent"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("ANTHROPIC_", "CLAUDE"))]:
        monkeypatch.delenv(name)
    for name, folder in (("CLAUDE_CONFIG_DIR", "claude"), ("XDG_DATA_HOME", "data"), ("HOME", "home")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    made = tmp_path / "project"
    made.mkdir()
    return made


def options(server: MockServer, project: Path, **more: Any) -> ClaudeAgentOptions:
    assert shutil.which(AGENT), "install the package: pip install -e ."
    known = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-ant-not-a-key"}
    return ClaudeAgentOptions(cli_path=AGENT, cwd=str(project), env=known, **more)


def script(*steps: Any) -> MockScript:
    return MockScript(rules=[ScriptRule(prompt="go", steps=list(steps)), ScriptRule(prompt="again", steps=["Again."])])


async def answers(messages: AsyncIterator[Any]) -> list[Any]:
    return [message async for message in messages]


def results(messages: list[Any]) -> list[ToolResultBlock]:
    blocks = [b for m in messages if isinstance(m, UserMessage) and isinstance(m.content, list) for b in m.content]
    return [block for block in blocks if isinstance(block, ToolResultBlock)]


def drive(talk: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(talk(), 60))


def test_one_question(project: Path) -> None:
    with running(script("Hello.")) as server:
        found = drive(lambda: answers(query(prompt="go", options=options(server, project))))
    assert [type(message) for message in found] == [SystemMessage, AssistantMessage, ResultMessage]
    last = found[-1]
    assert (last.subtype, last.result, last.is_error, last.num_turns) == ("success", "Hello.", False, 1)


@pytest.mark.req("R240")
def test_a_client_with_hooks_permissions_and_tools_of_its_own(project: Path) -> None:
    seen: list[Any] = []

    async def hook(given: Any, call: str | None, context: Any) -> Any:
        seen.append((given["hook_event_name"], given.get("tool_name")))
        return {}

    async def may(name: str, given: dict[str, Any], context: Any) -> PermissionResultAllow | PermissionResultDeny:
        seen.append(name)
        if name == "mcp__calc__add":
            return PermissionResultAllow()
        if "secret" in given.get("file_path", ""):
            return PermissionResultDeny(message="Not that one.")
        return PermissionResultAllow(updated_input={**given, "content": "changed\n"})

    @tool("add", "Adds two numbers.", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}

    steps = [
        [use("Write", file_path=str(project / "a.txt"), content="x\n")],
        [use("Write", file_path=str(project / "secret"), content="x\n")],
        [use("mcp__calc__add", a=2, b=3)],
        "Done.",
    ]

    async def talk(server: MockServer) -> tuple[list[Any], list[Any]]:
        chosen = options(
            server,
            project,
            can_use_tool=may,
            hooks={"PreToolUse": [HookMatcher(matcher="Write", hooks=[hook])], "Stop": [HookMatcher(hooks=[hook])]},
            mcp_servers={"calc": create_sdk_mcp_server("calc", tools=[add])},
        )
        async with ClaudeSDKClient(options=chosen) as client:
            await client.query("go")
            first = await answers(client.receive_response())
            await client.set_permission_mode("acceptEdits")
            await client.set_model("claude-opus-4-5")
            await client.query("again")
            second = await answers(client.receive_response())
        return first, second

    with running(script(*steps), keeps_bodies=True) as server:
        first, second = drive(lambda: talk(server))
        models = [row["body"]["model"] for row in server.rows if row["path"] == "/v1/messages"]
    assert (project / "a.txt").read_text() == "changed\n"
    assert not (project / "secret").exists()
    assert [block.is_error for block in results(first)] == [None, True, None]
    assert results(first)[1].content == "Not that one."
    assert results(first)[2].content == [{"type": "text", "text": "5"}]
    asked = [("PreToolUse", "Write"), "Write", ("PreToolUse", "Write"), "Write", "mcp__calc__add"]
    assert seen == [*asked, ("Stop", None), ("Stop", None)]
    assert second[-1].result == "Again."
    assert models[-1] == "claude-opus-4-5"
    assert first[-1].session_id == second[-1].session_id


def test_a_request_names_the_whole_input_the_agent_and_the_folder(project: Path) -> None:
    asked: list[tuple[str, dict[str, Any], Any]] = []
    command = "cat > x <<'E'\n" + "echo step\n" * 3000 + "E\ntouch ran"

    async def may(name: str, given: dict[str, Any], context: Any) -> PermissionResultAllow | PermissionResultDeny:
        asked.append((name, given, context))
        if "hidden" in given["command"]:
            return PermissionResultAllow(updated_input={"command": "touch ran; \x1b]0;x\x07"})
        return PermissionResultDeny(message="No.")

    send = use("Task", description="tidy", prompt="tidy the project", subagent_type="general-purpose")
    rules = [
        ScriptRule(prompt="tidy the project", steps=[[use("Bash", command=command)], "Tidied."]),
        ScriptRule(prompt="go", steps=[[use("Bash", command="touch hidden")], [send], "Done."]),
    ]

    async def talk(server: MockServer) -> list[Any]:
        every: Any = {"type": "preset", "preset": "claude_code"}
        async with ClaudeSDKClient(options=options(server, project, can_use_tool=may, tools=every)) as client:
            await client.query("go")
            found = await answers(client.receive_response())
        return found

    with running(MockScript(rules=rules)) as server:
        found = drive(lambda: talk(server))
    (main, agent) = asked
    assert (main[0], main[1], main[2].agent_id) == ("Bash", {"command": "touch hidden"}, None)
    assert main[2].title == f"clew wants to use Bash in {project}"
    assert (agent[0], agent[1]) == ("Bash", {"command": command})
    assert agent[2].agent_id.startswith("a")
    assert agent[2].title == f"The agent general-purpose wants to use Bash in {project}"
    assert "control characters" in str(results(found)[0].content)  # what the callback changed is looked at too
    assert not (project / "ran").exists()


def test_what_is_suggested_can_be_kept_and_what_there_is_is_listed(project: Path) -> None:
    suggested: list[Any] = []
    commands = project / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "tidy.md").write_text("---\ndescription: Tidy up\n---\nTidy it all.\n")

    async def may(name: str, given: dict[str, Any], context: Any) -> PermissionResultAllow:
        suggested.append([update.to_dict() for update in context.suggestions])
        return PermissionResultAllow(updated_permissions=context.suggestions)

    def write(name: str) -> Any:
        return [use("Write", file_path=str(project / name), content="x\n")]

    make = [use("Bash", command="make all", description="Build")]

    async def talk(server: MockServer) -> tuple[Any, list[Any], list[Any]]:
        every: Any = {"type": "preset", "preset": "claude_code"}
        async with ClaudeSDKClient(options=options(server, project, can_use_tool=may, tools=every)) as client:
            await client.query("go")
            first = await answers(client.receive_response())
            await client.set_model("claude-opus-4-5")
            await client.set_model(None)
            with pytest.raises(Exception, match="dangerously"):
                await client.set_permission_mode("bypassPermissions")
            await client.query("again")
            second = await answers(client.receive_response())
            info = await client.get_server_info()
        return info, first, second

    with running(script(make, make, write("a"), write("b"), "Done."), keeps_bodies=True) as server:
        info, first, second = drive(lambda: talk(server))
        models = [row["body"]["model"] for row in server.rows if row["path"] == "/v1/messages"]
    rule = {"rules": [{"toolName": "Bash", "ruleContent": "make all:*"}], "behavior": "allow"}
    assert suggested == [
        [{"type": "addRules", "destination": "localSettings", **rule}],
        [{"type": "setMode", "destination": "session", "mode": "acceptEdits"}],
    ]
    kept = json.loads((project / ".claude" / "settings.local.json").read_text())
    assert kept == {"permissions": {"allow": ["Bash(make all:*)"]}}
    assert (project / "b").exists()
    modes = [m.data["permissionMode"] for m in first if isinstance(m, SystemMessage) and m.subtype == "status"]
    assert modes == ["acceptEdits"]
    echoes = [m.content for m in second if isinstance(m, UserMessage)]
    assert echoes == [
        f"<local-command-stdout>Set model to `{model}`</local-command-stdout>"
        for model in ("claude-opus-4-5", models[0])
    ]
    assert len(set(models)) == 1
    begun = next(message.data for message in first if isinstance(message, SystemMessage))
    assert {"tidy", "compact"} <= {command["name"] for command in info["commands"]}
    assert {"tidy", "compact"} <= set(begun["slash_commands"])
    assert "general-purpose" in begun["agents"]
    assert begun["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert {"Read", "Write", "Bash"} <= set(begun["tools"])


def test_an_interrupt_ends_the_turn_and_the_session_goes_on(project: Path) -> None:
    begun = project / "begun"
    steps = [[use("Bash", command=f"touch {begun}; sleep 600", description="Wait")], "Done."]

    async def talk(server: MockServer) -> tuple[list[Any], list[Any]]:
        chosen = options(server, project, allowed_tools=["Bash"], permission_mode="bypassPermissions")
        async with ClaudeSDKClient(options=chosen) as client:
            await client.query("go")
            hearing = asyncio.create_task(answers(client.receive_response()))
            while not begun.exists():
                await asyncio.sleep(0.02)
            await client.interrupt()
            first = await hearing
            await client.query("again")
            second = await answers(client.receive_response())
        return first, second

    with running(script(*steps)) as server:
        first, second = drive(lambda: talk(server))
    assert (first[-1].subtype, first[-1].is_error) == ("error_during_execution", True)
    assert results(first)[0].is_error is True
    assert (second[-1].subtype, second[-1].result) == ("success", "Again.")


def test_a_store_of_the_sdk_gets_every_line(project: Path) -> None:
    store = InMemorySessionStore()
    steps: list[Any] = [[use("Task", description="Look", prompt="errand", subagent_type="general-purpose")], "Done."]
    rules = [ScriptRule(prompt="errand", steps=["Seen."]), ScriptRule(prompt="go", steps=steps)]

    async def talk(server: MockServer) -> list[Any]:
        return await answers(query(prompt="go", options=options(server, project, session_store=store)))

    with running(MockScript(rules=rules)) as server:
        found = drive(lambda: talk(server))
    session = clew.find(found[-1].session_id)
    assert session.path is not None
    files = [session.path, *session.path.with_suffix("").glob("subagents/*.jsonl")]
    keys: list[Any] = [{"project_key": session.path.parent.name, "session_id": session.id}]
    keys += [{**keys[0], "subpath": f"subagents/{path.stem}"} for path in files[1:]]
    assert len(files) == 2
    for path, key in zip(files, keys, strict=True):
        kept = asyncio.run(store.load(key))
        assert kept == [json.loads(line) for line in path.read_text().splitlines()]


def test_the_session_functions_read_what_was_written(project: Path) -> None:
    async def talk(server: MockServer) -> list[Any]:
        return await answers(query(prompt="go", options=options(server, project)))

    with running(script([use("Glob", pattern="*.none")], "Nothing there.")) as server:
        found = drive(lambda: talk(server))
    session = clew.find(found[-1].session_id)
    assert session.id in {info.session_id for info in list_sessions()}
    spoken = [entry.uuid for entry in session.active if entry.type in ("user", "assistant")]
    assert [message.uuid for message in get_session_messages(session.id)] == spoken


def test_a_session_is_gone_on_with_by_its_id(project: Path) -> None:
    with running(script("Hello."), keeps_bodies=True) as server:
        first = drive(lambda: answers(query(prompt="go", options=options(server, project))))
        chosen = options(server, project, resume=first[-1].session_id)
        second = drive(lambda: answers(query(prompt="again", options=chosen)))
        sent = [row["body"]["messages"] for row in server.rows if row["path"] == "/v1/messages"]
    assert second[-1].session_id == first[-1].session_id
    assert [message["role"] for message in sent[-1]] == ["user", "assistant", "user"]


def test_what_is_streamed_can_be_heard(project: Path) -> None:
    with running(script("Hello.")) as server:
        chosen = options(server, project, include_partial_messages=True)
        found = drive(lambda: answers(query(prompt="go", options=chosen)))
    kinds = [message.event["type"] for message in found if type(message).__name__ == "StreamEvent"]
    assert kinds[0] == "message_start"
    assert "content_block_delta" in kinds
    assert kinds[-1] == "message_stop"


def test_files_are_rewound_by_the_uuid_of_a_prompt(project: Path) -> None:
    (project / "old.txt").write_text("old\n")
    steps = [
        [use("Write", file_path=str(project / "a.txt"), content="x\n")],
        [use("Bash", command="rm old.txt")],
        "Done.",
    ]

    async def talk(server: MockServer) -> str:
        chosen = options(
            server,
            project,
            permission_mode="bypassPermissions",
            enable_file_checkpointing=True,
            extra_args={"replay-user-messages": None},
        )
        async with ClaudeSDKClient(options=chosen) as client:
            await client.query("go")
            heard = await answers(client.receive_response())
            prompt = next(m.uuid for m in heard if isinstance(m, UserMessage) and m.uuid)
            assert sorted(path.name for path in project.iterdir()) == ["a.txt"]
            with pytest.raises(Exception, match="No file checkpoint found"):
                await client.rewind_files("00000000-0000-4000-8000-000000000000")
            await client.rewind_files(prompt)
        return str(prompt)

    with running(script(*steps)) as server:
        drive(lambda: talk(server))
    assert {path.name: path.read_text() for path in project.iterdir()} == {"old.txt": "old\n"}
