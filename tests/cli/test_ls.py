"""`clew ls`, as it is typed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import Talk, talk, task
from tests.content_times import set_last_use

pytestmark = pytest.mark.portable

Run = Callable[..., tuple[int, str, str]]
TOKEN = "ghp_" + "Ab3dEf6hIj" * 3 + "KLMNOP"


DAY = 86_400
MONDAY = 1_767_603_600  # 2026-01-05T09:00Z, when a demo session begins


def put(told: Talk, claude: Path, days: int) -> Path:
    """Write a session of some days ago. The file times say the opposite."""
    path = set_last_use(told.write(claude), MONDAY - days * DAY)
    os.utime(path, (time.time() + days, time.time() + days))
    return path


def values(out: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in out.splitlines()]
    assert all(row["clew"] == 1 for row in found)
    return found


def three(claude: Path) -> list[str]:
    made = [
        put(talk(seed=1).user("dig").reply("ok"), claude, 3),
        put(talk(seed=2, cwd="/home/ada/kitchen").user("cook").reply("ok").title("Soup"), claude, 1),
        put(talk(seed=3, branch="a-branch-with-a-very-long-name").user("sow\nand reap").reply("ok"), claude, 2),
    ]
    return [path.stem for path in made]


def test_sessions_are_a_table_with_the_newest_first(clew: Run, claude: Path) -> None:
    dig, cook, sow = three(claude)
    code, out, err = clew("ls")
    assert (code, err) == (0, "")
    head, *rows = [line.split() for line in out.splitlines()]
    assert head == ["ID", "WHEN", "SIZE", "PROJECT", "BRANCH", "TITLE"]
    assert [row[0] for row in rows] == [cook[:8], sow[:8], dig[:8]]
    assert rows[0][4:] == ["kitchen", "main", "Soup"]
    assert rows[1][4:] == ["garden", "a-branch-with-a-v…", "sow", "and", "reap"]


def test_sessions_as_json_lines(clew: Run, claude: Path) -> None:
    _, cook, _ = three(claude)
    code, out, _ = clew("ls", "--json", "--limit", "1")
    (row,) = values(out)
    assert code == 0
    assert {k: row[k] for k in ("kind", "id", "title", "project", "branch", "version", "ended", "resume")} == {
        "kind": "session",
        "id": cook,
        "title": "Soup",
        "project": "/home/ada/kitchen",
        "branch": "main",
        "version": "2.1.232",
        "ended": "2026-01-04T09:00:00.000Z",
        "resume": f"claude -r {cook}",
    }
    assert Path(row["path"]).stat().st_size == row["bytes"] and "when" not in row


def test_the_common_options(clew: Run, claude: Path) -> None:
    dig, cook, sow = three(claude)

    def ids(*words: str) -> list[str]:
        return [row["id"] for row in values(clew("ls", "--json", *words)[1])]

    assert ids("--project", "garden") == [sow, dig]
    assert ids("-p", "/home/ada/kitchen") == [cook]
    assert ids("--since", "2026-01-03T00:00:00Z") == [cook, sow]
    assert ids("--until", "2026-01-03T00:00:00Z") == [dig]
    assert ids("-n", "2") == [cook, sow]


@pytest.mark.req("R350")
def test_the_order_is_the_same_every_time_also_among_equals(clew: Run, demo: DemoSummary, claude: Path) -> None:
    for path in (claude / "projects").rglob("*.jsonl"):
        set_last_use(path, 1_000)
    for kind in ("sessions", "projects", "agents", "prompts"):
        assert clew("ls", kind, "--json") == clew("ls", kind, "--json")
    listed = [row["id"] for row in values(clew("ls", "--json")[1]) if "kept" not in row]
    assert listed == sorted(listed)


@pytest.mark.req("R015")
def test_files_without_a_conversation_are_not_listed(clew: Run, demo: DemoSummary) -> None:
    ids = [row["id"] for row in values(clew("ls", "--json")[1]) if "kept" not in row]
    assert demo.sessions["empty"] not in ids and len(ids) == len(demo.sessions) - 1
    projects = values(clew("ls", "projects", "--json")[1])
    assert sum(row["empty"] for row in projects) == 1


@pytest.mark.req("R236")
def test_projects_with_paths_of_every_system(clew: Run, demo: DemoSummary) -> None:
    code, out, _ = clew("ls", "projects")
    assert code == 0
    shown = {line.split("  ")[-1].strip() for line in out.splitlines()[1:]}
    assert shown == {
        "/Users/ada/Sites/pressroom",
        "/home/ada/src/drip",
        "/home/ada/work/bakery-orders",
        "/srv/data/tide-gauge",
        "C:\\Users\\ada\\source\\repos\\ChessClock",
    }
    for asked in ("C:\\Users\\ada\\source\\repos\\ChessClock", "c:/users/ada/source/repos/chessclock/", "chessclock"):
        assert len(values(clew("ls", "-p", asked, "--json")[1])) == 2
        prompts = values(clew("ls", "prompts", "-p", asked, "--json")[1])
        assert {row["session"] for row in prompts} >= {demo.sessions["drift"], demo.sessions["damaged"]}
        assert {row["project"] for row in prompts} == {"C:\\Users\\ada\\source\\repos\\ChessClock"}
    assert "ChessClock master Clock drift in five minute games" in " ".join(clew("ls")[1].split())


def test_a_guessed_path_is_said_to_be_one(clew: Run, claude: Path) -> None:
    (claude / "projects" / "-srv-data").mkdir(parents=True)
    assert "/srv/data (a guess)" in clew("ls", "projects")[1]


def test_agents_with_their_session_and_type(clew: Run, claude: Path) -> None:
    child = talk(seed=2).user("count the beds").reply("four")
    told = talk().user("go").reply(call=task("Count", "count the beds", "Explore")).agent(0, child).reply("ok")
    path = told.write(claude)
    code, out, _ = clew("ls", "agents", "--json")
    (row,) = values(out)
    assert code == 0
    assert (row["session"], row["type"], row["title"], row["layout"]) == (path.stem, "Explore", "Count", "nested")
    assert clew("ls", "agents")[1].splitlines()[1].endswith("  Explore  Count")
    assert clew("ls", "agents", "--since", "2026-01-06")[0] == 1
    assert clew("ls", "agents", "--until", "2026-01-06", "-n", "5")[0] == 0


@pytest.mark.parametrize("meta", [None, "{}", '{"description": ""}', "[]", "{"])
def test_the_type_of_an_agent_is_that_of_its_call_where_the_meta_file_has_none(
    clew: Run, claude: Path, meta: str | None
) -> None:
    child = talk(seed=2).user("count the beds").reply("four")
    told = talk().user("go").reply(call=task("Count", "count the beds", "Explore")).agent(0, child).reply("ok")
    path = told.write(claude)
    (file,) = path.parent.rglob("agent-*.meta.json")
    file.unlink() if meta is None else file.write_text(meta)
    (row,) = values(clew("ls", "agents", "--json")[1])
    assert (row["type"], row["title"]) == ("Explore", "Count")
    assert clew("ls", "agents")[1].splitlines()[1].endswith("  Explore  Count")
    file.unlink(missing_ok=True)
    path.unlink()  # nothing names the type now
    (row,) = values(clew("ls", "agents", "--json")[1])
    assert (row["type"], row["title"]) == (None, "count the beds")
    assert clew("ls", "agents")[1].splitlines()[1].endswith("  unknown  count the beds")


@pytest.mark.req("R336")
def test_prompts_by_project_and_date_joined_to_their_sessions(clew: Run, demo: DemoSummary) -> None:
    everything = values(clew("ls", "prompts", "--json")[1])
    assert [row["time"] for row in everything] == sorted((row["time"] for row in everything), reverse=True)
    folders = {row["id"]: row["project"] for row in values(clew("ls", "--json")[1]) if "kept" not in row}
    assert {row["session"] for row in everything} >= {demo.sessions["agents"], demo.sessions["rounding"]}
    assert all(folders.get(row["session"], row["project"]) == row["project"] for row in everything)
    drip = values(clew("ls", "prompts", "-p", "drip", "--json")[1])
    assert drip == [row for row in everything if row["project"] == "/home/ada/src/drip"] != []
    late = values(clew("ls", "prompts", "--since", "2026-05-20T00:00Z", "--until", "2026-05-30T00:00Z", "--json")[1])
    assert late == [row for row in everything if "2026-05-20" <= row["time"] < "2026-05-30"] != []
    assert clew("ls", "prompts", "-n", "1")[1].splitlines()[1].split()[0] == demo.sessions["rounding"][:8]


@pytest.mark.req("R336")
def test_prompts_of_a_project_that_has_no_folder_any_more(clew: Run, claude: Path) -> None:
    claude.mkdir()
    lines = [
        {"display": f"p{n}", "project": project, "timestamp": n, "sessionId": "s"}
        for n, project in enumerate(("/old/a.b", "/x"))
    ]
    (claude / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [row["title"] for row in values(clew("ls", "prompts", "-p", "OLD", "--json")[1])] == ["p0"]


def test_a_part_of_a_path_is_not_a_dot_in_any_path(
    clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(cwd=str(tmp_path)).user("here").write(claude)
    lines = [{"display": p, "project": p, "timestamp": 1, "sessionId": "s"} for p in (str(tmp_path), "/other/a.b")]
    (claude / "history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.chdir(tmp_path)
    assert [row["title"] for row in values(clew("ls", "prompts", "-p", ".", "--json")[1])] == [str(tmp_path)]


@pytest.mark.req("R235")
def test_secrets_in_titles_and_prompts_are_masked(clew: Run, claude: Path) -> None:
    torn = f"{TOKEN[:9]}\x1b[0m{TOKEN[9:]}"
    child = talk(seed=4).user(f"use {TOKEN}").reply("ok")
    told = talk(seed=1).user(f"read with {TOKEN}").reply(call=task(f"Use {TOKEN}", f"use {TOKEN}")).agent(0, child)
    told.write(claude)
    talk(seed=2).user("x").reply("y").title(f"key {torn}").write(claude)
    line = {"display": f"paste {torn}", "project": "/x", "timestamp": 1, "sessionId": "s"}
    (claude / "history.jsonl").write_text(json.dumps(line) + "\n")
    for kind in ("sessions", "agents", "prompts"):
        for words in ((), ("--json",)):
            _, out, err = clew("ls", kind, *words)
            assert "[REDACTED:github-token]" in out and TOKEN not in out + err
        assert TOKEN in clew("ls", kind, "--reveal")[1]


def test_nothing_there_is_nothing_matched_and_says_where_it_looked(clew: Run, claude: Path) -> None:
    for kind in ("sessions", "projects", "agents", "prompts"):
        code, out, err = clew("ls", kind)
        assert (code, out) == (1, "")
        assert err == (
            f"There is no folder {claude}. "
            "Name the folder of Claude Code with --claude-dir, or create a demo: clew demo DIR\n"
        )
        assert clew("ls", kind, "--quiet") == clew("ls", kind, "--json") == (1, "", "")
    claude.mkdir()
    assert f"No sessions in {claude}. Name another folder" in clew("ls")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--since 3m", "(3 sessions without this filter). In a time, m is minutes and mo is months."),
        ("--until 2020-01-01 -p garden", "No sessions of the project garden before 2020-01-01 00:00 in "),
        ("--archived", "No sessions in the archive alone in "),
    ],
)
def test_an_empty_list_names_the_filter_that_leaves_nothing(clew: Run, claude: Path, words: str, message: str) -> None:
    three(claude)
    code, out, err = clew("ls", *words.split())
    assert (code, out) == (1, "") and message in err


def test_a_limit_of_zero_is_refused(clew: Run, claude: Path) -> None:
    three(claude)
    code, out, err = clew("ls", "-n", "0")
    assert (code, out) == (2, "") and "0 would show nothing" in err


def test_a_folder_that_is_a_file_is_named(clew: Run, claude: Path) -> None:
    claude.write_text("")
    assert f"{claude} is not a folder." in clew("ls")[2]


@pytest.mark.parametrize(
    ("days", "setting", "is_warned"),
    [(27, None, True), (40, None, True), (20, None, False), (40, 365, False), (8, 10, True)],
)
def test_sessions_that_claude_code_deletes_soon_are_warned_of_until_they_are_archived(
    clew: Run,
    claude: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    setting: int | None,
    is_warned: bool,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = talk(seed=1).user("hi").reply("hello").write(claude)
    os.utime(path, (time.time() - days * DAY, time.time() - days * DAY))
    if setting:
        (claude / "settings.json").write_text(json.dumps({"cleanupPeriodDays": setting}))
    warning = "1 session is not archived, and Claude Code "
    assert (warning in clew("ls")[2]) is is_warned
    assert warning not in clew("ls", "--quiet")[2]
    clew("collect", "--quiet")
    assert warning not in clew("ls")[2]
    if is_warned:
        with path.open("a") as file:
            file.write("{}\n")
        os.utime(path, (time.time() - days * DAY, time.time() - days * DAY))
        assert warning in clew("ls")[2]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="this user may read every file")
def test_a_file_that_cannot_be_read_does_not_hide_the_others(clew: Run, claude: Path) -> None:
    dig, cook, sow = three(claude)
    path = next(claude.rglob(f"{cook}.jsonl"))
    path.chmod(0)
    code, out, err = clew("ls", "--json")
    assert code == 0 and [row["id"] for row in values(out)] == [sow, dig]
    assert err == f"{path} cannot be read: Permission denied.\n"
    assert clew("ls", "--quiet")[2] == ""
    code, _, err = clew("show", cook)
    assert code == 2
    assert err == f"clew: {path}: Permission denied.\nCheck the permissions of the file and its folder.\n"


@pytest.mark.parametrize("kind", ["sessions", "agents", "prompts", "todos", "plans"])
def test_a_copied_tree_is_listed_by_the_time_that_is_shown(
    clew: Run, demo: DemoSummary, claude: Path, kind: str
) -> None:
    """A copy gives every file another time, in any order; sessions of the index alone have their place too."""
    for number, path in enumerate(sorted(claude.rglob("*.jsonl"))):
        os.utime(path, (1_700_000_000 + 7919 * number % 1000, 1_700_000_000 + 7919 * number % 1000))
    rows = [json.loads(line) for line in clew("ls", kind, "--json")[1].splitlines()]
    times = [row.get("ended") or row.get("time") or row.get("modified") for row in rows]
    assert len(times) > 0 and times == sorted(times, reverse=True)
    limited = [json.loads(line) for line in clew("ls", kind, "--json", "--limit", "3")[1].splitlines()]
    assert limited == rows[:3]
