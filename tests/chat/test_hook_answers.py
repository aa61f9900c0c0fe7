"""What hooks answer, and what comes of it: another output, the end of a turn, late texts, verdicts of agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chat.set_up import CLEW, Place, Ran
from tests.oracle.mock_api import Reply, text, tool_use

BASH = Reply([tool_use("Bash", command="echo hi", description="Try")])
DONE = Reply([text("Done.")])


def run_hook(
    place: Place, event: str, hook: Any, *replies: Reply, matcher: str = "", options: tuple[str, ...] = ()
) -> Ran:
    settings = {"type": "command", "command": hook} if isinstance(hook, str) else hook
    place.user({"hooks": {event: [{"matcher": matcher, "hooks": [settings]}]}})
    return place.run(CLEW, "go", "--output-format", "stream-json", "--verbose", *options, replies=replies or (DONE,))


def frames(ran: Ran) -> list[Any]:
    return [json.loads(line) for line in ran.stdout.splitlines()]


def saying(answer: Any) -> str:
    return f"echo '{json.dumps(answer)}'"


def special(event: str, **fields: Any) -> str:
    return saying({"hookSpecificOutput": {"hookEventName": event, **fields}})


def recorded(place: Place, *events: str) -> Path:
    log = place.home / "hooks.jsonl"
    append = {"type": "command", "command": f"cat >> {log}; echo >> {log}"}
    place.user({"hooks": {event: [{"hooks": [append]}] for event in events}})
    return log


def payloads(log: Path) -> list[Any]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.strip()]


def test_another_output_of_a_command_reaches_the_model(tmp_path: Path) -> None:
    output = {"stdout": "changed", "stderr": "", "interrupted": False, "isImage": False}
    ran = run_hook(Place(tmp_path), "PostToolUse", special("PostToolUse", updatedToolOutput=output), BASH, DONE)
    assert ran.results == ["changed"]


def test_another_output_of_a_wrong_form_is_named_and_not_used(tmp_path: Path) -> None:
    ran = run_hook(Place(tmp_path), "PostToolUse", special("PostToolUse", updatedToolOutput="text"), BASH, DONE)
    assert ran.results == ["hi"]
    assert "not of the form of Bash's" in ran.stderr


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "PostToolBatch"])
def test_a_hook_ends_the_turn(tmp_path: Path, event: str) -> None:
    answer = saying({"continue": False, "stopReason": "Enough."})
    ran = run_hook(Place(tmp_path), event, answer, BASH, DONE)
    result = frames(ran)[-1]
    assert (ran.rc, result["is_error"], result["terminal_reason"]) == (0, False, "hook_stopped")
    assert len(ran.bodies) == 1
    assert "Enough." in ran.stderr


def test_a_stop_hook_can_forbid_that_the_model_continues(tmp_path: Path) -> None:
    answer = saying({"decision": "block", "reason": "Go on.", "continue": False})
    ran = run_hook(Place(tmp_path), "Stop", answer, DONE)
    assert frames(ran)[-1]["terminal_reason"] == "stop_hook_prevented"


def test_a_refused_prompt_is_no_error_and_no_request(tmp_path: Path) -> None:
    ran = run_hook(Place(tmp_path), "UserPromptSubmit", saying({"decision": "block", "reason": "Not now."}))
    result = frames(ran)[-1]
    assert (ran.rc, result["is_error"], result["num_turns"], len(ran.bodies)) == (0, False, 0, 0)
    assert "Not now." in result["result"]


def test_a_hook_that_never_lets_the_turn_end_is_overruled(tmp_path: Path) -> None:
    ran = run_hook(Place(tmp_path), "Stop", "echo more >&2; exit 2", *[DONE] * 12)
    assert len(ran.bodies) == 9
    assert frames(ran)[-1]["subtype"] == "success"
    assert "9 times in a row" in ran.stderr


def test_the_message_of_a_hook_is_a_frame(tmp_path: Path) -> None:
    ran = run_hook(Place(tmp_path), "PreToolUse", saying({"systemMessage": "Hear."}), BASH, DONE)
    (message,) = [frame for frame in frames(ran) if frame.get("subtype") == "informational"]
    assert message["content"] == "PreToolUse:Bash says: Hear."


def test_what_a_hook_in_the_background_says_reaches_the_next_request(tmp_path: Path) -> None:
    place = Place(tmp_path)
    done = place.home / "done"
    answer = special("PostToolUse", additionalContext="It is noon.") + f"; touch {done}"
    wait = Reply([tool_use("Bash", command=f"until [ -e {done} ]; do sleep 0.05; done; sleep 0.3", description="Wait")])
    hook = {"type": "command", "command": answer, "async": True}
    ran = run_hook(place, "PostToolUse", hook, BASH, wait, DONE, options=("--dangerously-skip-permissions",))
    assert "It is noon." in ran.sent


def test_an_agent_judges_with_tools(tmp_path: Path) -> None:
    place = Place(tmp_path)
    path = str(place.write("project/a.txt", "one\n"))
    look = Reply([tool_use("Read", file_path=path)])
    no = Reply([text('{"ok": false, "reason": "The file says one."}')])
    yes = Reply([text('{"ok": true}')])
    ran = run_hook(place, "Stop", {"type": "agent", "prompt": "Is it so? $ARGUMENTS"}, DONE, look, no, DONE, yes)
    prompts = [json.dumps(body["messages"]) for body in ran.bodies]
    assert len(ran.bodies) == 5
    assert "Is it so?" in prompts[1] and "hook_event_name" in prompts[1]
    assert "The file says one." in prompts[3]  # what the model was told to do before it may stop
    assert frames(ran)[-1]["subtype"] == "success"


def test_hooks_are_told_the_prompt_as_it_was_typed_and_the_command(tmp_path: Path) -> None:
    place = Place(tmp_path)
    log = recorded(place, "UserPromptSubmit", "UserPromptExpansion", "MessageDisplay", "InstructionsLoaded", "Stop")
    place.write(".claude/commands/hello.md", "Say hello to $ARGUMENTS.\n")
    place.write(".claude/CLAUDE.md", "Be brief.\n")
    place.run(CLEW, "/hello you", replies=(DONE,))
    told = {payload["hook_event_name"]: payload for payload in payloads(log)}
    assert told["UserPromptSubmit"]["prompt"] == "/hello you"
    expansion = told["UserPromptExpansion"]
    assert (expansion["command_name"], expansion["command_args"], expansion["command_source"]) == (
        "hello",
        "you",
        "userSettings",
    )
    assert told["MessageDisplay"]["delta"] == "Done."
    assert told["InstructionsLoaded"]["memory_type"] == "User"
    assert told["Stop"]["background_tasks"] == []
    assert told["Stop"]["prompt_id"] == told["UserPromptSubmit"]["prompt_id"]


def test_hooks_of_calls_are_told_time_effort_and_error(tmp_path: Path) -> None:
    place = Place(tmp_path)
    log = recorded(place, "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit")
    fail = Reply([tool_use("Bash", command="ls none.txt", description="Try")])
    write = Reply([tool_use("Write", file_path=str(place.project / "new.txt"), content="x")])
    agent = Reply([tool_use("Task", description="Look", prompt="inner", subagent_type="general-purpose")])
    place.run(CLEW, "go", replies=(BASH, fail, write, agent, DONE, DONE))
    done, failed, asked = [payload for payload in payloads(log) if payload["hook_event_name"] != "UserPromptSubmit"][:3]
    assert done["duration_ms"] >= 0 and done["effort"]["level"]
    assert failed["error"].startswith("Exit code 2") and failed["is_interrupt"] is False
    assert asked["permission_suggestions"] and "tool_use_id" not in asked
    prompts = [payload["prompt"] for payload in payloads(log) if "prompt" in payload]
    assert prompts == ["go"]  # a subagent's task is no prompt of the user


def test_frames_of_hooks_come_when_they_are_asked_for(tmp_path: Path) -> None:
    ran = run_hook(Place(tmp_path), "PreToolUse", "echo seen", BASH, DONE, options=("--include-hook-events",))
    started, ended = [frame for frame in frames(ran) if frame.get("subtype", "").startswith("hook_")]
    assert (started["hook_name"], started["hook_id"]) == ("PreToolUse:Bash", ended["hook_id"])
    assert (ended["stdout"], ended["exit_code"], ended["outcome"]) == ("seen\n", 0, "success")


def test_frames_of_hooks_at_the_start_always_come(tmp_path: Path) -> None:
    ran = run_hook(Place(tmp_path), "SessionStart", "echo seen")
    assert [f["subtype"] for f in frames(ran) if f["type"] == "system"][:3] == ["hook_started", "hook_response", "init"]
