"""What `search` finds in hand-written sessions, and in which order; times and versions as `ls` and `show` read them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import OTHER, PROJECT, SESSION, call, prompt, put, reply, result, text, write_lines

Json = dict[str, Any]
THIRD = OTHER[:-1] + "3"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in ("CLAUDE_SESSION_ID", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)


def said(claude: Path, id: str, *texts: str, month: int = 2, **fields: Any) -> Path:
    """A session of a prompt and replies, held in a month of 2026."""
    about = {"sessionId": id, **fields}
    lines = [prompt(1, None, f"Session {id[-1]}", **about)]
    lines += [reply(number, number - 1, text(each), **about) for number, each in enumerate(texts, 2)]
    for line in lines:
        line["timestamp"] = f"2026-{month:02d}-03T10:00:{int(line['uuid'][-2:]):02d}.000Z"
        line["uuid"] = line["uuid"][:-12] + id[-4:] + line["uuid"][-8:]
        line["parentUuid"] = line["parentUuid"] and line["parentUuid"][:-12] + id[-4:] + line["parentUuid"][-8:]
        if "id" in line["message"]:
            line["message"]["id"] += id[-1]
    return write_lines(claude / "projects" / PROJECT / f"{id}.jsonl", *lines)


def found(clew: Run, *words: str) -> list[str]:
    return [json.loads(line)["session"] for line in clew("search", *words, "--json")[1].splitlines()]


@pytest.mark.req("R214")
def test_thinking_is_found_only_if_it_is_asked_for(clew: Run, claude: Path) -> None:
    thought = {"type": "thinking", "thinking": "A narwhal, perhaps.", "signature": "c2ln"}
    write_lines(
        claude / "projects" / PROJECT / f"{SESSION}.jsonl",
        prompt(1, None, "Which animal is it?"),
        reply(2, 1, thought, text("A whale.")),
    )
    assert found(clew, "narwhal") == []
    assert found(clew, "narwhal", "in:thinking") == [SESSION]


@pytest.mark.req("R218")
def test_the_newer_of_two_equal_sessions_is_first(clew: Run, claude: Path) -> None:
    said(claude, SESSION, "The comet is bright.", month=10)
    said(claude, OTHER, "The comet is bright tonight.", month=1)
    assert found(clew, "comet") == [SESSION, OTHER]
    said(claude, THIRD, "The comet is bright today.", month=11)
    assert found(clew, "comet") == [THIRD, SESSION, OTHER]


@pytest.mark.req("R218")
def test_a_session_with_more_matches_is_first(clew: Run, claude: Path) -> None:
    said(claude, SESSION, "The comet is bright.", "Nothing.", "Nothing.", "Nothing.", "Nothing.")
    said(claude, OTHER, *(f"The comet number {number} is bright." for number in range(5)))
    assert found(clew, "comet") == [OTHER, SESSION]


@pytest.mark.req("R218")
def test_a_session_with_more_messages_is_first(clew: Run, claude: Path) -> None:
    """The longer one is a little older, and both are so old that this hardly counts."""
    for long, short in ((OTHER, SESSION), (SESSION, OTHER)):
        said(claude, long, "The comet is bright.", *(f"Star {number}." for number in range(40)), month=1)
        said(claude, short, "The comet is bright!", "Star.", month=2)
        assert found(clew, "comet") == [long, short]


@pytest.mark.req("R223")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("GREAT comet", "the Great Comet of 1811"),
        ('"std::vector<int>"', "use std::vector<int> here"),
        ("C:\\plates\\new", "it lies in C:\\plates\\new"),
        ('say "hello world"', 'they say "Hello World" aloud'),
        ("望遠鏡", "大きな望遠鏡です"),
        ('"first\nsecond"', "first\nsecond"),
    ],
)
def test_a_query_is_literal_and_ignores_case(clew: Run, claude: Path, words: str, text: str) -> None:
    said(claude, SESSION, text)
    said(claude, OTHER, "an int and a vector, std: world; a comet 1811. New plates, second first, of C: 鏡 遠")
    assert found(clew, words) == [SESSION]


@pytest.mark.req("R224")
def test_the_limit_is_a_number_of_sessions_best_first(clew: Run, claude: Path) -> None:
    for number, id in enumerate((SESSION, OTHER, THIRD), 1):
        said(claude, id, *(f"The comet {each} is bright." for each in range(number * 2)))
    assert found(clew, "comet", "--limit", "2") == [THIRD, OTHER]
    assert found(clew, "comet", "--limit", "3") == [THIRD, OTHER, SESSION]


# -- prompts, times and versions


@pytest.mark.req("R335")
def test_the_times_of_the_prompt_history_are_milliseconds(clew: Run, claude: Path) -> None:
    typed = {"display": "List all plates", "pastedContents": {}, "timestamp": 1770112800123}
    write_lines(
        claude / "history.jsonl", {**typed, "project": "/home/mira/observatory"}, {**typed, "sessionId": SESSION}
    )
    rows = [json.loads(line) for line in clew("ls", "prompts", "--json")[1].splitlines()]
    assert [row["time"] for row in rows] == ["2026-02-03T10:00:00.123Z"] * 2


@pytest.mark.req("R348")
def test_times_are_compared_as_instants_whatever_their_offset(clew: Run, claude: Path) -> None:
    path = said(claude, SESSION, "Yes.")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    lines[0]["timestamp"], lines[1]["timestamp"] = "2026-02-03T12:00:00.000+02:00", "2026-02-03T10:00:30Z"
    write_lines(path, *lines)
    (row,) = [json.loads(line) for line in clew("ls", "--json")[1].splitlines()]
    assert (row["started"], row["ended"]) == ("2026-02-03T10:00:00.000Z", "2026-02-03T10:00:30.000Z")
    (turn,) = [json.loads(line) for line in clew("show", SESSION, "--json")[1].splitlines()]
    assert turn["seconds"] == 30.0


VERSIONS = ("2.0.36", "2.0.37", "2.0.42", "2.0.50", "2.0.76", "2.1.4", "2.1.29", "2.1.45")


@pytest.mark.req("R347")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_session_of_each_version_named_in_early_descriptions_is_shown(clew: Run, claude: Path, version: str) -> None:
    lines = [
        prompt(1, None, "List all plates"),
        reply(2, 1, text("I look."), call("toolu_01A", "ls a")),
        result(3, 2, "toolu_01A", "a.fits", {"stdout": "a.fits", "stderr": ""}),
        reply(4, 3, text("There is one.")),
    ]
    for line in lines:
        line["version"] = version
        if line["type"] == "assistant" and version in ("2.1.29", "2.1.45"):  # from 2.1.9 on
            line["message"]["stop_reason"] = None
    folder = claude / "projects" / PROJECT
    write_lines(folder / f"{SESSION}.jsonl", *lines)
    sent = prompt(30, None, "Count", isSidechain=True, agentId="0a1b2c3", version=version)
    write_lines(
        folder / "agent-0a1b2c3.jsonl", sent, reply(31, 30, text("Seven."), isSidechain=True, agentId="0a1b2c3")
    )
    (row,) = [json.loads(line) for line in clew("ls", "--json")[1].splitlines()]
    assert (row["id"], row["version"]) == (SESSION, version)
    shown = clew("show", SESSION)[1]
    assert "❯ List all plates\nI look.\n● Bash ls a  1s\n  ⎿ a.fits\nThere is one." in shown
    (agent,) = [json.loads(line) for line in clew("ls", "agents", "--json")[1].splitlines()]
    assert (agent["id"], agent["session"]) == ("0a1b2c3", SESSION)


# -- collect


def collected(clew: Run, to: Path, state: Path) -> list[str]:
    """The names of the files from which a run sends lines, one for each line."""
    before = len(to.read_bytes().splitlines()) if to.exists() else 0
    assert clew("collect", "--no-archive", "--to", str(to), "--state", str(state))[0] == 0
    added = [json.loads(line) for line in to.read_bytes().splitlines()[before:]]
    return [row["file"].rpartition("/")[2] for row in added]


@pytest.mark.req("R318", "R321")
def test_a_broken_state_is_a_clean_start_and_stubs_are_never_sent(clew: Run, claude: Path, tmp_path: Path) -> None:
    path, to, state = said(claude, SESSION, "Yes."), tmp_path / "out.jsonl", tmp_path / "state.json"
    stub = prompt(3, None, "Warmup", isSidechain=True, agentId="0a1b2c3")
    write_lines(path.with_name("agent-0a1b2c3.jsonl"), stub)
    assert collected(clew, to, state) == [path.name] * 2
    assert collected(clew, to, state) == []
    for broken in (b"", b"{", b"[]", state.read_bytes()[:-9], os.urandom(64)):
        put(state, broken)
        assert collected(clew, to, state) == [path.name] * 2, broken
        assert json.loads(state.read_bytes())["claude_code"]["files"]


@pytest.mark.req("R318")
def test_the_state_is_replaced_as_a_whole(clew: Run, claude: Path, tmp_path: Path) -> None:
    path, to, state = said(claude, SESSION, "Yes."), tmp_path / "out.jsonl", tmp_path / "state.json"
    collected(clew, to, state)
    before = state.read_bytes()
    os.link(state, tmp_path / "old.json")  # the other name of the same file
    said(claude, SESSION, "Yes.", "And more.")
    assert collected(clew, to, state) == [path.name]
    assert state.read_bytes() != before == (tmp_path / "old.json").read_bytes()
