"""`clew trace` as it is typed: the picture, less of it, more of it, and where it cannot be drawn."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.demo.talk import DENSE, Talk, bash, talk, task
from tests.content_times import set_last_use

RUN = [sys.executable, "-c", "import sys; from clew.cli import main; sys.exit(main(sys.argv[1:]))", "trace"]


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.chdir(tmp_path)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def garden() -> Talk:
    """Two branches, an agent with an agent, a compaction, a damaged line, a queued prompt."""
    inner = (
        talk(seed=8, step=DENSE)
        .user("list them")
        .reply("two", call=bash("grep hinge"))
        .result("a\nb")
        .reply("Two hinges.")
    )
    child = (
        talk(seed=9, step=DENSE).user("find them").reply("looking", call=task("List hinges", "list them", "Explore"))
    )
    child = child.agent(None, inner).reply("There are two.")
    told = (
        talk(seed=1, step=DENSE)
        .user("The gate squeaks. Why?")
        .reply("I'll look.", call=bash("ls gate"))
        .result("hinge latch")
    )
    told = told.reply("The hinge is dry.").turn_duration().pause(minutes=3)
    told = told.user("Have somebody find all hinges").reply(call=task("Find hinges", "find them")).agent(None, child)
    told = told.reply("Two hinges.").pause(minutes=2)
    told = told.user("Paint it red").reply("Red.", calls=[bash("paint red"), bash("paint --dry")])
    told = told.result("ok", for_=0).result("no paint", for_=1, error=True).reply("One failed.")
    told = told.user("Darker").reply("Darker.").pause(minutes=1)
    told = told.rewind(to=3).user("Paint it blue").reply("Blue.", call=bash("paint blue")).result("ok").reply("Done.")
    told = told.raw(b'{"type":"user","uuid":"torn he\n').compact("A blue gate, please.", pre_tokens=152_000)
    told = told.user("Now oil the hinge").reply("Oiling", call=bash("oil"))
    return (
        told.result("oiled").attachment("queued_command", prompt="the latch too", commandMode="prompt").reply("Oiled.")
    )


def trace(capsys: pytest.CaptureFixture[str], root: Path, *arguments: str, code: int = 0) -> str:
    assert main(["trace", *arguments, "--claude-dir", str(root)]) == code
    return capsys.readouterr().out


PICTURE = """\
● 1  09:00  The gate squeaks. Why?                           2     1            5s
● 2  09:03  Have somebody find all hinges                    2     1           15s
│  ╰ agent general-purpose: Find hinges                      2     1           10s
│    ╰ agent Explore: List hinges                            2     1            4s
├─○ 3  09:05  Paint it red                                   2     2      1     6s
│ ○ 4  09:05  Darker  (branch 1)                             1                  1s
● 3  09:06  Paint it blue  ← back to 2                       2     1            6s
│  ╰ ! line 25: damaged (unreadable)
◆ compacted (auto): 152.0k → 14.2k tokens
● 4  09:06  Now oil the hinge                                1     1            3s
● 5  09:06  the latch too  (branch 2, active)                1                  1s
   ╰ queued: the latch too

7 turns on 2 branches, 2 agents, 1 compaction, 1 problem
"""


@pytest.mark.req("R141")
@pytest.mark.req("R230")
@pytest.mark.req("R234")
def test_the_picture(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = garden()
    told.write(tmp_path)
    id_line, about, columns, *picture = trace(capsys, tmp_path, told.session_id[:6]).splitlines(keepends=True)
    assert id_line == f"{told.session_id}  The gate squeaks. Why?\n"
    assert about == "/home/ada/garden · 2026-01-05 09:00 – 09:06 · Claude Code 2.1.232\n"
    assert columns.split() == ["replies", "calls", "failed", "took", "output"]
    assert "".join(line[:82].rstrip() + "\n" for line in picture) == PICTURE  # the last column is the builder's affair
    assert [line[82:].strip().isdigit() for line in picture if " 09:" in line] == [True] * 7


def test_only_the_active_branch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    garden().write(tmp_path)
    out = trace(capsys, tmp_path, "--active")
    assert "Paint it red" not in out
    assert "○" not in out
    assert "● 2  09:03  Have somebody find all hing…  (+ 1 branch)" in out
    assert "Paint it blue" in out


def test_the_active_branch_ends_where_it_is_pinned(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = talk(step=DENSE).user("one").reply("a")
    told.user("two").reply("b").last_prompt("one", leaf=told.leaf, explicit=True).write(tmp_path)
    picture = trace(capsys, tmp_path).splitlines()[3:-2]
    assert [line[:30].rstrip() for line in picture] == [
        "● 1  09:00  one  (branch 1, ac",
        "│  ╰ pinned by hand: a resume",
        "╰─○ 2  09:00  two  (branch 2)",
    ]
    active = trace(capsys, tmp_path, "--active").splitlines()[3:-2]
    assert [line[:30].rstrip() for line in active] == ["● 1  09:00  one  (+ 1 branch)", "   ╰ pinned by hand: a resume"]


def test_ascii(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    garden().write(tmp_path)
    picture = trace(capsys, tmp_path, "--ascii")
    assert picture.isascii()
    assert "|-o 3  09:05  Paint it red" in picture
    assert [len(line) for line in picture.splitlines()] == [len(line) for line in trace(capsys, tmp_path).splitlines()]


@pytest.mark.req("R149")
@pytest.mark.req("R150")
def test_the_entries_as_the_file_links_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    child = talk(seed=2, version="1.0.117", step=DENSE).user("find it").reply("here")
    told = (
        talk(version="1.0.117", step=DENSE)
        .user("Where?")
        .reply(call=task("Find", "find it"))
        .agent(None, child)
        .reply("There.")
    )
    fork = str(told.leaf)
    told = told.user("wrong").reply("hm").at(fork).user("right").reply("yes")
    told = told.compact("so far").user("on", parentUuid="12345678-gone").title("x")
    told.write(tmp_path)
    ids = [str(e.uuid)[:8] for e in told.entries if e.uuid]
    assert trace(capsys, tmp_path, "--entries").splitlines()[2:-2] == [
        f"● {ids[0]} … {ids[5]} · lines 1–6 · 2 user, 2 assistant",
        f"├─○ {ids[6]} … {ids[7]} · lines 7–8 · below {fork[:8]} · user, assistant",
        f"● {ids[8]} … {ids[9]} · lines 9–10 · below {fork[:8]} · user, assistant",
        "",
        f"○ {ids[2]} … {ids[3]} · lines 3–4 · sidechain: user, assistant",
        "",
        f"● {ids[10]} … {ids[11]} · lines 11–12 · a root, logically below {ids[9]} · system compact_boundary, user",
        "",
        f"● {ids[12]} · line 13 · below 12345678 (not in the file) · user",
        "  without a place in the graph: custom-title",
    ]


def test_entries_that_parallel_calls_leave_aside_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = talk(step=DENSE).user("go").reply(calls=[bash("a"), bash("b"), bash("c")])
    told.result("1", for_=0).result("2", for_=1).result("3", for_=2).reply("done").write(tmp_path)
    (row,) = trace(capsys, tmp_path, "--entries").splitlines()[2:-2]
    assert row.endswith("lines 1–8 · 2 user, 4 assistant · 2 aside")
    assert len(trace(capsys, tmp_path, "--entries", "--full").splitlines()[2:-2]) == 8


def long() -> Talk:
    told = talk(seed=3, step=DENSE)
    for number in range(1, 1001):
        told = told.user(f"Step {number}").reply("ok", call=bash("step")).result("done", error=number % 97 == 0)
        if number == 500:
            told = told.compact("so far")
    return told


def test_a_thousand_turns_stay_readable(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    long().write(tmp_path)
    picture = trace(capsys, tmp_path).splitlines()
    assert len(picture) < 30
    (first, second) = [line.split() for line in picture if "turns …" in line]
    assert first == ["⋮", "…", "492", "turns", "…", "492", "492", "5", *first[8:]]
    assert second[2] == "493"  # the first turn and the one before the compaction are drawn in any case
    assert any(line.startswith("◆ compacted") for line in picture)
    assert len(trace(capsys, tmp_path, "--full").splitlines()) == 1006


def test_many_problems_of_one_turn_are_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = talk(step=DENSE).user("go").reply("ok")
    for _ in range(40):
        told = told.raw(b"{torn\n")
    told.write(tmp_path)
    out = trace(capsys, tmp_path)
    assert out.count("damaged (") == 5
    assert "   ╰ ! … 35 more problems\n" in out
    assert "40 problems" in out
    assert trace(capsys, tmp_path, "--full").count("damaged (") == 40


def test_a_call_that_may_still_be_answered_is_no_problem(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    talk(step=DENSE).user("go").reply(call=bash("make")).user("on").reply(call=bash("make test")).write(tmp_path)
    out = trace(capsys, tmp_path)
    assert "│  ╰ ! line 2: Bash make has no result\n" in out
    assert "   ╰ line 4: Bash make test has no result yet\n" in out
    assert "1 problem\n" in out


def test_json_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = garden()
    told.write(tmp_path)
    session, *rows, counts = map(json.loads, trace(capsys, tmp_path, "--json").splitlines())
    assert {value["clew"] for value in (session, *rows, counts)} == {1}
    assert session["id"] == told.session_id
    assert [row["kind"] for row in rows].count("turn") == counts["turns"] == 7
    compaction = next(row for row in rows if row["kind"] == "compaction")
    assert (compaction["trigger"], compaction["before"], compaction["line"]) == ("auto", 152_000, 26)
    red = next(row for row in rows if row["text"] == "Paint it red")
    assert (red["lane"], red["branch"], red["active"], red["number"], red["failures"]) == (1, 1, False, 3, 1)
    entries = [json.loads(line) for line in trace(capsys, tmp_path, "--json", "--entries").splitlines()]
    assert entries[1]["first"] == str(told.entries[0].uuid)


def test_without_an_id_the_newest_of_this_folder_else_of_all(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for seed, cwd in enumerate((str(here), str(here), "/home/ada/elsewhere")):
        path = talk(seed=seed, cwd=cwd).user(f"session {seed}").reply("ok").write(tmp_path / "claude")
        set_last_use(path, 1_000_000 + seed)
    assert "session 2" in trace(capsys, tmp_path / "claude")
    monkeypatch.chdir(here)
    assert "session 1" in trace(capsys, tmp_path / "claude")


def test_what_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    garden().write(tmp_path)
    assert trace(capsys, tmp_path, "ffffffff", code=1) == ""
    empty = tmp_path / "projects" / "-home-ada-garden" / "00000000-0000-4000-8000-000000000000.jsonl"
    empty.touch()
    assert trace(capsys, tmp_path, "00000000", code=1) == ""
    assert main(["trace", "--active", "--all-branches"]) == 2


def test_secrets_are_masked_and_controls_are_shown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "aB3dE5fG7h" * 9 + "AA"
    told = (
        talk(step=DENSE)
        .user(f"Use {key}\x1b]0;pwned\x07\x1b[31m \u202ered")
        .reply("no")
        .rewind(to=1)
        .user("two")
        .reply("ok")
    )
    told.write(tmp_path)
    monkey = trace(capsys, tmp_path)
    assert "sk-ant" not in monkey
    assert not {"\x1b", "\x07", "\u202e"} & set(monkey)
    assert "pwned" not in monkey
    assert "sk-ant-api03-aB3dE5" in trace(capsys, tmp_path, "--reveal")


def test_wide_letters_keep_the_columns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = talk(step=DENSE).user("庭の門がきしむ。" * 12).reply("ok").user("plain").reply("ok")
    told.write(tmp_path)
    wide, plain = trace(capsys, tmp_path).splitlines()[3:5]
    assert "…" in wide
    width = sum(2 if ord(c) > 0x2E7F else 1 for c in wide)
    assert width == len(plain) == 90


def test_a_poor_encoding_gets_ascii(tmp_path: Path) -> None:
    talk(step=DENSE).user("größer 木").reply("ok").write(tmp_path)
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([*RUN, "--claude-dir", str(tmp_path)], capture_output=True, check=True, env=environment)
    assert "* 1  09:00  größer ?" in done.stdout.decode("latin-1")
    assert done.stderr == b""


def test_colour_only_on_a_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    garden().write(tmp_path)
    assert "\x1b" not in trace(capsys, tmp_path)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": ""}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([*RUN, "--claude-dir", str(tmp_path)], stdout=theirs, env=environment) as running:
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
        assert running.wait(20) == 0
    os.close(ours)
    assert b"\x1b[38;5;167m! line 25: damaged (unreadable)" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end was closed
        return b""
