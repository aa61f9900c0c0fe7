"""Projects, sessions and agents of hand-written trees, as `ls` and `show` print them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import OTHER, PROJECT, SESSION, prompt, put, reply, result, text, write_lines

Json = dict[str, Any]
ZOO = "-home-mira-zoo"


def rows(clew: Run, *words: str) -> list[Json]:
    code, out, _ = clew(*words, "--json")
    assert code == 0
    return [json.loads(line) for line in out.splitlines()]


def project(claude: Path, name: str) -> Path:
    return claude / "projects" / name


def session(folder: Path, id: str = SESSION, **fields: Any) -> Path:
    return write_lines(folder / f"{id}.jsonl", prompt(1, None, "Go", sessionId=id, **fields))


# -- projects and sessions


@pytest.mark.req("R001", "R011", "R350")
def test_every_folder_is_a_project_with_or_without_a_memory(clew: Run, claude: Path) -> None:
    session(project(claude, ZOO), OTHER)
    session(project(claude, PROJECT))
    project(claude, "-home-mira-empty").mkdir()
    memory = put(project(claude, ZOO) / "memory" / "MEMORY.md", "# The zoo\n")
    found = rows(clew, "ls", "projects")
    assert [(row["name"], row["memory"]) for row in found] == [
        ("-home-mira-empty", None),
        (PROJECT, None),
        (ZOO, str(memory)),
    ]


@pytest.mark.req("R003", "R004")
def test_a_file_named_by_a_uuid_is_a_session_and_no_other_file_is(clew: Run, claude: Path) -> None:
    path = session(project(claude, PROJECT))
    for name in ("notes", "agent-0a1b2c3", SESSION[:-1], f"{SESSION}-old", "backup-of-a-session"):
        write_lines(path.with_name(f"{name}.jsonl"), prompt(1, None, "Go"))
    assert [(row["id"], row["path"]) for row in rows(clew, "ls")] == [(SESSION, str(path))]


LONG = "/home/dev/" + "a" * 191
NAMES = {  # the hash at the end of the last is the one that Claude Code gave to this path
    "/home/flight/develop/tinyledger": "-home-flight-develop-tinyledger",
    "/Users/agutnikov/work/mtools": "-Users-agutnikov-work-mtools",
    "/Users/naman/Desktop/project": "-Users-naman-Desktop-project",
    "/home/user/project": "-home-user-project",
    "E:\\workspaces\\project": "E--workspaces-project",
    "C:\\Users\\admin\\code": "C--Users-admin-code",
    "E:/workspaces/project": "E--workspaces-project",
    "/home/mira/a.b_c d": "-home-mira-a-b-c-d",
    LONG: f"{LONG[:200].replace('/', '-')}-barnga",
}


@pytest.mark.req("R020", "R021", "R022", "R023", "R024", "R025", "R026", "R027", "R346")
@pytest.mark.parametrize("path", NAMES)
def test_a_project_has_the_folder_that_its_path_names(clew: Run, claude: Path, path: str) -> None:
    name = NAMES[path]
    session(project(claude, PROJECT))
    there = session(project(claude, name), OTHER, cwd=path)
    session(project(claude, f"{name}-2"), OTHER.replace("2", "3"), cwd=f"{path}-2")
    assert [row["path"] for row in rows(clew, "ls", "-p", path)] == [str(there)]
    (made,) = rows(clew, "clone", SESSION, "--to", path)
    assert Path(made["path"]).parent == there.parent
    assert {row["id"] for row in rows(clew, "ls", "-p", path)} == {OTHER, made["id"]}


@pytest.mark.req("R028")
def test_a_path_that_only_the_name_of_the_folder_tells_is_called_a_guess(clew: Run, claude: Path) -> None:
    session(project(claude, "-home-mira-night-sky"), cwd=None)
    (row,) = rows(clew, "ls", "projects")
    assert (row["project"], row["path_from"]) == ("/home/mira/night/sky", "guess")
    assert "/home/mira/night/sky (a guess)" in clew("ls", "projects")[1]


@pytest.mark.req("R029", "R030", "R035", "R041")
def test_the_index_knows_the_path_of_a_project_before_a_session_does(clew: Run, claude: Path) -> None:
    folder = project(claude, "-home-mira-night-sky")
    session(folder, cwd="/home/mira/night-sky")
    (row,) = rows(clew, "ls", "projects")
    assert (row["project"], row["path_from"]) == ("/home/mira/night-sky", "cwd")
    index = {"version": 1, "entries": [], "originalPath": "/home/mira/night.sky"}
    path = put(folder / "sessions-index.json", json.dumps(index))
    (row,) = rows(clew, "ls", "projects")
    assert (row["project"], row["path_from"]) == ("/home/mira/night.sky", "index")
    for broken in ("", "{", "[]", json.dumps({**index, "version": 7}), json.dumps({**index, "entries": 5})):
        put(path, broken)
        (row,) = rows(clew, "ls", "projects")
        assert (row["project"], row["sessions"]) == ("/home/mira/night-sky", 1), broken
        assert [row["id"] for row in rows(clew, "ls")] == [SESSION]


@pytest.mark.req("R031", "R346")
def test_the_folder_of_a_windows_path_is_read_as_one(clew: Run, claude: Path) -> None:
    session(project(claude, "E--workspaces-project"), cwd=None)
    (row,) = rows(clew, "ls", "projects")
    assert (row["project"], row["path_from"]) == ("E:\\workspaces\\project", "guess")


# -- agents


def agent(path: Path, id: str) -> Path:
    begun = prompt(30, None, f"Count the {id}", isSidechain=True, agentId=id)
    answer = reply(31, 30, text(f"Seven {id}."), isSidechain=True, agentId=id)
    answer["message"]["model"] = "claude-haiku-4-5-20251001"
    return write_lines(path, begun, answer)


def sent(claude: Path) -> Path:
    """A session that sent an agent to count moons."""
    folder = project(claude, PROJECT)
    task = {"description": "Count moons", "prompt": "Count the moons", "subagent_type": "Explore"}
    totals = {"status": "completed", "totalDurationMs": 83_000, "totalTokens": 3210, "totalToolUseCount": 7}
    record = {**totals, "prompt": "Count the moons", "agentId": "moons", "content": [text("Seven moons.")], "usage": {}}
    write_lines(
        folder / f"{SESSION}.jsonl",
        prompt(1, None, "How many moons are there?"),
        reply(2, 1, {"type": "tool_use", "id": "toolu_01Moons", "name": "Task", "input": task}),
        result(3, 2, "toolu_01Moons", "Seven moons.", record),
        reply(4, 3, text("There are seven.")),
    )
    agent(folder / SESSION / "subagents" / "agent-moons.jsonl", "moons")
    return folder


@pytest.mark.req("R005", "R006", "R007")
def test_agents_of_each_layout_belong_to_their_session(clew: Run, claude: Path) -> None:
    folder = sent(claude)
    agent(folder / "agent-0a1b2c3.jsonl", "0a1b2c3")
    agent(folder / "subagents" / "agent-rings.jsonl", "rings")
    found = {row["id"]: (row["layout"], row["session"]) for row in rows(clew, "ls", "agents")}
    assert found == {"moons": ("nested", SESSION), "0a1b2c3": ("flat", SESSION), "rings": ("project", SESSION)}


@pytest.mark.req("R192", "R196", "R197")
def test_an_agent_is_shown_at_its_call_with_its_totals_and_model(clew: Run, claude: Path) -> None:
    sent(claude)
    (turn,) = (row for row in rows(clew, "show", SESSION) if row["kind"] == "turn")
    (call,) = (each for said in turn["replies"] for each in said["calls"])
    (shown,) = call["agents"]
    assert (shown["id"], shown["model"]) == ("moons", "claude-haiku-4-5-20251001")
    totals = {"status": "completed", "totalDurationMs": 83_000, "totalTokens": 3210, "totalToolUseCount": 7}
    assert shown["totals"] == totals
    assert shown["turns"][0]["replies"][0]["text"] == "Seven moons."
    printed = clew("show", SESSION)[1]
    begin = printed.index("● Task Count moons")
    about = printed.index("◆ agent Count moons  (Explore, claude-haiku-4-5-20251001, 3.2k tokens)")
    assert begin < about < printed.index("There are seven.")


@pytest.mark.req("R193")
def test_the_file_of_an_agent_is_shown_like_a_session(clew: Run, claude: Path) -> None:
    path = sent(claude) / SESSION / "subagents" / "agent-moons.jsonl"
    for name in ("moons", str(path)):
        code, out, _ = clew("show", name)
        assert code == 0
        assert "❯ Count the moons\nSeven moons." in out
