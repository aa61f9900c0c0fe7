"""Sessions of OpenCode: the database, the files, and what was before them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.foreign.formats import find_in_path
from tests.foreign import logs
from tests.foreign.told import kept, originals, session, told

FORMS = {"files": logs.opencode_files, "database": logs.opencode_database, "export": logs.opencode_export}
EDIT = {"file_path": f"{logs.CWD}/plan.txt", "old_string": "water north", "new_string": "water the north bed"}
TALK = [
    "note: Called the Read tool.",
    f"user: {logs.FIRST}",
    f"assistant: {logs.LOOK}",
    f"call: Bash {{'command': '{logs.COMMAND}', 'description': 'look'}}",
    f"call: Edit {EDIT}",
    f"call: Read {{'file_path': '{logs.CWD}/none.txt'}}",
    f"result: {logs.OUTPUT}",
    "result: Edited.",
    "error: Not found.",
    f"assistant: {logs.ANSWER}",
    f"user: {logs.SECOND}",
    "user: [image]",
    f"assistant: {logs.FINE}",
    "call: Bash {'command': 'sleep'}",
    "error: [No result of this call was recorded.]",
]


@pytest.mark.parametrize("write", FORMS.values(), ids=FORMS)
def test_what_was_said(write: Callable[[Path], Path], tmp_path: Path) -> None:
    found = session(write(tmp_path))
    assert told(found) == TALK
    assert found.title == "Dry beds"
    assert found.cwd == logs.CWD
    usage = clew.usage(found).total
    assert (usage.input, usage.cache_read, usage.output) == (2100, 900, 120)


def test_the_first_form(tmp_path: Path) -> None:
    found = session(logs.opencode_first(tmp_path))
    assert told(found) == [
        f"user: {logs.FIRST}",
        f"assistant: {logs.LOOK}",
        f"call: Bash {{'command': '{logs.COMMAND}'}}",
        f"result: {logs.OUTPUT}",
    ]
    assert found.cwd == logs.CWD
    assert found.title == logs.FIRST  # its own is none that anybody gave


def test_what_is_no_part_of_it_is_kept(tmp_path: Path) -> None:
    found = session(logs.opencode_files(tmp_path))
    assert {"session", "file", "thinking", "step-finish", "patch", "unfinished call"} <= {*kept(found)}
    assert originals(found, "thinking")[0]["text"] == "Beds."


def export(folder: Path, *messages: tuple[Any, list[Any]], **info: Any) -> Path:
    told = {
        "info": {"id": "ses_2", "directory": "/x", **info},
        "messages": [{"info": m, "parts": p} for m, p in messages],
    }
    return logs.written(folder / "export.json", [told])


def test_what_was_taken_back_is_not_said_again(tmp_path: Path) -> None:
    said = [({"id": f"msg_{n}", "role": "user"}, [{"type": "text", "text": f"{n}"}]) for n in range(4)]
    found = session(export(tmp_path, *said, revert={"messageID": "msg_2"}))
    assert told(found) == ["user: 0", "user: 1"]
    assert kept(found).count("undone message") == 2


def test_a_summary_is_a_compaction(tmp_path: Path) -> None:
    first = ({"id": "msg_0", "role": "user"}, [{"type": "text", "text": "a"}])
    second = ({"id": "msg_1", "role": "assistant", "summary": True}, [{"type": "text", "text": "They said a."}])
    found = session(export(tmp_path, first, second))
    assert told(found) == ["user: a", "system: compact_boundary", "summary: They said a."]


def test_a_signed_thought_is_sent_again(tmp_path: Path) -> None:
    thought = {"type": "reasoning", "text": "Hm.", "metadata": {"anthropic": {"signature": "c2ln"}}}
    first = ({"id": "msg_0", "role": "user"}, [{"type": "text", "text": "a"}])
    reply = (
        {"id": "msg_1", "role": "assistant", "modelID": "claude-opus-5-5"},
        [thought, {"type": "text", "text": "b"}],
    )
    found = session(export(tmp_path, first, reply))
    assert clew.request(found).messages[1]["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def test_a_damaged_row_does_not_hide_the_others(tmp_path: Path) -> None:
    path = logs.opencode_database(tmp_path)
    with sqlite3.connect(path) as base:
        base.execute("UPDATE part SET data = '{torn' WHERE id = 'prt_20'")
    base.close()
    [(form, file)] = find_in_path(path)
    [talk] = form.read(file)
    assert talk.problems == ("part prt_20: not a JSON object",)
    assert talk.turns == 2


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    path.write_text(json.dumps({}) * 200)
    [(form, file)] = find_in_path(path)
    [talk] = form.read(file)
    assert talk.is_empty
    assert "not a database" in talk.problems[0]


@pytest.mark.parametrize("table", ["part", "message"])
def test_text_of_a_database_that_is_not_utf_8_hides_no_other_conversation(tmp_path: Path, table: str) -> None:
    path = logs.opencode_database(tmp_path)
    with sqlite3.connect(path) as base:
        base.execute("INSERT INTO session SELECT 'ses_2', directory, title, version, revert, 9 FROM session")
        base.execute("INSERT INTO message VALUES ('msg_x', 'ses_2', 1, '{\"role\": \"user\"}')")
        base.execute("INSERT INTO part VALUES ('prt_x', 'msg_x', 'ses_2', '{}')")
        base.execute(f"UPDATE {table} SET data = CAST(x'7bec22' AS TEXT) WHERE session_id = 'ses_2'")
    base.close()
    [(form, file)] = find_in_path(path)
    broken, whole = form.read(file)
    assert "can't decode" in broken.problems[0]
    assert whole.turns == 2


def test_a_session_row_that_is_not_utf_8_is_a_problem_of_the_database(tmp_path: Path) -> None:
    path = logs.opencode_database(tmp_path)
    with sqlite3.connect(path) as base:
        base.execute("UPDATE session SET title = CAST(x'ec22' AS TEXT)")
    base.close()
    [(form, file)] = find_in_path(path)
    [talk] = form.read(file)
    assert talk.is_empty and "can't decode" in talk.problems[0]
