"""`clew statusline`: one line, always, and at once."""

from __future__ import annotations

import io
import json
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
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


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


def test_the_setting_for_claude_code(clew: Run) -> None:
    code, out, _ = clew("statusline", "--install")
    command = [sys.executable, "-I", MAIN, "statusline"]
    assert code == 0 and shlex.split(json.loads(out)["statusLine"]["command"]) == command


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
