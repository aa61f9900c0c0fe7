"""`clew statusline`: one line, always, and at once."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from clew.demo.talk import talk
from clew.system.subprocesses import MAIN
from tests.cli.conftest import Run

TOLD = {
    "session_id": "x",
    "model": {"id": "claude-opus-5", "display_name": "Opus 5"},
    "cost": {"total_cost_usd": 1.234},
    "context_window": {"used_percentage": 41.7},
}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cache", "state", "data"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))


def line(clew: Run, monkeypatch: pytest.MonkeyPatch, told: str) -> str:
    monkeypatch.setattr(sys, "stdin", io.StringIO(told))
    code, out, err = clew("statusline", "--no-refresh")
    assert (code, err) == (0, "") and out.count("\n") == 1
    return out.rstrip("\n")


def test_what_claude_code_says_of_the_session(clew: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert line(clew, monkeypatch, json.dumps(TOLD)) == "Opus 5 · $1.23 · 42 % context"


@pytest.mark.parametrize(
    "told",
    [
        "",
        "not json",
        "[]",
        "5",
        "null",
        '{"model": 5}',
        '{"model": {"display_name": ["x"]}, "cost": null}',
        "{",
        '{"cost": {"total_cost_usd": true}}',
    ],
)
def test_there_is_always_one_line(clew: Run, monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    assert line(clew, monkeypatch, told) == "clew"


def test_it_cannot_drive_a_terminal(clew: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = line(clew, monkeypatch, json.dumps({"model": {"display_name": "a\x1b[31m\nb"}}))
    assert found.isprintable()


def test_today_and_the_block(claude: Path, clew: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    made = talk().user("a").reply("b", usage={"output_tokens": 10**6}, timestamp=_stamp(now - timedelta(seconds=1)))
    made.reply("c", usage={"output_tokens": 10**6}, timestamp=_stamp(now - timedelta(days=9))).write(claude)
    clew("usage")
    found = line(clew, monkeypatch, json.dumps(TOLD))
    assert found.startswith("Opus 5 · $1.23 · 42 % context · $") and "today" in found
    assert "in this block" in found and "left" in found


def test_the_fields_that_other_status_lines_have(clew: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "version": "2.1.325",
        "workspace": {"current_dir": "/srv/bakery/"},
        "cost": {"total_lines_added": 1200, "total_lines_removed": 3, "total_duration_ms": 3_900_000},
        "context_window": {"used_percentage": 84.6, "total_input_tokens": 169_200},
    }
    text = "{gauge:level}|{tokens}|{folder}|{lines}|{duration}|{version}"
    for status, expected in (
        (told, "\x1b[31m████████░░ 85 %\x1b[0m|169k tokens|bakery|+1,200 −3|1h05m|2.1.325"),
        ({"context_window": {"used_percentage": 250}, "cost": {"total_duration_ms": 59_000}}, "██████████ 250 %"),
        ({"cost": {"total_lines_added": "x"}, "workspace": 5}, "|||||"),
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(status)))
        assert expected in clew("statusline", "--no-refresh", "--format", text)[1]


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def test_an_old_summary_is_made_anew_behind_its_back(claude: Path, tmp_path: Path) -> None:
    talk().user("a").reply("b").write(claude)
    command = [sys.executable, "-m", "clew", "statusline", "--claude-dir", str(claude)]
    done = subprocess.run(command, input=json.dumps(TOLD), capture_output=True, text=True, check=True)
    assert done.stdout == "Opus 5 · $1.23 · 42 % context\n"
    until = time.monotonic() + 60
    while not list((tmp_path / "cache").glob("clew/usage/*/summary")) and time.monotonic() < until:
        time.sleep(0.05)
    assert list((tmp_path / "cache").glob("clew/usage/*/summary"))


@pytest.mark.parametrize("former", [None, {"type": "command", "command": "other"}])
def test_it_is_installed_after_it_was_shown_and_uninstalled(
    clew: Run, claude: Path, former: dict[str, str] | None
) -> None:
    settings = claude / "settings.json"
    before = {"model": "opus", **({"statusLine": former} if former else {})}
    claude.mkdir()
    settings.write_text(json.dumps(before))
    code, out, _ = clew("statusline", "--install", "--dry-run")
    assert code == 0 and "statusline --color" in out and json.loads(settings.read_text()) == before
    code, _, err = clew("statusline", "--install")  # no terminal to ask on
    assert code == 2 and "--yes" in err and json.loads(settings.read_text()) == before
    for _ in range(2):
        assert clew("statusline", "--install", "--yes")[0] == 0
    installed = json.loads(settings.read_text())
    command = [sys.executable, "-I", MAIN, "statusline", "--color", "--claude-dir", str(claude)]
    assert shlex.split(installed["statusLine"]["command"]) == command and installed["model"] == "opus"
    assert clew("statusline", "--uninstall", "--yes")[0] == 0
    assert json.loads(settings.read_text()) == before
    assert clew("statusline", "--uninstall", "--yes")[0] == 2


def test_settings_that_cannot_be_read_are_not_changed(clew: Run, claude: Path) -> None:
    claude.mkdir()
    (claude / "settings.json").write_text("{broken")
    assert clew("statusline", "--install", "--yes")[0] == 2
    assert (claude / "settings.json").read_text() == "{broken"


# -- limits


def limited(five_hour: object = 42, week: object = 17, resets: float = 4000) -> str:
    ends = time.time() + resets
    windows = {
        "five_hour": {"used_percentage": five_hour, "resets_at": ends},
        "seven_day": {"used_percentage": week, "resets_at": ends + 200_000},
    }
    return json.dumps({**TOLD, "rate_limits": windows})


def test_limits_are_shown_and_kept_for_the_user_alone(
    clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = clew("usage", "limits")
    assert (code, out) == (1, "") and "clew statusline --install" in err
    found = line(clew, monkeypatch, limited())
    assert "5h 42 % (resets in 1h06m) · week 17 % (resets in 2d08h)" in found
    (saved,) = (tmp_path / "state" / "clew").glob("limits-*.json")
    assert saved.stat().st_mode & 0o777 == 0o600
    line(clew, monkeypatch, json.dumps(TOLD))  # a session without limits does not delete them
    code, out, err = clew("usage", "limits")
    assert code == 0 and [row.split()[:3] for row in out.splitlines()[1:]] == [["5h", "42", "%"], ["week", "17", "%"]]
    assert "Seen by the status line" in err
    rows = [json.loads(row) for row in clew("usage", "limits", "--json")[1].splitlines()]
    assert [(row["window"], row["used_percentage"], row["is_over"]) for row in rows] == [
        ("five_hour", 42, False),
        ("seven_day", 17, False),
    ]
    assert "Limits: 5h 42 % (resets in 1h0" in clew("ps")[2]


def test_a_window_that_ended_since_has_no_percentage(clew: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    line(clew, monkeypatch, limited(resets=-10))
    assert "reset since" in clew("usage", "limits")[1]


@pytest.mark.parametrize("value", [True, None, "42", [], 1e400, -1e400, float("nan")])
def test_values_that_are_not_percentages_are_ignored(clew: Run, monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    found = line(clew, monkeypatch, limited(five_hour=value))
    assert "5h" not in found and "week 17 %" in found
    told = json.dumps({**TOLD, "rate_limits": {"five_hour": {"used_percentage": 5, "resets_at": value}}})
    assert "5h" not in line(clew, monkeypatch, told)


def test_damaged_saved_limits_are_ignored(clew: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line(clew, monkeypatch, limited())
    (saved,) = (tmp_path / "state" / "clew").glob("limits-*.json")
    for text in ("", "[]", '{"windows": [], "seen": 1}', '{"windows": {"five_hour": 3}, "seen": 1}', "{"):
        saved.write_text(text)
        assert clew("usage", "limits")[0] == 1
        assert "5h 42 %" in line(clew, monkeypatch, limited())


# -- branch, format and colours


@pytest.mark.parametrize("is_worktree", [False, True])
def test_the_branch_of_the_folder(
    clew: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_worktree: bool
) -> None:
    folder = tmp_path / "project" / "src"
    git = tmp_path / "elsewhere" if is_worktree else tmp_path / "project" / ".git"
    folder.mkdir(parents=True)
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/fix/one-cent\n")
    if is_worktree:
        (tmp_path / "project" / ".git").write_text(f"gitdir: {git}\n")
    told = {**TOLD, "workspace": {"current_dir": str(folder)}}
    assert line(clew, monkeypatch, json.dumps(told)).startswith("Opus 5 · fix/one-cent · $1.23")
    (git / "HEAD").write_text("0123456789abcdef0123\n")
    assert line(clew, monkeypatch, json.dumps(told)).startswith("Opus 5 · 01234567 · $1.23")
    (git / "HEAD").write_bytes(b"ref: refs/heads/\xff\x1b[31m")
    assert line(clew, monkeypatch, json.dumps(told)).isprintable()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{model}", "Opus 5"),
        ("{model:cyan}", "\x1b[36mOpus 5\x1b[0m"),
        ("{context:level}", "\x1b[32m42 % context\x1b[0m"),
        ("{week:level}", "\x1b[31mweek 85 % (resets in 2d08h)\x1b[0m"),
        ("a[ {name} b] c", "a c"),
        ("[[{model}]] {{x}}", "[Opus 5] {x}"),
        ("{model}[ · {branch}][ · {cost}]", "Opus 5 · $1.23"),
        ("{name}", "clew"),
        ("no field", "no field"),
    ],
)
def test_the_format(clew: Run, monkeypatch: pytest.MonkeyPatch, text: str, shown: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(limited(week=85)))
    assert clew("statusline", "--no-refresh", "--format", text) == (0, f"{shown}\n", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{nope}", "is not a field"),
        ("{model:pink}", "is not a colour"),
        ("[{model}", "partner"),
        ("{", "partner"),
        ("]", "partner"),
    ],
)
def test_an_invalid_format_is_explained(clew: Run, text: str, problem: str) -> None:
    code, out, err = clew("statusline", "--format", text)
    assert (code, out) == (2, "") and problem in err


def test_sessions_that_expire_are_in_the_line(claude: Path, tmp_path: Path, clew: Run) -> None:
    path = talk().user("a").reply("b").write(claude)
    os.utime(path, (time.time() - 28 * 86_400,) * 2)
    clew("usage")  # a summary that needs no refresh
    command = [sys.executable, "-m", "clew", "statusline", "--claude-dir", str(claude)]
    done = subprocess.run(command, input=json.dumps(TOLD), capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("1 session expires: clew collect")


def test_it_loads_nothing_heavy(claude: Path, clew: Run) -> None:
    talk().user("a").reply("b").write(claude)
    clew("usage")
    heavy = ("msgspec", "apsw", "rich", "dataclasses", "typing", "pathlib")
    script = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from clew.cli import main\n"
        f"main(['statusline', '--no-refresh', '--claude-dir', {str(claude)!r}])\n"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-S", "-c", script], input="{}", capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
