"""The tools beside those of the real CLI: the same calls in the same project, and what the model is told of each."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clew.chat.tools.builtin.background import stop_all
from clew.chat.tools.input_schema import failure_result, unknown_tool_error, validate_input
from clew.chat.tools.tool import ToolContext, ToolFailed, ToolState
from clew.chat.tools.toolbox import create_tools
from tests.oracle.conftest import Claude
from tests.oracle.mock_api import Json, Reply, text, tool_use

pytestmark = pytest.mark.oracle

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code",
            "execution_count": 1,
            "id": "c1",
            "metadata": {},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["out\n"]}],
            "source": ["src"],
        }
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
FILES: dict[str, bytes] = {
    "a.txt": b"one\ntwo\nthree\n",
    "crlf.txt": b"one\r\ntwo\r\n",
    "bom.txt": b"\xef\xbb\xbfone\n",
    "empty.txt": b"",
    "unread.txt": b"unread\n",
    "big.txt": b"0123456789abcde\n" * 30_000,
    "p.png": PNG,
    "n.ipynb": json.dumps(NOTEBOOK, indent=1).encode(),
    "src/x.py": b"needle\nneedle\n",
    "src/y.py": b"needle\n",
}
FOLDER = "{project}"
ONE = "x.py"  # ripgrep tells several files in any order
SAME, ALIKE = "the same", "other words, the same record"

CALLS: Sequence[tuple[str, str, Json]] = (
    (SAME, "Read", {"file_path": f"{FOLDER}/a.txt"}),
    (SAME, "Read", {"file_path": f"{FOLDER}/a.txt", "offset": 2, "limit": 1}),
    (ALIKE, "Read", {"file_path": f"{FOLDER}/a.txt", "offset": 50}),
    (ALIKE, "Read", {"file_path": f"{FOLDER}/empty.txt"}),
    (SAME, "Read", {"file_path": f"{FOLDER}/crlf.txt"}),
    (SAME, "Read", {"file_path": f"{FOLDER}/nowhere.txt"}),
    (SAME, "Read", {"file_path": f"{FOLDER}/src"}),
    (ALIKE, "Read", {"file_path": f"{FOLDER}/big.txt"}),
    (SAME, "Read", {"file_path": f"{FOLDER}/p.png"}),
    (SAME, "Read", {"file_path": f"{FOLDER}/n.ipynb"}),
    (ALIKE, "Read", {}),
    (ALIKE, "Read", {"file_path": 5, "foo": 1}),
    (SAME, "Write", {"file_path": f"{FOLDER}/new/f.txt", "content": "hello\n"}),
    (ALIKE, "Write", {"file_path": f"{FOLDER}/new/f.txt", "content": "hello\nworld\n"}),
    (SAME, "Write", {"file_path": f"{FOLDER}/unread.txt", "content": "x"}),
    (SAME, "Edit", {"file_path": f"{FOLDER}/a.txt", "old_string": "two", "new_string": "2"}),
    (ALIKE, "Edit", {"file_path": f"{FOLDER}/a.txt", "old_string": "e", "new_string": "E"}),
    (ALIKE, "Edit", {"file_path": f"{FOLDER}/a.txt", "old_string": "e", "new_string": "E", "replace_all": True}),
    (SAME, "Edit", {"file_path": f"{FOLDER}/a.txt", "old_string": "zzz", "new_string": "E"}),
    (SAME, "Edit", {"file_path": f"{FOLDER}/a.txt", "old_string": "x", "new_string": "x"}),
    (SAME, "Edit", {"file_path": f"{FOLDER}/unread.txt", "old_string": "u", "new_string": "x"}),
    (SAME, "Edit", {"file_path": f"{FOLDER}/nowhere.txt", "old_string": "u", "new_string": "x"}),
    (SAME, "Edit", {"file_path": f"{FOLDER}/made.txt", "old_string": "", "new_string": "x\n"}),
    (ALIKE, "Edit", {"file_path": f"{FOLDER}/a.txt", "old_string": "", "new_string": "x\n"}),
    (SAME, "Edit", {"file_path": f"{FOLDER}/crlf.txt", "old_string": "one\ntwo", "new_string": "1\n2"}),
    (ALIKE, "Edit", {"file_path": f"{FOLDER}/n.ipynb", "old_string": "src", "new_string": "1"}),
    (ALIKE, "NotebookEdit", {"notebook_path": f"{FOLDER}/n.ipynb", "cell_id": "c1", "new_source": "new"}),
    (SAME, "NotebookEdit", {"notebook_path": f"{FOLDER}/n.ipynb", "cell_id": "zz", "new_source": "new"}),
    (SAME, "Bash", {"command": "echo out; echo err >&2", "description": "Say it"}),
    (SAME, "Bash", {"command": "true"}),
    (SAME, "Bash", {"command": "echo x; exit 3"}),
    (SAME, "Bash", {"command": "grep zzz a.txt"}),
    (SAME, "Bash", {"command": "cd src && pwd"}),
    (SAME, "Bash", {"command": "pwd; cd / && echo hi"}),
    (ALIKE, "Bash", {"command": "tail -f /dev/null", "run_in_background": True}),
    (SAME, "TaskOutput", {"task_id": "nope", "block": False, "timeout": 1}),
    (SAME, "TaskStop", {"task_id": "nope"}),
    (SAME, "Glob", {"pattern": "**/*.py"}),
    (SAME, "Glob", {"pattern": "*.zzz"}),
    (SAME, "Glob", {"pattern": "*", "path": f"{FOLDER}/nowhere"}),
    (SAME, "Grep", {"pattern": "needle"}),
    (SAME, "Grep", {"pattern": "needle", "glob": ONE, "output_mode": "content"}),
    (SAME, "Grep", {"pattern": "needle", "glob": ONE, "output_mode": "count"}),
    (SAME, "Grep", {"pattern": "zzzz"}),
    (SAME, "Grep", {"pattern": "zzzz", "output_mode": "content"}),
    (SAME, "Grep", {"pattern": "zzzz", "output_mode": "count"}),
    (SAME, "Grep", {"pattern": "needle", "path": f"{FOLDER}/nowhere"}),
    (ALIKE, "Grep", {"pattern": "needle", "glob": ONE, "output_mode": "content", "head_limit": 1}),
    (ALIKE, "TodoWrite", {"todos": [{"content": "a", "status": "pending", "activeForm": "b"}]}),
    (ALIKE, "Skill", {"skill": "nope"}),
    (SAME, "Fly", {"x": 1}),
)

Told = tuple[Any, bool, Any]  # the content, whether it is an error, the record


def furnish(project: Path) -> None:
    for name, data in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (1000, 1000 + len(name)))


def put_in(input: Json, project: Path) -> Json:
    made: Json = json.loads(json.dumps(input).replace(FOLDER, str(project)))
    return made


def plain(told: Told, project: Path) -> Told:
    """With the folder taken out, and what differs from run to run."""
    content, is_error, detail = json.loads(json.dumps(told).replace(str(project), FOLDER))
    if isinstance(content, str) and "→" in content[:8]:
        content = content.partition("\n\n<system-reminder>")[0]  # a word of theirs behind every file
    if isinstance(detail, dict):
        detail.pop("durationMs", None)
    return content, bool(is_error), detail


def theirs(claude: Claude) -> list[Told]:
    with claude("2.1.29") as box:
        furnish(box.project)
        replies = [Reply([tool_use(name, **put_in(input, box.project))]) for _, name, input in CALLS]
        recorded = box.record("go", "--dangerously-skip-permissions", replies=[*replies, Reply([text("done")])])
        lines = map(json.loads, recorded.path.read_text(encoding="utf-8").splitlines())
        messages = ((line, line["message"]["content"]) for line in lines if line["type"] == "user")
        return [
            plain((block["content"], bool(block.get("is_error")), line.get("toolUseResult")), box.project)
            for line, content in messages
            if isinstance(content, list)
            for block in content
            if block["type"] == "tool_result"
        ]


async def ours(folder: Path) -> list[Told]:
    project = folder / "project"
    furnish(project)
    state, tools, told = ToolState(project, project, (project,)), create_tools(), []
    for number, (_, name, input) in enumerate(CALLS):
        scene = ToolContext(f"toolu_{number}", "sid", folder / "session", state, asyncio.Event())
        try:
            if name not in tools:
                raise unknown_tool_error(name)
            result = await tools[name].call(validate_input(tools[name], put_in(input, project)), scene)
        except ToolFailed as failed:
            result = failure_result(failed)
        told.append(plain((result.content, result.is_error, result.detail), project))
    await stop_all(state)
    return told


def shape(told: Told) -> tuple[Any, ...]:
    """What has to agree even where the words are ours: the first words, the mark of an error, the kind of record."""
    content, is_error, detail = told
    begin = content[:16] if isinstance(content, str) else [block["type"] for block in content]
    return begin, is_error, sorted(detail) if isinstance(detail, dict) else str(detail)[:20]


def test_calls_are_answered_as_the_real_tools_answer_them(claude: Claude, tmp_path: Path) -> None:
    real, made = theirs(claude), asyncio.run(ours(tmp_path))
    assert len(real) == len(made) == len(CALLS)
    differing = [
        (call, expected, found)
        for call, expected, found in zip(CALLS, real, made, strict=True)
        if (expected != found if call[0] == SAME else shape(expected) != shape(found))
    ]
    assert differing == []
