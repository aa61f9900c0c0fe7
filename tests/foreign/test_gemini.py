"""Chats of Gemini CLI: the record, the log of changes, checkpoints and logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

import clew
from tests.foreign import logs
from tests.foreign.told import kept, session, told

EDIT = {"file_path": f"{logs.CWD}/plan.txt", "old_string": "water north", "new_string": "water"}
TALK = [
    f"user: {logs.FIRST}",
    f"assistant: {logs.LOOK}",
    f"call: Bash {{'command': '{logs.COMMAND}'}}",
    f"call: Edit {EDIT}",
    f"call: Read {{'file_path': '{logs.CWD}/none.txt'}}",
    f"result: {logs.OUTPUT}",
    "result: Edited.",
    "error: Not found.",
    f"assistant: {logs.ANSWER}",
    f"user: {logs.SECOND}",
    "user: [image]",
    f"assistant: {logs.FINE}",
]


@pytest.mark.parametrize("write", [logs.gemini, logs.gemini_lines])
def test_what_was_said(write: Callable[[Path], Path], tmp_path: Path) -> None:
    found = session(write(tmp_path))
    assert told(found) == TALK
    assert found.title == "Dry beds"
    assert found.cwd == logs.CWD
    usage = clew.usage(found).total
    assert (usage.input, usage.cache_read, usage.output) == (2100, 900, 120)
    assert {"info message", "thinking", "session"} <= {*kept(found)}


def test_an_id_that_the_api_refuses_is_replaced(tmp_path: Path) -> None:
    found = session(logs.gemini(tmp_path))
    assert [call.id for call in found.calls][:2] == ["look_1", "edit_1"]
    assert found.calls[2].id.startswith("toolu_")
    assert [e.data["foreign"]["id"] for e in found.entries if "Read" in str(e.data.get("message"))][-1] == "read 1"


def test_a_checkpoint(tmp_path: Path) -> None:
    found = session(logs.gemini_checkpoint(tmp_path))
    assert told(found) == [
        f"user: {logs.FIRST}",
        f"assistant: {logs.LOOK}",
        f"call: Bash {{'command': '{logs.COMMAND}'}}",
        f"result: {logs.OUTPUT}",
        f"assistant: {logs.ANSWER}",
        f"user: {logs.SECOND}",
        f"assistant: {logs.FINE}",
    ]
    assert found.cwd == logs.CWD


def test_logs_hold_prompts_alone(tmp_path: Path) -> None:
    found = session(logs.gemini_logs(tmp_path))
    assert told(found) == [f"user: {logs.FIRST}", f"user: {logs.SECOND}"]


def test_a_compression_is_a_compaction(tmp_path: Path) -> None:
    path = logs.gemini_lines(tmp_path)
    summary = {"id": "s", "timestamp": logs.at(9), "type": "user", "content": [{"text": "North was dry."}]}
    after = {"id": "n", "timestamp": logs.at(10), "type": "user", "content": "And now?"}
    with path.open("a") as file:
        file.write(json.dumps({"$set": {"messages": [summary]}}) + "\n" + json.dumps(after) + "\n")
    assert told(session(path))[-3:] == ["system: compact_boundary", "summary: North was dry.", "user: And now?"]


def test_a_folder_known_by_its_hash(tmp_path: Path) -> None:
    hash = sha256(logs.CWD.encode()).hexdigest()
    path = logs.gemini(tmp_path / "old")
    moved = tmp_path / ".gemini" / "tmp" / hash / "chats" / path.name
    moved.parent.mkdir(parents=True)
    record = json.loads(path.read_text()) | {"projectHash": hash}
    moved.write_text(json.dumps(record))
    logs.written(tmp_path / ".gemini" / "projects.json", [{"projects": {logs.CWD: "garden"}}])
    assert session(moved).cwd == logs.CWD
