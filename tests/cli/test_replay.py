"""`clew replay`: played in a real terminal, printed where there is none, recorded, and checked."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import stat
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pyte
import pytest

from clew.api.mock.scripts import parse_script
from clew.chat.tools.toolbox import create_tools
from clew.cli.key_reader import key_names
from clew.cli.run_command import run
from clew.wire.json_codec import decode
from tests.chat.chat_fixture import use, world

LIMIT = 60  # seconds


@pytest.fixture
def own(tmp_path: Path) -> tuple[Path, str]:
    """A session that clew wrote, and the folder of Claude Code that it is in."""
    with world(tmp_path, [use("Echo", text="spade")], "Dug.") as made:
        made.run("go and dig", "go on")
    return tmp_path / "claude", made.path().stem


def replay(own: tuple[Path, str], *words: str) -> int:
    return run(["replay", own[1], "--claude-dir", str(own[0]), *words])


def test_it_is_printed_at_once_where_there_is_no_terminal(
    own: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(own) == 0
    said = capsys.readouterr().out
    assert "❯ go and dig" in said and "● Echo" in said and "⎿ spade" in said and "\x1b" not in said
    assert replay(own, "--json", "--turns", "2") == 0
    found = [decode(line) for line in capsys.readouterr().out.encode().splitlines()]
    assert {row["kind"] for row in found} == {"frame"} and {row["turn"] for row in found} == {2}
    assert replay(own, "--turns", "9") == 1


def test_a_recording_is_a_new_file_of_ones_own(own: tuple[Path, str], tmp_path: Path) -> None:
    for name in ("a.cast", "a.html"):
        path = tmp_path / name
        assert replay(own, "--record", str(path)) == 0
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert replay(own, "--record", str(path)) == 2
    assert decode((tmp_path / "a.cast").read_bytes().splitlines()[0])["version"] == 2
    assert replay(own, "--record", str(tmp_path / "a.mp4")) == 2


def test_a_check_counts_what_is_the_same(
    own: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(own, "--check", "--output", str(tmp_path / "again")) == 0
    assert "entries are the same, every byte of them." in capsys.readouterr().out
    session = next(own[0].rglob(f"{own[1]}.jsonl"))
    assert (tmp_path / "again" / session.name).read_bytes() == session.read_bytes()
    assert replay(own, "--check", "--json") == 0
    told = decode(capsys.readouterr().out.encode().splitlines()[0])
    assert (told["kind"], told["identical"], told["same"] == told["total"]) == ("replay", True, True)
    lines = session.read_bytes().splitlines(keepends=True)
    session.write_bytes(b"".join(line for line in lines if b'"tool_result"' not in line))
    assert replay(own, "--check") == 1
    assert "extra: result" in capsys.readouterr().out


def test_live_calls_run_in_a_copy(own: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "project"
    project.mkdir(exist_ok=True)
    (project / "a.txt").write_text("one\n")
    path = project.resolve() / "a.txt"
    calls: list[Any] = [
        [use("Read", file_path=str(path))],
        [use("Write", file_path=str(path), content="two\n")],
        "Done.",
    ]
    with world(tmp_path, *calls) as made:
        made.run("go", tools=tuple(create_tools().values()), session="7b5d0c1e-93a1-4c5e-8a4e-0d6f1d8f2a12")
    (project / "a.txt").write_text("three\n")
    ident = "7b5d0c1e-93a1-4c5e-8a4e-0d6f1d8f2a12"
    assert run(["replay", ident, "--live", "--claude-dir", str(own[0])]) == 1
    said = capsys.readouterr().out
    assert "the result is different" in said and "three" in said
    assert (project / "a.txt").read_text() == "three\n"
    (project / "a.txt").write_text("one\n")
    assert run(["replay", ident, "--live", "--in-place", "--claude-dir", str(own[0])]) == 0
    assert (project / "a.txt").read_text() == "two\n"
    assert run(["replay", ident, "--live", "--folder", str(tmp_path / "gone"), "--claude-dir", str(own[0])]) == 2
    assert run(["replay", ident, "--in-place", "--claude-dir", str(own[0])]) == 2


def test_names_of_keys() -> None:
    assert key_names("\x1b[C") == ["right"] and key_names("\x1b") == ["escape"] and key_names("\x1b[99~") == []
    assert key_names("3g\n") == ["3", "g", "enter"]


def test_a_mock_serves_what_was_recorded(own: tuple[Path, str], tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    assert replay(own, "--record", str(path)) == 0
    script = parse_script(path.read_bytes())
    with world(tmp_path / "again", rules=script.rules) as made:
        made.run("go and dig", "go on")
    said = [line["message"] for line in made.lines() if line["type"] == "assistant"]
    session = next(own[0].rglob(f"{own[1]}.jsonl"))
    lines = [decode(line) for line in session.read_bytes().splitlines()]
    assert said == [line["message"] for line in lines if line["type"] == "assistant"]


class Terminal:
    """clew in a terminal of its own, and what is on its screen."""

    def __init__(self, words: list[str]) -> None:
        self.screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self.screen)
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30", "PYTHONUTF8": "1"}
        self._child = subprocess.Popen(
            [sys.executable, "-m", "clew", *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)

    def send(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, *shown: str) -> str:
        """Wait until all of it is on the screen."""
        end = time.monotonic() + LIMIT
        is_open = True
        while True:
            text = "\n".join(self.screen.display)
            if all(words in text for words in shown):
                return text
            assert is_open and time.monotonic() < end, f"{shown} never came:\n{text}"
            is_open = self._read()

    def end(self) -> int:
        while self._read():
            pass
        os.close(self._ours)
        return self._child.wait(LIMIT)

    def _read(self) -> bool:
        """Take in what was written; False if there will be no more."""
        if not select.select([self._ours], [], [], LIMIT)[0]:
            return False
        try:
            data = os.read(self._ours, 4096)
        except OSError:  # Linux says so when the other side is closed
            return False
        self._stream.feed(data)
        return bool(data)


def test_the_player_stands_still_steps_jumps_and_ends(own: tuple[Path, str]) -> None:
    words = ["replay", own[1], "--claude-dir", str(own[0]), "--speed", "0.0001", "--max-idle", "1000"]
    terminal = Terminal(words)
    terminal.until("❯ go and dig", "▶ 0.0001×", "turn 1/2")
    terminal.send(".")
    terminal.until("⏸", "● Echo")
    terminal.send(".")
    terminal.until("⎿ spade")
    terminal.send("]")
    text = terminal.until("❯ go on", "turn 2/2")
    assert "❯ go and dig" not in text
    terminal.send("1g")
    terminal.until("❯ go and dig", "turn 1/2")
    terminal.send("+")
    terminal.until("0.25×")
    terminal.send("q")
    assert terminal.end() == 0


def test_the_player_plays_to_the_end(own: tuple[Path, str]) -> None:
    terminal = Terminal(["replay", own[1], "--claude-dir", str(own[0]), "--max-idle", "0.01"])
    terminal.until("❯ go and dig", "⎿ spade", "Dug.", "❯ go on")
    assert terminal.end() == 0
