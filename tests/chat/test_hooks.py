"""Hooks: what they are told, what their answers mean, and that they end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from clew.chat.config.settings import Settings, SettingsSource
from clew.chat.hooks.runner import Hook, HookOutcome, Hooks
from clew.wire.json_codec import Json

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="hooks are written for a POSIX shell")


def hooks(folder: Path, **events: object) -> Hooks:
    return Hooks(Settings((SettingsSource("user", folder, {"hooks": events}),)), folder)


def command(text: str, matcher: str = "", **more: object) -> Json:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": text, **more}]}


def run(all_: Hooks, event: str, **payload: object) -> HookOutcome:
    return asyncio.run(all_.run(event, {"session_id": "s", "cwd": str(all_.project), **payload}))


def saying(value: Json) -> str:
    return f"cat <<'END'\n{json.dumps(value)}\nEND"


def deciding(kind: str, **more: object) -> Json:
    said = {"hookEventName": "PreToolUse", "permissionDecision": kind, **more}
    return command(saying({"hookSpecificOutput": said}))


def test_a_hook_is_told_the_event_and_the_folder(tmp_path: Path) -> None:
    told = 'cat > told.json; printf %s "$CLAUDE_PROJECT_DIR" > folder'
    outcome = run(
        hooks(tmp_path, PreToolUse=[command(told)]), "PreToolUse", tool_name="Bash", tool_input={"command": "ls"}
    )
    data = json.loads((tmp_path / "told.json").read_text())
    assert (
        data["hook_event_name"] == "PreToolUse"
        and data["tool_input"] == {"command": "ls"}
        and data["session_id"] == "s"
    )
    assert (tmp_path / "folder").read_text() == str(tmp_path)
    assert outcome.decision is None and not outcome.block and outcome.ran[0].code == 0


def test_exit_code_2_refuses_in_the_words_of_the_original(tmp_path: Path) -> None:
    outcome = run(hooks(tmp_path, PreToolUse=[command("echo no >&2; exit 2")]), "PreToolUse", tool_name="Bash")
    assert outcome.block and outcome.reason == "PreToolUse:Bash hook error: [echo no >&2; exit 2]: no"
    assert run(hooks(tmp_path, Stop=[command("echo go on >&2; exit 2")]), "Stop").reason.endswith("]: go on")


def test_another_exit_code_is_only_shown(tmp_path: Path) -> None:
    outcome = run(hooks(tmp_path, PreToolUse=[command("echo oops >&2; exit 1")]), "PreToolUse", tool_name="Bash")
    assert not outcome.block and "exit code 1: oops" in outcome.system_message
    outcome = run(hooks(tmp_path, SessionEnd=[command("echo oops >&2; exit 2")]), "SessionEnd", reason="exit")
    assert not outcome.block and "oops" in outcome.system_message


def test_deny_wins_over_ask_over_allow(tmp_path: Path) -> None:
    allow, ask = deciding("allow", updatedInput={"a": 1}), deciding("ask", permissionDecisionReason="sure?")
    deny = deciding("deny", permissionDecisionReason="never")
    first = run(hooks(tmp_path, PreToolUse=[allow, ask]), "PreToolUse", tool_name="Bash")
    assert (first.decision, first.reason, first.updated_input, first.block) == ("ask", "sure?", {"a": 1}, False)
    second = run(hooks(tmp_path, PreToolUse=[allow, deny, ask]), "PreToolUse", tool_name="Bash")
    assert (second.decision, second.reason, second.updated_input, second.block) == ("deny", "never", None, True)


def test_plain_text_is_context_where_the_contract_says_so(tmp_path: Path) -> None:
    for event, context in (("SessionStart", ("hello",)), ("UserPromptSubmit", ("hello",)), ("Stop", ())):
        assert run(hooks(tmp_path, **{event: [command("echo hello")]}), event).context == context
    said = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "look"}, "systemMessage": "hm"}
    outcome = run(hooks(tmp_path, PostToolUse=[command(saying(said))]), "PostToolUse", tool_name="Edit")
    assert outcome.context == ("look",) and outcome.system_message == "hm"


def test_a_hook_may_end_the_turn_or_block_with_a_reason(tmp_path: Path) -> None:
    ending = run(
        hooks(tmp_path, PostToolUse=[command(saying({"continue": False, "stopReason": "enough"}))]), "PostToolUse"
    )
    assert ending.stop and ending.reason == "enough"
    blocking = run(hooks(tmp_path, Stop=[command(saying({"decision": "block", "reason": "tests fail"}))]), "Stop")
    assert blocking.block and blocking.reason == "tests fail" and not blocking.stop


def test_a_permission_request_is_answered(tmp_path: Path) -> None:
    said = {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "not today"}}
    outcome = run(
        hooks(tmp_path, PermissionRequest=[command(saying({"hookSpecificOutput": said}))]),
        "PermissionRequest",
        tool_name="Bash",
    )
    assert outcome.decision == "deny" and outcome.reason == "not today"


def test_an_answer_for_another_event_and_broken_json_change_nothing(tmp_path: Path) -> None:
    wrong = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    outcome = run(hooks(tmp_path, PermissionRequest=[command(saying(wrong))]), "PermissionRequest", tool_name="Bash")
    assert outcome.decision is None and "answered for PreToolUse" in outcome.system_message
    outcome = run(hooks(tmp_path, PreToolUse=[command("echo '{broken'")]), "PreToolUse", tool_name="Bash")
    assert outcome.decision is None and "broken JSON" in outcome.system_message


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("", "Bash", True),
        ("*", "Bash", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Edit|Write", "Write", True),
        ("Edit|Write", "MultiEdit", False),
        ("mcp__.*__write.*", "mcp__fs__write_file", True),
        ("^Notebook", "NotebookEdit", True),
        ("Task", "Agent", True),
    ],
)
def test_a_matcher_names_tools(matcher: str, tool: str, runs: bool) -> None:
    assert Hook("PreToolUse", "true", matcher).matches(tool) is runs


def test_late_hooks_are_killed_with_all_that_they_started(tmp_path: Path) -> None:
    text = "sleep 60 & echo $! > child; wait"
    outcome = run(hooks(tmp_path, Stop=[command(text, timeout=0.3)]), "Stop")
    assert not outcome.block and "took too long" in outcome.system_message
    assert not _is_alive(int((tmp_path / "child").read_text()))


def test_cancelling_kills_hooks_too(tmp_path: Path) -> None:
    async def cancelled() -> None:
        told = hooks(tmp_path, Stop=[command("echo $$ > child; sleep 60")])
        task = asyncio.create_task(told.run("Stop", {}))
        while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not _is_alive(int((tmp_path / "child").read_text()))


def _is_alive(pid: int) -> bool:
    status = Path(f"/proc/{pid}/stat")
    if sys.platform == "linux":
        return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_hooks_run_side_by_side(tmp_path: Path) -> None:
    """Each waits for the other's file: one after the other they would both run out of time."""
    waiting = [
        command(f"touch {mine}; while [ ! -e {other} ]; do sleep 0.01; done", timeout=20)
        for mine, other in (("a", "b"), ("b", "a"))
    ]
    outcome = run(hooks(tmp_path, Stop=waiting), "Stop")
    assert [ran.code for ran in outcome.ran] == [0, 0] and not outcome.system_message


def test_callbacks_are_hooks_as_well(tmp_path: Path) -> None:
    async def answer(payload: Json) -> Json:
        return (
            {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
            if payload["n"]
            else {}
        )

    async def failing(payload: Json) -> Json:
        raise ValueError("lost")

    known = Hooks(
        Settings(), tmp_path, [Hook("PreToolUse", answer, "Bash"), Hook("Stop", failing, blocks_on_failure=True)]
    )
    assert run(known, "PreToolUse", tool_name="Bash", n=1).block
    assert not run(known, "PreToolUse", tool_name="Bash", n=0).block
    assert not run(known, "PreToolUse", tool_name="Read", n=1).ran
    assert "lost" in run(known, "Stop").reason


def test_what_is_no_hook_is_named_and_not_run(tmp_path: Path) -> None:
    known = hooks(
        tmp_path,
        NoSuchEvent=[command("touch pwned")],
        Stop=[{"hooks": [{"type": "prompt", "prompt": "x"}]}, command("touch pwned", matcher="(")],
    )
    assert len(known.notices) == 3 and known.hooks == ()


def test_an_administrator_may_allow_no_hooks_but_their_own(tmp_path: Path) -> None:
    mine = SettingsSource("user", tmp_path, {"hooks": {"Stop": [command("mine")]}})
    theirs: Json = {"hooks": {"Stop": [command("theirs")]}, "allowManagedHooksOnly": True}
    known = Hooks(Settings((SettingsSource("managed", tmp_path, theirs), mine)), tmp_path)
    assert [hook.name for hook in known.hooks] == ["theirs"]
    assert Hooks(Settings((SettingsSource("user", tmp_path, {"disableAllHooks": True}), mine)), tmp_path).hooks == ()


def test_much_output_and_deaf_hooks_are_no_harm(tmp_path: Path) -> None:
    loud = command("exec 0<&-; head -c 3000000 /dev/zero | tr '\\0' x")
    outcome = run(hooks(tmp_path, SessionStart=[loud]), "SessionStart", prompt="x" * 1_000_000)
    assert len(outcome.ran[0].stdout) == 1 << 20 and len(outcome.context[0]) == 10_000
