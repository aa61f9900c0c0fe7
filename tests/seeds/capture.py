"""Everyday tasks as they are typed: the commands of a task and all that they print, in text files beside this one.

python -m tests.seeds.capture NAME     print NAME.txt as its commands come out today, to compare by eye

A task begins with a line `=== …` and runs on a fresh copy of the hand-written tree `trees/NAME`. `$ ` begins a command; the
lines below it are what it prints: stdout as it is, stderr with `! ` before each line, and `[1]` at the end for an exit
status other than 0. `…` stands for anything, on a line of its own for any lines. Ages (`9mo`) are not compared.

A command of clew without pipes runs in this process, and the commands of the first task of each file, like everything
else that is typed, in a shell of its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from clew.cli import main

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))

_AGE = re.compile(r"(?<![\w.-])\d{1,2}(?:mo|y|w|d|h)\b")
_ID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})?\b")
_TIME = re.compile(r'"timestamp":"([^"]+)"')
_DIFFERS = [
    re.compile(each)
    for each in (r'(?<="score":)[\d.]+', r'(?<="host":")\w+', r"(?<=Prices of )[\d-]+", r"(?<=kept in )\d+")
]
_SHELL = re.compile(r"[|<>;&$*~`(]")


@dataclass
class Command:
    line: str
    shown: list[str] = field(default_factory=list)


@dataclass
class Task:
    title: str
    commands: list[Command] = field(default_factory=list)


def tasks(name: str) -> list[Task]:
    """The tasks of a file, in order."""
    found: list[Task] = []
    for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("=== "):
            found.append(Task(line[4:]))
        elif line.startswith("$ "):
            found[-1].commands.append(Command(line[2:]))
        elif found and found[-1].commands:
            found[-1].commands[-1].shown.append(line)
    for task in found:
        for command in task.commands:
            while command.shown and not command.shown[-1]:
                command.shown.pop()
    return found


def plant(name: str, home: Path) -> Path:
    """Copy a tree to be the ~/.claude of a home; each file is as old as the last time that it names, else of one day."""
    claude = home / ".claude"
    shutil.copytree(FOLDER / "trees" / name, claude)
    settings = claude / "settings.json"
    if not settings.exists():  # old sessions are not about to be deleted
        settings.write_text(json.dumps({"cleanupPeriodDays": 36_500}))
    for path in claude.rglob("*"):
        times = _TIME.findall(path.read_text(encoding="utf-8")) if path.suffix == ".jsonl" else []
        moment = datetime.fromisoformat(times[-1] if times else "2026-01-20T12:00:00Z").timestamp()
        os.utime(path, (moment, moment))
    return claude


def environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC", "XDG_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        **kept,
        "HOME": str(home),
        "PATH": path,
        "TZ": "UTC",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
    }


def type_command(line: str, home: Path, in_shell: bool) -> list[str]:
    """Run a command in the home folder; all that it printed, as a task file has it."""
    if in_shell or _SHELL.search(line) or not line.startswith("clew "):
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=home,
            env=environment(home),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        code, out, err = done.returncode, done.stdout.decode(), done.stderr.decode()
    else:
        code, out, err = _run_here(shlex.split(line)[1:], home)
    lines = [*out.rstrip().splitlines(), *(f"! {each}" for each in err.splitlines()), *([f"[{code}]"] if code else [])]
    return [each.replace(str(home), "~").rstrip() for each in lines]


def _run_here(words: list[str], home: Path) -> tuple[int, str, str]:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with _surroundings(home), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
    printed = []
    for stream in (out, err):
        stream.seek(0)
        printed.append(stream.read())
    return code, printed[0], printed[1]


@contextlib.contextmanager
def _surroundings(home: Path) -> Iterator[None]:
    before, folder, wanted = dict(os.environ), Path.cwd(), environment(home)
    os.environ.clear()
    os.environ.update(wanted)
    time.tzset()
    os.chdir(home)
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)
        time.tzset()


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether a task file shows what was printed."""
    parts = (
        r"(?:.*\n)*?" if line == "…" else re.escape(_AGE.sub("0d", line)).replace("…", ".*?") + "\n" for line in shown
    )
    return re.fullmatch("".join(parts), "".join(f"{_AGE.sub('0d', line)}\n" for line in printed)) is not None


def _as_shown(printed: list[str], known: str) -> list[str]:
    """What was printed, with `…` for what differs from run to run: new ids, scores, today, prices, the machine."""
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    text = "\n".join(printed)
    for differs in (*_DIFFERS, re.compile(rf"{today}(?: \d\d:\d\d · [\d.]+ k?B)?")):
        text = differs.sub("…", text)
    return _ID.sub(lambda found: found[0] if found[0] in known else "…", text).splitlines()


def _print_file(name: str) -> None:
    known = "\n".join(
        path.read_text(encoding="utf-8") for path in (FOLDER / "trees" / name).rglob("*") if path.is_file()
    )
    known += "\n".join(path.name for path in (FOLDER / "trees" / name).rglob("*"))
    known += "\n".join(command.line for task in tasks(name) for command in task.commands)
    for number, task in enumerate(tasks(name)):
        print(f"=== {task.title}\n")
        with tempfile.TemporaryDirectory() as folder:
            plant(name, Path(folder))
            for command in task.commands:
                printed = type_command(command.line, Path(folder), in_shell=number == 0)
                keeps = bool(command.shown) and matches(command.shown, printed)
                print("\n".join([f"$ {command.line}", *(command.shown if keeps else _as_shown(printed, known)), ""]))


if __name__ == "__main__":
    _print_file(sys.argv[1])
