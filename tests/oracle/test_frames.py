"""The frames that the SDK for Python is sent: by the published Claude Code and by clew, turn by turn, in one long talk."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    create_sdk_mcp_server,
    tool,
)
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport

from clew.api.mock.scripts import AnyStep, Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import running
from tests.chat.chat_fixture import use
from tests.oracle.conftest import Claude

pytestmark = pytest.mark.oracle

Json = dict[str, Any]
LIMIT = 200  # seconds for a talk
AGENT = str(Path(sys.executable).with_name("clew-agent"))
# Frames of the newest program that say nothing about the conversation, and when it is idle: it may say so late.
PASSED_OVER = ("thinking_tokens", "session_state_changed idle")
CHANGED = ("waits", "moved")  # prompts behind a change of mode or model
# What differs, and is meant to.
DIFFERENT = {
    "broken": "clew calls a turn that the API refused an error, and the real program a success that is one",
    "refused": "the real program asks once more, in words of its own",
    "long": "the real program tells the words with which it asks the model to go on",
}


def steps(project: Path) -> dict[str, list[AnyStep]]:
    """What the model says to each prompt; the order is that of the talk."""

    def write(name: str) -> list[str | Json]:
        return [use("Write", file_path=str(project / name), content="x\n")]

    question = {
        "question": "Which?",
        "header": "Colour",
        "options": [{"label": name, "description": name} for name in ("Red", "Blue")],
        "multiSelect": False,
    }
    waiting: list[str | Json] = [use("Bash", command=f"touch {project}/begun; sleep 600", description="Wait")]
    return {
        "text": ["Hello."],
        "thinks": [[{"type": "thinking", "thinking": "Well.", "signature": "c2ln"}, "Hello."]],
        "reads": [[use("Read", file_path=str(project / "a.txt"))], "Done."],
        "missing": [[use("Read", file_path=str(project / "none.txt"))], "Done."],
        "unknown": [[use("Nope", x=1)], "Done."],
        "unfit": [[use("Read", x=1)], "Done."],
        "fails": [[use("Bash", command="cat none.txt", description="Look")], "Done."],
        "denied": [write("denied.txt"), "Done."],
        "allowed": [write("allowed.txt"), "Done."],
        "server": [[use("mcp__calc__add", a=1, b=2)], "Done."],
        "question": [[use("AskUserQuestion", questions=[question])], "Done."],
        "retry": [
            ScriptStep(content="Hello.", fault=Fault(status=529, kind="overloaded_error", message="Busy", times=1))
        ],
        "long": [ScriptStep(content="Half", stop_reason="max_tokens"), "whole."],
        "refused": [ScriptStep(content="No.", stop_reason="refusal"), "After all."],
        "broken": [ScriptStep(fault=Fault(status=400, kind="invalid_request_error", message="No such thing."))],
        "always": [write("first.txt"), write("second.txt"), "Done."],
        "waits": [waiting, "Done."],
        "moved": ["Moved."],
    }


class Tap(SubprocessCLITransport):
    """The SDK's own transport, which notes what comes."""

    frames: list[Json]

    def read_messages(self) -> AsyncIterator[Json]:
        coming = super().read_messages()

        async def noted() -> AsyncIterator[Json]:
            async for frame in coming:
                self.frames.append(frame)
                yield frame

        return noted()


async def _may(name: str, given: Json, context: Any) -> PermissionResultAllow | PermissionResultDeny:
    path = str(given.get("file_path", ""))
    if path.endswith("denied.txt"):
        return PermissionResultDeny(message="Not that one.")
    return PermissionResultAllow(updated_permissions=context.suggestions if path.endswith("first.txt") else None)


async def _hook(given: Any, call: str | None, context: Any) -> Any:
    return {}


@tool("add", "Adds two numbers.", {"a": int, "b": int})
async def _add(given: Json) -> Json:
    return {"content": [{"type": "text", "text": str(given["a"] + given["b"])}]}


async def _talk(client: ClaudeSDKClient, tap: Tap, prompts: list[str], project: Path) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for prompt in prompts:
        if prompt == "waits":
            await client.set_permission_mode("default")
        if prompt == "moved":
            await client.set_permission_mode("acceptEdits")
            await client.set_model("claude-sonnet-5-5")
        start = 0 if not found else len(tap.frames)
        await client.query(prompt)
        hearing = asyncio.create_task(_heard(client))
        while prompt == "waits" and not (project / "begun").exists():
            await asyncio.sleep(0.02)
        if prompt == "waits":
            await client.interrupt()
        await hearing
        found[prompt] = tap.frames[start:]
    return found


async def _heard(client: ClaudeSDKClient) -> None:
    async for _ in client.receive_response():
        pass


def _frames(program: str, folder: Path) -> dict[str, list[str]]:
    """The frames of each turn, as words."""
    project = folder / "project"
    project.mkdir(parents=True)
    (project / "a.txt").write_text("one\n")
    said = steps(project)
    # What failed before is still told to the model with the next prompt, so the newer ones are looked for first.
    rules = [ScriptRule(prompt=prompt, steps=answers) for prompt, answers in reversed(said.items())]

    async def talk(url: str) -> dict[str, list[Json]]:
        known = {name: str(folder / name) for name in ("HOME", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME")}
        (folder / "HOME").mkdir()
        quiet = ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "IS_SANDBOX")
        silent = dict.fromkeys((*quiet, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1")
        options = ClaudeAgentOptions(
            cli_path=program,
            cwd=str(project),
            env={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-not-a-key", **known, **silent},
            can_use_tool=_may,
            hooks={
                name: [HookMatcher(hooks=[_hook])] for name in ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")
            },
            mcp_servers={"calc": create_sdk_mcp_server("calc", tools=[_add])},
        )
        asking = dataclasses.replace(options, permission_prompt_tool_name="stdio")
        tap = Tap(prompt=_silence(), options=asking)
        tap.frames = []
        found: dict[str, list[Json]] = {}
        async with ClaudeSDKClient(options=options, transport=tap) as client:
            found |= await _talk(client, tap, list(said), project)
        return found

    with running(MockScript(rules=rules)) as server:
        found = asyncio.run(asyncio.wait_for(talk(server.url), LIMIT))
    return {prompt: _turn(prompt, frames) for prompt, frames in found.items()}


def _turn(prompt: str, frames: list[Json]) -> list[str]:
    """A turn in words, from where it begins. A change that was asked for before it may be told before or behind that."""
    words = [word for frame in frames if (word := _word(frame))]
    turn = words[words.index("system session_state_changed running") :]
    return [word for word in turn if prompt not in CHANGED or not word.startswith("system status")]


async def _silence() -> AsyncIterator[Json]:
    await asyncio.Event().wait()
    yield {}


def _word(frame: Json) -> str:
    """A frame as words: what it is, without ids, times and texts. Nothing for one that is passed over."""
    shape: Callable[[Json], str] = _SHAPES.get(frame["type"], lambda frame: "")
    text = f"{frame['type']} {shape(frame)}".strip()
    return "" if text.removeprefix("system ") in PASSED_OVER or _is_greeting(frame) else text


def _is_greeting(frame: Json) -> bool:
    """How servers in the SDK are greeted, and when: before or after the greeting of the SDK itself."""
    asked = frame.get("request", {})
    greets = ("initialize", "notifications/initialized", "tools/list")
    return asked.get("subtype") == "mcp_message" and asked["message"]["method"] in greets


def _request(frame: Json) -> str:
    asked = frame["request"]
    suggested = [update["type"] for update in asked.get("permission_suggestions", ())][:1]
    about: dict[str, Callable[[], str]] = {
        "can_use_tool": lambda: f"{asked['tool_name']} {suggested}",
        "mcp_message": lambda: asked["message"]["method"],
        "hook_callback": lambda: f"{asked['input']['hook_event_name']} {asked['input'].get('tool_name', '')}",
    }
    return f"{asked['subtype']} {about[asked['subtype']]()}"


def _system(frame: Json) -> str:
    told = {name: frame[name] for name in ("state", "status", "permissionMode") if frame.get(name)}
    return " ".join([frame["subtype"], *map(str, told.values() if frame["subtype"] != "init" else ())])


def _spoken(frame: Json) -> str:
    content = frame["message"]["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    flags = [name for name in ("isReplay", "isSynthetic", "parent_tool_use_id", "error") if frame.get(name)]
    return " ".join([*(_block(block) for block in blocks), *flags])


def _block(block: Json) -> str:
    failed = " failed" if block.get("is_error") else ""
    text = str(block.get("text", ""))
    kept = text if text.startswith(("[Request", "<local-command")) else ""
    return f"{block['type']}{failed} {block.get('name', kept)}".strip()


def _result(frame: Json) -> str:
    told = ("subtype", "is_error", "stop_reason", "terminal_reason", "api_error_status")
    return " ".join(str(frame.get(name)) for name in told) + f" {len(frame['permission_denials'])}"


_SHAPES: dict[str, Callable[[Json], str]] = {
    "control_request": _request,
    "control_response": lambda frame: str(frame["response"]["subtype"]),
    "system": _system,
    "assistant": _spoken,
    "user": _spoken,
    "stream_event": lambda frame: str(frame["event"]["type"]),
    "result": _result,
}


def test_the_frames_are_those_of_the_real_program(claude: Claude, tmp_path: Path) -> None:
    with claude() as box:
        [program] = box.command
        real = _frames(program, tmp_path / "real")
    ours = _frames(AGENT, tmp_path / "clew")
    different = {prompt: (frames, ours[prompt]) for prompt, frames in real.items() if frames != ours[prompt]}
    print(f"{len(real) - len(different)} of {len(real)} turns have the same frames")
    unexpected = {prompt: pair for prompt, pair in different.items() if prompt not in DIFFERENT}
    assert not unexpected, json.dumps(unexpected, indent=1)
    assert set(different) == set(DIFFERENT)
