"""What Claude Code stored beside the conversation, as JSON of `check`, `show` and `export`: index, queue, todos, times."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import (
    OTHER,
    PROJECT,
    SESSION,
    STAMP,
    TOKEN,
    entry,
    prompt,
    put,
    reply,
    text,
    uuid,
    write_lines,
)

Json = dict[str, Any]
MTIME = 1768263841305
ROW: Json = {
    "sessionId": SESSION,
    "fullPath": f"/home/mira/.claude/projects/{PROJECT}/{SESSION}.jsonl",
    "fileMtime": MTIME,
    "firstPrompt": "Go",
    "summary": "Plates of the nebula",
    "messageCount": 14,
    "created": "2026-01-13T00:20:06.190Z",
    "modified": "2026-01-13T00:24:01.280Z",
    "gitBranch": "main",
    "projectPath": "/home/mira/observatory",
    "isSidechain": False,
}


def session(claude: Path, *lines: Json) -> Path:
    return write_lines(claude / "projects" / PROJECT / f"{SESSION}.jsonl", *lines)


def index(clew: Run, claude: Path, *rows: Json, mtime: int = MTIME, **fields: Any) -> Json:
    """What `check --all --json` says about an index beside a session that was changed at `mtime` (milliseconds)."""
    path = session(claude, prompt(1, None, "Go"), reply(2, 1, text("Done.")))
    os.utime(path, ns=(0, mtime * 1_000_000))
    put(path.parent / "sessions-index.json", json.dumps({"version": 1, "entries": rows, **fields}))
    printed = map(json.loads, clew("check", "--all", "--json")[1].splitlines())
    (found,) = [row for row in printed if row["kind"] == "index"]
    return dict(found)


def exported(clew: Run) -> Json:
    return dict(json.loads(clew("export", SESSION, "--format", "json")[1].splitlines()[0]))


# -- sessions-index.json


@pytest.mark.req("R036")
def test_every_field_of_an_index_entry_is_printed(clew: Run, claude: Path) -> None:
    found = index(clew, claude, ROW, originalPath="/home/mira/observatory")
    (listed,) = found["entries"]
    expected = {
        "session_id": SESSION,
        "full_path": ROW["fullPath"],
        "file_mtime": MTIME,
        "first_prompt": "Go",
        "summary": "Plates of the nebula",
        "message_count": 14,
        "created": "2026-01-13T00:20:06.190Z",
        "modified": "2026-01-13T00:24:01.280Z",
        "git_branch": "main",
        "project_path": "/home/mira/observatory",
        "is_sidechain": False,
    }
    assert {name: listed[name] for name in expected} == expected
    assert found["original_path"] == "/home/mira/observatory"


@pytest.mark.req("R037")
def test_an_entry_without_a_summary_is_listed(clew: Run, claude: Path) -> None:
    found = index(clew, claude, {key: value for key, value in ROW.items() if key != "summary"})
    assert [(row["session_id"], row["summary"]) for row in found["entries"]] == [(SESSION, None)]
    assert found["original_path"] is None


@pytest.mark.req("R038")
@pytest.mark.parametrize(("mtime", "state"), [(MTIME, "fresh"), (MTIME + 2, "stale"), (MTIME - 2, "stale")])
def test_an_entry_is_stale_if_the_file_has_another_time(clew: Run, claude: Path, mtime: int, state: str) -> None:
    found = index(clew, claude, ROW, {**ROW, "sessionId": OTHER}, mtime=mtime)
    assert {row["session_id"]: row["state"] for row in found["entries"]} == {SESSION: state, OTHER: "missing"}


@pytest.mark.req("R039")
def test_times_of_an_index_are_printed_as_instants(clew: Run, claude: Path) -> None:
    forms = ("2026-01-13T00:20:06.190Z", "2026-01-13T00:20:06.190+00:00", "2026-01-13T01:20:06.190+01:00")
    found = index(clew, claude, *({**ROW, "created": form, "modified": form} for form in forms))
    assert [(row["created"], row["modified"]) for row in found["entries"]] == [(forms[0], forms[0])] * 3


@pytest.mark.req("R044")
def test_sidechains_of_an_index_are_marked(clew: Run, claude: Path) -> None:
    found = index(clew, claude, ROW, {**ROW, "sessionId": OTHER, "isSidechain": True})
    assert {row["session_id"]: row["is_sidechain"] for row in found["entries"]} == {SESSION: False, OTHER: True}
    assert "gone     2026-01-13  (sidechain) Plates of the nebula\n" in clew("check", "--all")[1]


def test_secrets_in_an_index_are_masked(clew: Run, claude: Path) -> None:
    (listed,) = index(clew, claude, {**ROW, "firstPrompt": f"Use {TOKEN}", "summary": TOKEN})["entries"]
    assert (listed["first_prompt"], listed["summary"]) == ("Use [REDACTED:github-token]", "[REDACTED:github-token]")


# -- queue, durations, todos


def queued(second: int, operation: str, content: str | None = None) -> Json:
    line = {"type": "queue-operation", "operation": operation, "timestamp": STAMP.format(second), "sessionId": SESSION}
    return line if content is None else {**line, "content": content}


@pytest.mark.req("R067")
def test_the_queue_is_exported_with_what_became_of_each_message(clew: Run, claude: Path) -> None:
    session(
        claude,
        prompt(1, None, "Go"),
        queued(2, "enqueue", "and the moon"),
        queued(3, "enqueue", "and the sun"),
        queued(5, "dequeue"),
        queued(6, "enqueue", f"never sent {TOKEN}"),
        queued(7, "remove", "and the sun"),
        queued(8, "remove", "unknown"),
        reply(9, 1, text("Done.")),
    )
    queue = exported(clew)["queue"]
    assert [(m["text"], m["outcome"], m["seconds"]) for m in queue["messages"]] == [
        ("and the moon", "dequeue", 3.0),
        ("and the sun", "remove", 4.0),
        ("never sent [REDACTED:github-token]", "waiting", None),
    ]
    assert queue["unmatched"] == [{"operation": "remove", "line": 7}]


@pytest.mark.req("R078")
def test_the_working_time_of_a_session_is_exported(clew: Run, claude: Path) -> None:
    def lasted(number: int, milliseconds: int) -> Json:
        more: Json = {"subtype": "turn_duration", "durationMs": milliseconds, "isMeta": False}
        return entry("system", uuid(number), uuid(number - 1), number, **more)

    session(
        claude,
        prompt(1, None, "Go"),
        reply(2, 1, text("Done.")),
        lasted(3, 5500),
        prompt(4, 3, "On"),
        reply(5, 4, text("Done too.")),
        lasted(6, 1250),
    )
    assert exported(clew)["working_seconds"] == 6.75


@pytest.mark.req("R086")
def test_the_todos_of_a_prompt_are_printed(clew: Run, claude: Path) -> None:
    todo = {"content": "Develop the plates", "status": "in_progress", "activeForm": "Developing the plates"}
    session(
        claude,
        prompt(1, None, "Go", todos=[]),
        reply(2, 1, text("Done.")),
        prompt(3, 2, "On", todos=[todo, "not an object"]),
        reply(4, 3, text("Done too.")),
        prompt(5, 4, "Last", todos="none"),
        reply(6, 5, text("Done.")),
    )
    turns = [json.loads(line) for line in clew("show", SESSION, "--json")[1].splitlines()]
    assert [turn["todos"] for turn in turns] == [[], [todo], []]
