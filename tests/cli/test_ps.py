"""`clew ps`: what runs now, by what Claude Code itself leaves, with the evidence."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.demo.talk import talk

Run = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="start times are read from /proc")


def start_time(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def register(claude: Path, number: int, **fields: Any) -> Path:
    """Write what Claude Code writes of a process."""
    path = claude / "sessions" / f"{number}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    now = int(time.time() * 1000)
    value = {
        "pid": number,
        "cwd": "/home/ada/garden",
        "startedAt": now - 7_200_000,
        "procStart": start_time(os.getpid()),
    }
    value |= {"version": "2.1.325", "kind": "interactive", "entrypoint": "cli", "name": "garden-36"}
    path.write_text(json.dumps({**value, "nameSource": "derived", **fields}))
    return path


def listed(clew: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in clew("ps", "--json")[1].splitlines()]


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_waiting_session_with_its_folder_title_cost_and_evidence(clew: Run, claude: Path) -> None:
    told = talk(seed=1).user("Why does the gate squeak?").reply("Rust.", usage={"input_tokens": 1_000_000})
    told.write(claude)
    since = int(time.time() * 1000) - 180_000
    register(
        claude,
        os.getpid(),
        sessionId=told.session_id,
        status="waiting",
        waitingFor="permission prompt",
        statusUpdatedAt=since,
    )
    code, out, err = clew("ps")
    assert code == 0
    head, row = out.splitlines()
    assert head.split() == ["PID", "SESSION", "STATUS", "SINCE", "TERMINAL", "COST", "FOLDER", "TITLE"]
    assert row.split()[:2] == [str(os.getpid()), told.session_id[:8]]
    assert "waiting: permission prompt  3m" in row and "/home/ada/garden" in row
    assert row.endswith("Why does the gate squeak?")
    assert f"sessions/{os.getpid()}.json: process {os.getpid()} is alive and has the recorded start time." in err
    (found,) = listed(clew)
    assert (found["status"], found["waiting_for"], found["mode"]) == ("waiting", "permission prompt", "terminal")
    assert found["cost"] and found["cost"] > 0


@pytest.mark.parametrize(
    ("fields", "is_shown"),
    [
        ({}, True),
        ({"procStart": "1"}, False),  # the number belongs to another process now
        ({"procStart": None}, True),  # older versions do not record it
        ({"pidDomain": "linux:other:pid:[1]"}, True),
        ({"pid": 1}, False),  # the name of the file says otherwise
        ({"pid": "12"}, False),
    ],
)
def test_left_over_files_are_told_from_live_ones(
    clew: Run, claude: Path, fields: dict[str, Any], is_shown: bool
) -> None:
    register(claude, os.getpid(), sessionId="s", status="busy", **fields)
    assert bool(listed(clew)) is is_shown


def test_dead_processes_broken_files_and_keys_are_ignored(clew: Run, claude: Path) -> None:
    register(claude, dead_pid(), sessionId="s", status="busy")
    folder = claude / "sessions"
    for name, data in (("5.json", b"{"), ("6.json", b"[]"), ("7.json", b"\xff"), (f"{os.getpid()}.ab.key", b"secret")):
        (folder / name).write_bytes(data)
    code, out, err = clew("ps")
    assert (code, out) == (1, "") and "No session runs now" in err and "secret" not in err


def test_the_kinds_of_sessions(clew: Run, claude: Path) -> None:
    for fields, mode in (
        ({"entrypoint": "sdk-cli"}, "print"),
        ({"entrypoint": "sdk-py"}, "sdk-py"),
        ({"kind": "bg"}, "background"),
    ):
        register(claude, os.getpid(), sessionId="s", **fields)
        (row,) = listed(clew)
        assert row["mode"] == mode and row["status"] is None


def test_a_chat_of_clew_is_known_by_its_lock(clew: Run, claude: Path) -> None:
    path = talk(seed=2).user("hi").reply("hello").write(claude)
    lock = {"pid": os.getpid(), "started": "2026-01-05T09:00:00.000Z", "host": platform.node()}
    path.with_suffix(".lock").write_text(json.dumps(lock))
    (row,) = listed(clew)
    assert (row["program"], row["session"], row["title"]) == ("clew", path.stem, "hi")
    path.with_suffix(".lock").write_text(json.dumps({**lock, "host": "another machine"}))
    assert not listed(clew)


def test_a_process_without_a_registry_is_listed_without_a_session(clew: Run, claude: Path, tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"], cwd=tmp_path, env={"CLAUDE_CONFIG_DIR": str(claude)})
    other = subprocess.Popen([program, "60"], cwd=tmp_path, env={"CLAUDE_CONFIG_DIR": "/elsewhere"})
    try:
        deadline = time.monotonic() + 10
        while not (rows := listed(clew)) and time.monotonic() < deadline:
            pass
        (row,) = rows
        assert (row["pid"], row["session"], row["folder"]) == (process.pid, None, str(tmp_path))
        assert "does not record the session" in row["evidence"]
    finally:
        for each in (process, other):
            each.kill()
            each.wait()


def test_watch_prints_again_when_something_changes(claude: Path) -> None:
    register(claude, os.getpid(), sessionId="s", status="busy")
    words = [sys.executable, "-m", "clew", "ps", "--watch", "--interval", "0.1", "--json", "--claude-dir", str(claude)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["status"] == "busy"
        register(claude, os.getpid(), sessionId="s", status="idle")
        assert json.loads(process.stdout.readline())["status"] == "idle"
        process.kill()
