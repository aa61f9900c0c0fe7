"""`clew show --around`: the messages around a line or a uuid, in files written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import clew as library
from clew.mcp.session_tools import call as ask
from clew.wire.layout import Tree
from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, put, reply, result, text, thinking, use, user, uuid, write

LINES = 30


def stored(claude: Path) -> Path:
    """Questions and answers on lines 1 to 30 (line 31 is a title), and an agent with its own lines."""
    lines = [user(n, f"question {n}") if n % 2 else reply(n, text(f"answer {n}")) for n in range(1, LINES + 1)]
    path = write(claude, ONE, *lines, {"type": "custom-title", "customTitle": "Numbers", "sessionId": ONE})
    names: dict[str, Any] = {"isSidechain": True, "agentId": "0f1e2d3", "sessionId": ONE}
    asked = [user(101, "errand", parentUuid=None, **names), reply(102, text("errand done"), **names)]
    put(path.with_suffix("") / "subagents" / "agent-0f1e2d3.jsonl", *asked)
    return path


def shown(clew: Run, *words: str) -> list[int]:
    return [json.loads(line)["line"] for line in clew("show", ONE, *words, "--json")[1].splitlines()]


@pytest.mark.req("R217")
@pytest.mark.parametrize("place", ["12", uuid(12), uuid(12)[:8]])
def test_the_messages_on_either_side_of_a_line_or_uuid(claude: Path, clew: Run, place: str) -> None:
    stored(claude)
    assert shown(clew, "--around", place) == list(range(7, 18))
    assert shown(clew, "--around", place, "-n", "2") == [10, 11, 12, 13, 14]
    assert shown(clew, "--around", place, "-n", "0") == [12]
    (row,) = map(json.loads, clew("show", ONE, "--around", place, "-n", "0", "--json")[1].splitlines())
    assert (row["text"], row["uuid"], row["is_place"], row["role"]) == ("answer 12", uuid(12), True, "assistant")
    _, out, _ = clew("show", ONE, "--around", place, "-n", "1")
    assert (
        out.index("question 11") < out.index("── line 12: reply ──") < out.index("answer 12") < out.index("question 13")
    )
    assert "question 9" not in out and "answer 14" not in out


@pytest.mark.req("R217")
def test_a_library_and_a_model_get_the_same(claude: Path) -> None:
    path = stored(claude)
    found = library.read(path).around(uuid(12), 2)
    assert [entry.line.number for entry in found.entries] == [10, 11, 12, 13, 14]
    assert found.place.line.number == 12
    answer = ask(Tree(claude), "context", {"id": ONE, "place": "12", "messages": 1})
    assert "Lines 11-13" in answer and "the place is line 12" in answer
    assert "answer 12" in answer and "answer 14" not in answer


def test_the_ends_of_a_file_and_lines_that_are_no_message(claude: Path, clew: Run) -> None:
    stored(claude)
    assert shown(clew, "--around", "1", "-n", "2") == [1, 2, 3]
    assert shown(clew, "--around", "31", "-n", "1") == [29, 30]
    code, _, err = clew("show", ONE, "--around", "32")
    assert (code, err) == (1, "clew: No line matches '32'.\nThe file has 31 lines.\n")
    code, _, err = clew("show", ONE, "--around", "ffffffff-0000")
    assert code == 1 and "No line or uuid matches 'ffffffff-0000'" in err
    assert "name it with --around" in clew("show", ONE, "-n", "3")[2]
    assert "leave out --turns" in clew("show", ONE, "--around", "3", "--turns", "1")[2]


def test_an_entry_of_an_agent_is_found_in_its_own_conversation(claude: Path, clew: Run) -> None:
    stored(claude)
    _, out, err = clew("show", ONE, "--around", uuid(102))
    assert "errand done" in out and "question" not in out
    assert err == "These messages are those of the agent 0f1e2d3.\n"


def test_a_branch_that_was_left_is_shown_as_it_was(claude: Path, clew: Run) -> None:
    lines = [user(1, "start"), reply(2, text("yes"))]
    lines += [
        user(3, "the old way"),
        reply(4, text("old")),
        user(5, "the new way", parentUuid=uuid(2)),
        reply(6, text("new")),
    ]
    write(claude, ONE, *lines)
    assert shown(clew, "--around", "4") == [1, 2, 3, 4]
    assert shown(clew, "--around", "6") == [1, 2, 5, 6]
    assert "on branch" in clew("show", ONE, "--around", "4")[2]


def test_a_result_without_its_call_in_sight_is_shown_with_it(claude: Path, clew: Run) -> None:
    asked = reply(2, use("toolu_1", "Bash", command="ls"), stop="tool_use")
    write(claude, ONE, user(1, "go"), asked, result(3, "toolu_1", "a numbat"), reply(4, text("done")))
    _, out, _ = clew("show", ONE, "--around", "3", "-n", "0")
    assert "line 3: result of Bash ls" in out and "a numbat" in out


def thoughtful(claude: Path) -> None:
    """A prompt on line 1, then replies of three lines each: thinking, text, and a call with its result."""
    lines = [user(1, "start")]
    for n in range(2, 22, 4):
        lines += [reply(n, thinking(f"thought {n}")), reply(n + 1, text(f"words {n + 1}"))]
        lines += [reply(n + 2, use(f"toolu_{n}", "Bash", command=f"run {n}")), result(n + 3, f"toolu_{n}", f"came {n}")]
    write(claude, ONE, *lines)


def test_only_messages_that_are_shown_count(claude: Path, clew: Run) -> None:
    thoughtful(claude)
    _, out, _ = clew("show", ONE, "--around", "11", "-n", "3")
    assert "thought" not in out  # lines 10 and 14 are thinking
    assert [n for n in range(3, 22, 4) if f"words {n}" in out] == [7, 11, 15]
    assert "run 6" in out and "run 10" in out and "words 3" not in out and "run 14" not in out
    _, out, _ = clew("show", ONE, "--around", "11", "-n", "3", "--thinking")
    assert "thought 10" in out and "thought 14" in out and "words 7" not in out and "words 15" not in out
    _, out, _ = clew("show", ONE, "--around", "11", "-n", "1", "--depth", "replies")
    assert [n for n in range(3, 22, 4) if f"words {n}" in out] == [7, 11, 15] and "run" not in out
    assert shown(clew, "--around", "11", "-n", "3") == [8, 9, 10, 11, 12, 13, 14]  # JSON has every message


def test_a_model_gets_as_many_messages_as_it_asks_for(claude: Path) -> None:
    thoughtful(claude)
    answer = ask(Tree(claude), "context", {"id": ONE, "place": "11", "messages": 3})
    assert "Lines 7-15" in answer and "words 7" in answer and "words 15" in answer


def test_thinking_at_the_place_is_shown(claude: Path, clew: Run) -> None:
    thoughtful(claude)
    _, out, _ = clew("show", ONE, "--around", "10", "-n", "1")
    assert "── line 10: thinking ──" in out and "thought 10" in out and "words 11" in out and "thought 6" not in out
