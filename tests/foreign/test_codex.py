"""Rollouts of Codex CLI, in the four forms that there were."""

from __future__ import annotations

import json
from pathlib import Path

import clew
from clew.foreign.formats import detect
from tests.foreign import logs
from tests.foreign.told import kept, originals, session, told

EDIT = {"file_path": f"{logs.CWD}/plan.txt", "old_string": "water north", "new_string": "water the north bed"}
TALK = [
    f"user: {logs.FIRST}",
    f"assistant: {logs.LOOK}",
    f"call: Bash {{'command': '{logs.COMMAND}', 'timeout': 1000}}",
    f"result: {logs.OUTPUT}",
    f"call: Write {{'file_path': '{logs.CWD}/plan.txt', 'content': 'water north\\n'}}",
    f"call: Edit {EDIT}",
    "result: Success.",
    "result: Success.",
    "call: Bash {'command': 'false', 'timeout': 1000}",
    "error: Exit code 1\n",
    f"assistant: {logs.ANSWER}",
    f"user: {logs.SECOND}",
    "user: [image]",
    f"assistant: {logs.FINE}",
]


def test_what_was_said(tmp_path: Path) -> None:
    assert told(session(logs.codex(tmp_path))) == TALK


def test_the_first_form_says_the_same(tmp_path: Path) -> None:
    found = session(logs.codex_old(tmp_path))
    assert told(found) == TALK
    assert found.cwd == logs.CWD
    assert {entry.data["gitBranch"] for entry in found.entries if entry.uuid} == {"spring"}


def test_the_document_of_the_first_program_says_the_same(tmp_path: Path) -> None:
    path = logs.codex_document(tmp_path)
    found = session(path)
    assert told(found) == TALK
    assert found.cwd == logs.CWD
    assert found.turns[0].prompt.timestamp == logs.at(0)
    assert detect(path.rename(tmp_path / "renamed.json")).name == "codex"


def test_what_was_not_said_is_kept(tmp_path: Path) -> None:
    found = session(logs.codex(tmp_path))
    assert kept(found) == ["session_meta", "turn_context", "user message", "reasoning"]
    assert originals(found, "reasoning")[0]["encrypted_content"] == "Z0FB"


def test_each_reply_has_its_usage_once(tmp_path: Path) -> None:
    """An event of usage comes twice, and a reply of several blocks is one reply."""
    usage = clew.usage(session(logs.codex(tmp_path))).total
    assert (usage.input, usage.cache_read, usage.output) == (5 * 700 + 1 + 2 + 3 + 4 + 5, 1500, 200)


def test_times_and_model_are_those_of_the_log(tmp_path: Path) -> None:
    found = session(logs.codex(tmp_path))
    assert [reply.model for reply in found.replies] == ["gpt-5"] * 5
    assert found.turns[1].prompt.timestamp == logs.at(20)


def test_what_a_call_was_before_stands_beside_it(tmp_path: Path) -> None:
    calls = [
        e.data["foreign"]
        for e in session(logs.codex(tmp_path)).entries
        if e.type == "assistant" and "foreign" in e.data
    ]
    assert [call["name"] for call in calls] == ["shell", "apply_patch", "apply_patch", "shell"]
    assert calls[1]["input"] == {"input": logs.PATCH}


def test_the_newest_form(tmp_path: Path) -> None:
    found = session(logs.codex_new(tmp_path))
    assert told(found) == [
        f"user: {logs.FIRST}",
        f"assistant: {logs.LOOK}",
        f"call: Bash {{'command': '{logs.COMMAND}'}}",
        "call: TodoWrite {'todos': [{'content': 'water', 'status': 'in_progress', 'activeForm': 'water'}]}",
        "error: Exit code 3\nno hose",
        "result: Plan updated",
        "call: write_stdin {'chars': 'y'}",
        "error: [No result of this call was recorded.]",
        "note: [Request interrupted by user]",
        f"user: {logs.SECOND}",
        f"assistant: {logs.FINE}",
    ]
    usage = clew.usage(found).total
    assert (usage.input, usage.cache_write, usage.cache_read, usage.output) == (1300, 100, 600, 80)
    assert {"developer message", "world_state", "web_search_call"} <= {*kept(found)}


def test_a_compaction_is_one(tmp_path: Path) -> None:
    found = session(logs.codex_compacted(tmp_path))
    assert told(found)[-3:] == [
        "system: compact_boundary",
        "summary: Prompts so far.\n\nNorth was dry.",
        "user: And now?",
    ]
    sent = clew.request(found).messages
    assert logs.FIRST not in json.dumps(sent)
    assert "North was dry." in json.dumps(sent)


def test_an_encrypted_compaction_leaves_all_that_was_said(tmp_path: Path) -> None:
    path = logs.codex(tmp_path)
    payload = {"message": "", "replacement_history": [{"type": "compaction", "encrypted_content": "Z0FB"}]}
    with path.open("a") as file:
        file.write(json.dumps({"timestamp": logs.at(30), "type": "compacted", "payload": payload}))
    found = session(path)
    assert told(found) == TALK
    assert kept(found)[-1] == "compacted"


def test_a_shell_without_a_wrapper_and_in_another_folder(tmp_path: Path) -> None:
    action = {"type": "exec", "command": ["ls", "a b"], "working_directory": "/srv", "timeout_ms": None}
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}]},
        {"type": "local_shell_call", "call_id": "c1", "action": action, "status": "completed"},
        {"type": "function_call_output", "call_id": "c1", "output": {"content": "x", "success": True}},
        {"type": "function_call", "call_id": "c2", "name": "shell", "arguments": "not json"},
        {"type": "function_call_output", "call_id": "c9", "output": "of nothing"},
    ]
    lines = [{"timestamp": logs.at(n), "type": "response_item", "payload": item} for n, item in enumerate(items)]
    found = session(logs.written(tmp_path / "rollout-x.jsonl", lines))
    assert told(found)[1:] == [
        "call: Bash {'command': \"cd /srv && ls 'a b'\"}",
        "result: x",
        "call: shell {'arguments': 'not json'}",
        "error: [No result of this call was recorded.]",
    ]
    assert kept(found) == ["result without a call"]
