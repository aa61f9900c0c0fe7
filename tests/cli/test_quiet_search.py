"""The quiet search: what people and the model said to each other, without tools and agents. Files written by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, TWO, put, reply, result, text, thinking, use, user, write

QUIET = "in:talk"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("CLEW_SEARCH", raising=False)


@pytest.fixture(params=["filter", "file", "variable"])
def quiet(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """What to add to a query to search quietly: the filter, or nothing where a setting makes it the default."""
    if request.param == "filter":
        return (QUIET,)
    if request.param == "variable":
        monkeypatch.setenv("CLEW_SEARCH", QUIET)
    else:
        settings = tmp_path / "XDG_CONFIG_HOME" / "clew" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[search]\ndefault = "{QUIET}"\n')
    return ()


def found(clew: Run, *words: str) -> list[tuple[str, list[str]]]:
    rows = [json.loads(line) for line in clew("search", *words, "--json")[1].splitlines()]
    return [(row["session"], sorted({passage["field"] for passage in row["passages"]})) for row in rows]


def agent(claude: Path, *lines: Any) -> None:
    folder = claude / "projects" / "-home-flight-develop-tinyledger" / ONE / "subagents"
    names: dict[str, Any] = {"isSidechain": True, "agentId": "0f1e2d3", "sessionId": ONE}
    put(folder / "agent-0f1e2d3.jsonl", *({**line, **names} for line in lines))


@pytest.mark.req("R212")
def test_prompts_and_replies_are_searched(claude: Path, clew: Run, quiet: tuple[str, ...]) -> None:
    write(claude, ONE, user(1, "a wombat, please"), reply(2, text("here")))
    write(claude, TWO, user(1, [text("hello")]), reply(2, text("what about a wombat?")))
    assert sorted(found(clew, "wombat", *quiet)) == sorted([(ONE, ["prompt"]), (TWO, ["reply"])])


@pytest.mark.req("R212", "R213")
def test_noise_never_matches(claude: Path, clew: Run, quiet: tuple[str, ...]) -> None:
    write(
        claude,
        ONE,
        user(1, "hello"),
        reply(2, thinking("a wombat"), use("toolu_1", "Bash", command="echo wombat"), stop="tool_use"),
        {"type": "progress", "data": {"type": "bash_progress", "output": "wombat"}, "uuid": "p1"},
        {"type": "progress", "data": {"type": "hook_progress", "command": "wombat"}, "uuid": "p2"},
        {"type": "bash_progress", "output": "wombat", "content": "wombat"},
        {"type": "hook_progress", "command": "wombat", "content": "wombat"},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"trackedFileBackups": {"wombat": {}}}},
        {"type": "thinking", "thinking": "wombat"},
        result(3, "toolu_1", "wombat", {"stdout": "wombat", "stderr": ""}),
        reply(4, text("done")),
    )
    assert clew("search", "wombat", *quiet)[0] == 1
    if not quiet:  # the query of --substring is text alone, so that only a setting can restrict it
        assert clew("search", "--substring", "wombat")[0] == 1
    assert found(clew, "wombat", "in:all") == [(ONE, ["input", "result"])]


@pytest.mark.req("R215")
def test_agents_are_excluded_and_included_by_a_filter(claude: Path, clew: Run, quiet: tuple[str, ...]) -> None:
    write(claude, ONE, user(1, "hello"), reply(2, text("hi")))
    agent(claude, user(1, "look for the dugong"), reply(2, text("a dugong")))
    assert clew("search", "dugong", *quiet)[0] == 1
    assert found(clew, "dugong", "is:agent") == [(ONE, ["prompt", "reply"])]
    assert found(clew, "dugong", "in:all") == [(ONE, ["prompt", "reply"])]


@pytest.mark.req("R215")
def test_what_only_an_agent_said_ranks_below_what_a_session_said(claude: Path, clew: Run) -> None:
    """The agent says it more often and later; only the lower weight of agents puts it second."""
    write(claude, TWO, user(1, "where is the lynx"), reply(2, text("there")))
    write(claude, ONE, *(user(n, "hello") if n % 2 else reply(n, text("hi")) for n in range(1, 9)))
    agent(claude, *(user(n, f"where is the lynx {n}") for n in (3, 5)))
    assert [session for session, _ in found(clew, "lynx")] == [TWO, ONE]


def test_a_default_gives_way_to_what_a_query_chooses(claude: Path, clew: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write(
        claude,
        ONE,
        user(1, "hello"),
        reply(2, use("toolu_1", "Bash", command="echo wombat"), stop="tool_use"),
        result(3, "toolu_1", "a numbat", "Error: numbat"),
    )
    monkeypatch.setenv("CLEW_SEARCH", QUIET)
    assert found(clew, "wombat") == []
    for words in (
        ("wombat", "in:input"),
        ("wombat", "tool:Bash"),
        ("wombat", "role:assistant"),
        ("numbat", "is:error"),
    ):
        assert [session for session, _ in found(clew, *words)] == [ONE], words
    monkeypatch.setenv("CLEW_SEARCH", "")
    assert found(clew, "wombat") == [(ONE, ["input"])]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("[search]\ndefault = in:talk\n", "Cannot read the settings"),
        ("[search]\ndefault = 5\n", "is not a string"),
        ('[search]\ndefault = "wombat"\n', "contain words; use filters only"),
        ('[search]\ndefault = "in:nowhere"\n', "are not valid: in: takes title, prompt"),
    ],
)
def test_a_wrong_setting_is_explained(claude: Path, clew: Run, tmp_path: Path, setting: str, sentence: str) -> None:
    write(claude, ONE, user(1, "hello"))
    path = tmp_path / "XDG_CONFIG_HOME" / "clew" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(setting)
    code, out, err = clew("search", "hello")
    assert (code, out) == (2, "") and sentence in err
