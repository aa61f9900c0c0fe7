"""What a reader of the session protocol expects of `show`, `check` and `export`, on hand-written lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import (
    OTHER,
    PROJECT,
    SESSION,
    TOKEN,
    call,
    entry,
    prompt,
    put,
    reply,
    result,
    text,
    uuid,
    write_lines,
)


def session(claude: Path, *lines: dict[str, Any]) -> None:
    write_lines(claude / "projects" / PROJECT / f"{SESSION}.jsonl", *lines)


def turns(clew: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in clew("show", SESSION, "--json")[1].splitlines()]


@pytest.mark.req("R170")
def test_a_turn_that_ended_before_a_compaction_is_complete(clew: Run, claude: Path) -> None:
    boundary: dict[str, Any] = {"subtype": "compact_boundary", "content": "Conversation compacted", "level": "info"}
    boundary |= {"logicalParentUuid": uuid(2), "compactMetadata": {"trigger": "auto", "preTokens": 167503}}
    summary = prompt(4, 3, "This session is being continued.", isCompactSummary=True)
    session(
        claude,
        prompt(1, None, "Grind the mirror"),
        reply(2, 1, text("It is ground.")),
        entry("system", uuid(3), None, 3, **boundary),
        summary,
        prompt(5, 4, "Now polish it"),
    )
    assert [turn["state"] for turn in turns(clew)] == ["complete", "waiting"]


@pytest.mark.req("R170")
def test_the_states_of_a_turn(clew: Run, claude: Path) -> None:
    asked = [prompt(1, None, "Go")]
    called = [*asked, reply(2, 1, call("toolu_1", "ls"))]
    answered = [*called, result(3, 2, "toolu_1", "a")]
    command = prompt(1, None, "<command-name>/cost</command-name>\n<command-args></command-args>")
    printed = prompt(2, 1, "<local-command-stdout>$1</local-command-stdout>")
    for lines, state in (
        (asked, "waiting"),
        (called, "tool"),
        (answered, "waiting"),
        ([*answered, reply(4, 3, text("Done."))], "complete"),
        ([command, printed], "complete"),
    ):
        session(claude, *lines)
        assert [turn["state"] for turn in turns(clew)] == [state]


@pytest.mark.req("R251")
def test_show_prints_how_long_a_turn_took(clew: Run, claude: Path) -> None:
    took = entry("system", uuid(3), uuid(2), 3, subtype="turn_duration", durationMs=88947, isMeta=False)
    session(claude, prompt(1, None, "Go"), reply(2, 1, text("Done.")), took)
    assert clew("show", SESSION)[1].endswith("Done.\n· turn took 1m28s\n")


def test_show_and_json_give_the_meaning_of_a_return_code(clew: Run, claude: Path) -> None:
    detail = {"stdout": "", "stderr": "", "interrupted": False, "returnCodeInterpretation": "No matches found"}
    session(
        claude, prompt(1, None, "Go"), reply(2, 1, call("toolu_1", "grep x y")), result(3, 2, "toolu_1", "", detail)
    )
    assert "● Bash grep x y  1s\n· return code: No matches found\n" in clew("show", SESSION)[1]
    assert turns(clew)[0]["replies"][0]["calls"][0]["return_code_meaning"] == "No matches found"


# -- required fields


def without(line: dict[str, Any], *names: str) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(line))
    for name in names:
        *path, last = name.split(".")
        value = made
        for part in path:
            value = value[part]
        del value[last]
    return made


def test_check_names_what_a_line_lacks_and_where(clew: Run, claude: Path) -> None:
    session(
        claude,
        without(prompt(1, None, "Go"), "uuid"),
        without(reply(2, 1, text("Done.")), "message.model", "requestId"),
        without(prompt(3, 2, "On"), "timestamp", "message.role"),
        {"type": "summary", "summary": "x"},
        {"type": "queue-operation", "operation": "dequeue"},
        {"type": "something-new"},
    )
    out = clew("check", SESSION)[1]
    assert "  Line 1: the user line has no uuid.\n" in out
    assert "  Line 2: the assistant line has no requestId, message.model.\n" in out
    assert "  Line 3: the user line has no timestamp, message.role.\n" in out
    assert "  Line 4: the summary line has no leafUuid.\n" in out
    assert "  Line 5: the queue-operation line has no timestamp, sessionId.\n" in out
    assert "something-new line" not in out
    flaws = json.loads(clew("check", SESSION, "--json")[1])["flaws"]
    assert [flaw["line"] for flaw in flaws if flaw["kind"] == "field"] == [1, 2, 3, 4, 5]


def test_lines_that_lack_the_same_are_one_sentence(clew: Run, claude: Path) -> None:
    lines = [prompt(1, None, "Go"), *(without(prompt(n, n - 1, "On"), "cwd") for n in range(2, 15))]
    session(claude, *lines)
    assert "  13 lines: the user line has no cwd: lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 …" in clew("check", SESSION)[1]


@pytest.mark.parametrize("name", ["parentUuid", "message.stop_reason"])
def test_a_field_may_be_null_where_the_format_allows_it(clew: Run, claude: Path, name: str) -> None:
    answer = reply(2, 1, text("Done."))
    answer["message"]["stop_reason"] = None
    session(claude, prompt(1, None, "Go"), answer)
    code, out, _ = clew("check", SESSION)
    assert code == 0 and "has no" not in out
    session(claude, prompt(1, None, "Go"), without(answer, name))
    assert f"Line 2: the assistant line has no {name}." in clew("check", SESSION)[1]


# -- the index of sessions


@pytest.mark.req("R042")
def test_check_names_entries_of_the_index_whose_file_is_gone(clew: Run, claude: Path) -> None:
    session(claude, prompt(1, None, "Go"), reply(2, 1, text("Done.")))
    here = claude / "projects" / PROJECT / f"{SESSION}.jsonl"
    listed = {"sessionId": SESSION, "fileMtime": here.stat().st_mtime_ns // 10**6 - 5000, "firstPrompt": "Go"}
    gone = {
        "sessionId": OTHER,
        "fullPath": "/x",
        "firstPrompt": f"Find {TOKEN}",
        "modified": "2026-01-13T00:24:01.280Z",
    }
    index = here.parent / "sessions-index.json"
    put(index, json.dumps({"version": 1, "originalPath": "/home/mira/observatory", "entries": [listed, gone]}))
    code, out, _ = clew("check", "--all")
    assert code == 0
    assert "The index of /home/mira/observatory names 1 session without a file:\n" in out
    assert "  5e551011  gone     2026-01-13  Find [REDACTED:github-token]\n" in out
    assert "  1 entry is older than the file: its fileMtime differs.\n" in out
    rows = [json.loads(line) for line in clew("check", "--all", "--json")[1].splitlines()]
    (found,) = [row for row in rows if row["kind"] == "index"]
    assert [entry["session"] for entry in found["missing"]] == [OTHER]
    assert (found["stale"], found["unlisted"]) == ([SESSION], [])
    put(index, json.dumps({"version": 1, "entries": []}))
    assert "without a file" not in clew("check", "--all")[1]
