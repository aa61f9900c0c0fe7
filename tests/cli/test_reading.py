"""Commands that read: they change nothing below the folder of Claude Code, and large sessions need little memory."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import OTHER, PROJECT, SESSION, prompt, reply, text, write_lines

READING = (
    ("ls",),
    ("ls", "projects"),
    ("ls", "agents"),
    ("show", SESSION),
    ("show", SESSION, "--full", "--json"),
    ("search", "gate"),
    ("usage",),
    ("check", SESSION),
    ("check", "--all"),
    ("export", SESSION),
)


def state_of(folder: Path) -> dict[Path, tuple[int, bytes]]:
    return {p: (p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in sorted(folder.rglob("*"))}


@pytest.mark.skipif(sys.platform != "linux", reason="file systems elsewhere have no such names")
def test_a_folder_whose_name_is_not_utf8_breaks_no_command(clew: Run, claude: Path, tmp_path: Path) -> None:
    odd = f"{SESSION[:-1]}9"
    for id, folder in ((SESSION, PROJECT), (odd, os.fsdecode(b"-home-ada-caf\xe9"))):
        path = claude / "projects" / folder / f"{id}.jsonl"
        write_lines(path, prompt(1, None, "Is the gate open?"), reply(2, 1, text("The gate is open.")))
    kept = ("--archive", str(tmp_path / "archive.db"))
    writing = (("collect", *kept), ("export", SESSION, odd, "-o", str(tmp_path / "pages")), ("clone", odd))
    for words in (*READING, *writing, ("ls", "--json"), ("ls",), ("show", odd), ("trace", odd), ("files",)):
        out, err = clew(*words)[1:]
        assert "Internal error" not in out + err, words
    assert odd[:8] in clew("ls")[1]
    code, _, err = clew("pack", odd, "-o", str(tmp_path / "odd.zip"))
    assert code == 2 and "its name is not valid UTF-8" in err and not (tmp_path / "odd.zip").exists()


@pytest.mark.req("R349")
def test_commands_that_read_write_nothing(
    clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    path = claude / "projects" / PROJECT / f"{SESSION}.jsonl"
    write_lines(path, prompt(1, None, "Is the gate open?"), reply(2, 1, text("The gate is open.")))
    write_lines(path.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl", prompt(3, None, "Look at the gate."))
    before = state_of(claude)
    for words in READING:
        code, out, err = clew(*words)
        assert code == 0 and out, (words, err)
        assert state_of(claude) == before, words


@pytest.mark.req("R016", "R345")
@pytest.mark.parametrize(
    "words", [("ls",), ("usage",), ("search", "--no-refresh", "--substring", "plates")], ids=" ".join
)
def test_a_large_session_needs_little_memory(
    clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = claude / "projects" / PROJECT
    write_lines(folder / f"{OTHER}.jsonl", prompt(1, None, "Plates?", sessionId=OTHER), reply(2, 1, text("Yes.")))
    assert clew(*words)[0] == 0  # loads what the command needs
    asked, said = prompt(1, None, "List all plates"), reply(2, 1, text("x " * 30_000))
    path = write_lines(folder / f"{SESSION}.jsonl", asked, *[said] * 400)
    tracemalloc.start()
    code, out, _ = clew(*words, "--json")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert code == 0 and out
    assert peak < path.stat().st_size / 3, peak


_PEAK = """
import sys, tracemalloc
from clew.cli import main
main(sys.argv[1:])  # loads modules, and stores what it reads
tracemalloc.start()
main(sys.argv[1:])
print(tracemalloc.get_traced_memory()[1], file=sys.stderr)
"""


@pytest.mark.parametrize("words", [("ls",), ("ls", "--json")])
def test_a_list_of_many_sessions_holds_little_of_each(
    words: tuple[str, ...], claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows, paths and what is stored of each session would take 1,000 to 2,600 bytes."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def peak(count: int) -> int:
        for number in range(count):
            path = claude / f"projects/-p{number % 20}/{number:08x}-aaaa-4bbb-8ccc-000000000001.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_lines(path, prompt(1, None, f"A prompt with the number {number}", sessionId=path.stem))
        command = [sys.executable, "-c", _PEAK, *words, "--claude-dir", str(claude)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.count("\n") >= 2 * count
        return int(done.stderr.splitlines()[-1])

    few, many = peak(200), peak(1400)
    assert (many - few) / 1200 < 800, (few, many)
