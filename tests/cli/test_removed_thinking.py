"""Token usage after thinking was removed, for sessions of versions that do not report the tokens of thinking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, reply, text, thinking, user, write

WARNING = (
    "2 replies count thinking that is not in the file: tokens and text do not agree, in turns 1, 3 (msg_a, msg_c).\n"
)


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def stored(claude: Path, version: str) -> None:
    stub = {"input_tokens": 2, "output_tokens": 2}
    lines = (
        user(1, "first", version=version),
        reply(2, thinking("long thoughts"), id="msg_a", stop=None, usage=stub, version=version),
        reply(3, text("an answer"), id="msg_a", version=version),
        user(4, "second", version=version),
        reply(5, text("without thoughts"), id="msg_b", version=version),
        user(6, "third", version=version),
        reply(7, thinking("more thoughts"), text("another"), id="msg_c", version=version),
    )
    write(claude, ONE, *lines)


def rows(clew: Run, session: str) -> list[Any]:
    return [json.loads(line) for line in clew("usage", "turns", session, "--json")[1].splitlines()]


@pytest.mark.req("R125")
@pytest.mark.parametrize("version", ["2.0.50", "2.1.29"])
def test_usage_names_the_replies_that_count_removed_thinking(claude: Path, clew: Run, version: str) -> None:
    stored(claude, version)
    assert clew("usage", "turns", ONE)[2] == ""
    made = json.loads(clew("trim", ONE, "--thinking", "--json")[1])["id"]
    assert clew("usage", "turns", made)[2] == WARNING
    *turns, total = rows(clew, made)
    assert [row["replies_without_thinking"] for row in turns] == [["msg_a"], [], ["msg_c"]]
    assert total["replies_without_thinking"] == ["msg_a", "msg_c"]
    assert total["output"] == sum(row["output"] for row in rows(clew, ONE)[:-1]) == 3 * 649
    assert clew("usage", "turns", ONE)[2] == ""


@pytest.mark.req("R125")
@pytest.mark.parametrize("view", ["day", "session", "model", "blocks", "context", "waste"])
def test_every_usage_of_one_session_has_the_warning(claude: Path, clew: Run, view: str) -> None:
    def warned(session: str, *more: str) -> str:
        named = (session,) if view in ("context", "waste") else ("--session", session)
        return clew("usage", view, *named, *more)[2]

    stored(claude, "2.0.50")
    assert warned(ONE) == ""
    made = json.loads(clew("trim", ONE, "--thinking", "--json")[1])["id"]
    for path in claude.glob(f"projects/*/{ONE}.jsonl"):
        path.unlink()  # else its replies count there
    assert warned(made) == warned(made, "--json") == WARNING
    assert warned(made, "--quiet") == ""


@pytest.mark.req("R125")
def test_a_copy_of_a_session_without_its_thinking_has_the_same_warning(claude: Path, clew: Run) -> None:
    stored(claude, "2.0.50")
    made = json.loads(clew("trim", ONE, "--thinking", "--json")[1])["id"]
    copy = json.loads(clew("clone", made, "--json")[1])["id"]
    assert clew("usage", "turns", copy)[2] == WARNING
