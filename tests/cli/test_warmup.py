"""Warm-up stubs, which some versions left beside the agents: one line with the word Warmup."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, put, reply, text, user, write


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def rows(clew: Run, *words: str) -> list[Any]:
    return [json.loads(line) for line in clew(*words, "--json")[1].splitlines()]


def counted(clew: Run) -> dict[str, int]:
    """How many agents there are, by each command that counts or lists them."""
    assert clew("collect")[0] == 0
    return {
        "ls projects": rows(clew, "ls", "projects")[0]["agents"],
        "ls agents": len(rows(clew, "ls", "agents")),
        "check": rows(clew, "check", ONE)[0]["agents"],
        "sql": rows(clew, "sql", "SELECT agents FROM sessions")[0]["row"]["agents"],
        "search": len(rows(clew, "search", "Warmup", "is:agent")),
        "search has:agent": len(rows(clew, "search", "has:agent")),
    }


@pytest.mark.req("R195")
@pytest.mark.parametrize("place", ["agent-0f1e2d3.jsonl", f"{ONE}/subagents/agent-0f1e2d3.jsonl"])
def test_all_commands_agree_that_a_stub_is_no_agent_and_a_longer_file_is(claude: Path, clew: Run, place: str) -> None:
    path = write(claude, ONE, user(1, "hello"), reply(2, text("hi"))).parent / place
    names: dict[str, Any] = {"isSidechain": True, "agentId": "0f1e2d3", "sessionId": ONE}
    stub = user(1, "Warmup", **names)
    put(path, stub)
    assert set(counted(clew).values()) == {0}, counted(clew)
    put(path, stub, reply(2, text("I am ready."), **names))
    assert set(counted(clew).values()) == {1}, counted(clew)
