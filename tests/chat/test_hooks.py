"""Hooks: what they are told, what their answers mean, and that they end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.chat.config.settings import Settings, SettingsSource
from clew.chat.hooks.hook_settings import read_hooks
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
        FileChanged=[command("touch pwned")],
        Stop=[
            {"hooks": [{"type": "robot", "prompt": "x"}, {"type": "prompt"}, {"type": "mcp_tool", "tool": "t"}]},
            command("touch pwned", matcher="("),
        ],
    )
    assert known.hooks == ()
    for words in (
        "unknown hook event NoSuchEvent",
        "does not raise the hook event FileChanged",
        "type robot",
        "matcher",
    ):
        assert any(words in notice for notice in known.notices), words
    assert sum("is not complete" in notice for notice in known.notices) == 2


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


# -- hooks that are not programs


@contextmanager
def listening(status: int, answer: Json) -> Iterator[tuple[str, list[tuple[Json, Json]]]]:
    """An address that answers every request alike, and the headers and bodies that it was sent."""
    seen: list[tuple[Json, Json]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(({name.lower(): value for name, value in self.headers.items()}, body))
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_request_carries_the_event_and_only_the_variables_that_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "tk")
    monkeypatch.setenv("OTHER", "secret")
    answer = {"decision": "block", "reason": "not today"}
    with listening(200, answer) as (url, seen):
        headers = {"X-Token": "Bearer $TOKEN", "X-Other": "${OTHER}"}
        hook = {"type": "http", "url": url, "headers": headers, "allowedEnvVars": ["TOKEN"]}
        outcome = run(hooks(tmp_path, UserPromptSubmit=[{"hooks": [hook]}]), "UserPromptSubmit", prompt="hi")
    [(sent, body)] = seen
    assert (sent["x-token"], sent["x-other"], body["prompt"]) == ("Bearer tk", "", "hi")
    assert outcome.block and outcome.reason == "not today"


def test_a_request_that_fails_is_told_and_blocks_only_if_it_says_so(tmp_path: Path) -> None:
    with listening(500, {}) as (url, _):
        one = {"hooks": [{"type": "http", "url": url}]}
        strict = {"hooks": [{"type": "http", "url": f"{url}?strict", "onFailure": "block"}]}
        lenient = run(hooks(tmp_path, Stop=[one]), "Stop")
        blocking = run(hooks(tmp_path, Stop=[strict]), "Stop")
    assert not lenient.block and "status 500" in lenient.system_message
    assert blocking.block


def test_an_address_outside_the_allowed_ones_is_not_asked(tmp_path: Path) -> None:
    with listening(200, {}) as (url, seen):
        data: Json = {
            "allowedHttpHookUrls": ["https://hooks.example/*"],
            "hooks": {"Stop": [{"hooks": [{"type": "http", "url": url}]}]},
        }
        outcome = run(Hooks(Settings((SettingsSource("user", tmp_path, data),)), tmp_path), "Stop")
    assert seen == [] and "allowedHttpHookUrls" in outcome.system_message


@pytest.mark.parametrize(
    ("event", "more", "answer", "blocks", "stops"),
    [
        ("Stop", {}, '{"ok": false, "reason": "no tests"}', True, False),
        ("PreToolUse", {}, 'It is so: {"ok": false, "reason": "no tests"}', True, True),
        ("PreToolUse", {"continueOnBlock": True}, '{"ok": false, "reason": "no tests"}', True, False),
        ("PreToolUse", {}, '{"ok": true}', False, False),
        ("PreToolUse", {}, "I would say yes", False, False),
    ],
)
def test_a_model_judges_an_event(
    tmp_path: Path, event: str, more: Json, answer: str, blocks: bool, stops: bool
) -> None:
    asked: list[tuple[str, str]] = []

    async def ask(question: str, model: str) -> str:
        asked.append((question, model))
        return answer

    hook = {"type": "prompt", "prompt": "Done? $ARGUMENTS", "model": "haiku", **more}
    known = hooks(tmp_path, **{event: [{"hooks": [hook]}]})
    known.remote = replace(known.remote, ask_model=ask)
    outcome = run(known, event, tool_name="Bash", tool_input={"command": "ls"})
    assert (outcome.block, outcome.stop) == (blocks, stops)
    assert asked[0][1] == "haiku" and '"command": "ls"' in asked[0][0]
    assert ("no tests" in outcome.reason) is blocks
    assert ("verdict" in outcome.system_message) is (answer == "I would say yes")


def test_a_tool_of_a_server_is_given_fields_of_the_event(tmp_path: Path) -> None:
    called: list[tuple[str, str, Json]] = []

    async def call(server: str, tool: str, given: Json) -> str:
        called.append((server, tool, given))
        return json.dumps({"decision": "block", "reason": "checked"})

    given = {"path": "${tool_input.file_path}", "n": 1, "missing": "<${tool_input.nothing}>"}
    hook = {"type": "mcp_tool", "server": "srv", "tool": "check", "input": given}
    known = hooks(tmp_path, PreToolUse=[{"hooks": [hook]}])
    known.remote = replace(known.remote, call_tool=call)
    outcome = run(known, "PreToolUse", tool_name="Read", tool_input={"file_path": "/a"})
    assert called == [("srv", "check", {"path": "/a", "n": 1, "missing": "<>"})]
    assert outcome.block and outcome.reason == "checked"


def test_nobody_waits_for_an_async_hook_and_it_ends_with_the_session(tmp_path: Path) -> None:
    pipe = tmp_path / "begun"
    os.mkfifo(pipe)
    hook = {"type": "command", "command": "echo begun > begun; sleep 60; touch late", "async": True}
    known = hooks(tmp_path, Stop=[{"hooks": [hook]}])

    async def try_it() -> HookOutcome:
        outcome = await known.run("Stop", {"session_id": "s", "cwd": str(tmp_path)})
        await asyncio.to_thread(pipe.read_text)  # it runs now
        await known.close()
        return outcome

    outcome = asyncio.run(try_it())
    assert outcome.ran == () and not (tmp_path / "late").exists()


def test_hooks_of_a_plugin_count_unless_hooks_are_disabled(tmp_path: Path) -> None:
    data: Json = {"hooks": {"Stop": [command("echo $FROM_PLUGIN >&2; exit 2")]}}
    of_plugin = list(read_hooks(SettingsSource("plugin", tmp_path, data), "the plugin p", [], {"FROM_PLUGIN": "it"}))
    off = Settings((SettingsSource("user", tmp_path, {"disableAllHooks": True}),))
    assert run(Hooks(Settings(), tmp_path, of_plugin), "Stop").reason.endswith("]: it")
    assert run(Hooks(off, tmp_path, of_plugin), "Stop").ran == ()


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"updatedToolOutput": "x"}, "updatedToolOutput"),
        ({"permissionDecision": "defer"}, "the decision defer"),
        ({"permissionDecision": "allow"}, ""),
    ],
)
def test_parts_of_an_answer_that_are_not_used_are_named(tmp_path: Path, said: Json, named: str) -> None:
    answer = saying({"hookSpecificOutput": {"hookEventName": "PreToolUse", **said}})
    message = run(hooks(tmp_path, PreToolUse=[command(answer)]), "PreToolUse", tool_name="Bash").system_message
    assert (f"answered with {named}, which clew does not use" in message) if named else message == ""
