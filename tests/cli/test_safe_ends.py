"""Commands with several processes that are ended: nothing is lost or doubled, nobody is left, and the next run completes."""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from clew.collect.archive.reader import Archive
from clew.collect.archive.verify_contents import verify_archive
from clew.demo.talk import talk
from clew.errors import StoreError
from tests.collect.collect_fixture import line, session

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are found in /proc")

FILES = 56  # of 1 MB each: more than 48 MB of new lines are read by several processes
KEY = "ghp_" + "Zk3fQ9xLm2Vt8RbW5nYc7HsJ1dPg4TuA6eKo"
ENDS = ["Ctrl-C", "SIGINT", "a killed worker", "a killed command"]


class Ended(NamedTuple):
    """A command that was ended: its code and what it printed."""

    code: int
    out: str
    err: str


def _end(words: Sequence[str], variables: dict[str, str], is_time: Callable[[], bool], how: str) -> Ended:
    """Start a command, end it in some way when it has workers and it is time, and wait for it and all its workers."""
    process = subprocess.Popen(
        [sys.executable, "-m", "clew", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
        start_new_session=True,
    )
    while not (len(workers := _workers(process.pid)) == 2 and is_time()):
        assert process.poll() is None, process.communicate()
    ends = [os.pidfd_open(worker) for worker in workers]
    if how == "Ctrl-C":
        os.killpg(process.pid, signal.SIGINT)
    elif how == "SIGINT":
        process.send_signal(signal.SIGINT)
    else:
        os.kill(workers[0] if how == "a killed worker" else process.pid, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    for end in ends:
        assert select.select([end], [], [], 20)[0], "a worker is still running"
        os.close(end)
    return Ended(process.returncode, out, err)


def _workers(process: int) -> list[int]:
    """Return the workers of a process."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return [int(child) for child in children if b"--worker" in Path(f"/proc/{child}/cmdline").read_bytes()]
    except OSError:
        return []


# -- collect


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A tree of lines that hardly become shorter when they are packed, some of them in several files."""
    root = tmp_path_factory.mktemp("claude")
    chance = random.Random(1)
    for number in range(FILES):
        path = root / session(number % 10, f"projects/-p{number // 10}")
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [line(index, chance.randbytes(2_500).hex()) for index in range(200)]
        path.write_bytes(line(1, "in every file") + b"".join(lines))
    yield root
    for path in sorted(root.rglob("*.jsonl")):
        path.unlink()


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("is_late", [False, True], ids=["before a commit", "after a commit"])
def test_a_collect_that_is_ended_loses_and_doubles_nothing(tree: Path, tmp_path: Path, how: str, is_late: bool) -> None:
    archive = tmp_path / "archive.db"
    words = ["collect", "-q", "--claude-dir", str(tree), "--archive", str(archive), "--jobs", "2"]
    variables = {"XDG_DATA_HOME": str(tmp_path / "data"), "TMPDIR": str(tmp_path / "tmp")}
    (tmp_path / "tmp").mkdir()
    ended = _end(words, variables, lambda: not is_late or _has_files(archive), how)
    codes = {"Ctrl-C": 130, "SIGINT": 130, "a killed worker": 0, "a killed command": -signal.SIGKILL}
    assert ended.code == codes[how]
    assert ended.err == ("Interrupted.\n" if ended.code == 130 else "")
    with Archive.open(archive) as opened:
        kept = len(list(opened.files()))
        assert not verify_archive(opened.connection).problems
    assert kept == FILES if how == "a killed worker" else kept < FILES
    assert kept > 0 or not is_late  # what was committed is there
    again = [sys.executable, "-m", "clew", *words]
    done = subprocess.run(again, capture_output=True, text=True, env=os.environ | variables, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    with Archive.open(archive) as opened:
        files = list(opened.files())
        assert {file.path: opened.read(file) for file in files} == {
            str(path.relative_to(tree)): path.read_bytes() for path in tree.rglob("*.jsonl")
        }
        assert {file.number for file in files} == {1}  # no file was begun again
        assert opened.connection.execute("SELECT count(*) FROM content").get == FILES * 200 + 1
        assert verify_archive(opened.connection).is_sound
    names = {path.name for path in tmp_path.iterdir()} - {"data", "archive.db-wal", "archive.db-shm"}
    assert names == {"archive.db", "archive.health.json", "archive.key", "archive.lock", "tmp"}
    assert not list((tmp_path / "tmp").iterdir())


def _has_files(archive: Path) -> bool:
    """Return whether a commit has been made."""
    try:
        with Archive.open(archive) as opened:
            return any(True for _ in opened.files())
    except (FileNotFoundError, StoreError):  # it is being created
        return False


# -- pack


@pytest.mark.parametrize("how", ENDS)
def test_a_pack_that_is_ended_writes_no_file_and_can_be_run_again(claude: Path, tmp_path: Path, how: str) -> None:
    for number in range(8):
        told = talk(seed=number)
        for turn in range(20):
            told = told.user(f"{number} {turn}: " + "some words " * 10_000).reply("ok")
        told.write(claude)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    target = tmp_path / "all.zip"
    words = ["pack", "--all", "--redact", "-q", "--claude-dir", str(claude), "-o", str(target), "--jobs", "2"]
    variables = {"TMPDIR": str(temporary)}
    ended = _end(words, variables, lambda: any(temporary.rglob("*.jsonl")), how)
    codes = {"Ctrl-C": 130, "SIGINT": 130, "a killed worker": 2, "a killed command": -signal.SIGKILL}
    assert (ended.code, ended.out, target.exists()) == (codes[how], "", False)
    if ended.code == 130:
        assert ended.err == "Interrupted.\n"
    if how == "a killed worker":
        assert ended.err.startswith("clew: A worker process was ended by signal 9, so there is no complete answer.")
    if how != "a killed command":  # which cannot remove anything
        assert not list(temporary.iterdir())
    again = [sys.executable, "-m", "clew", *words]
    subprocess.run(again, capture_output=True, text=True, env=os.environ | variables, check=True)
    with zipfile.ZipFile(target) as pack:
        assert pack.testzip() is None and sum(name.endswith(".jsonl") for name in pack.namelist()) == 8


# -- redact


@pytest.mark.parametrize("how", ENDS)
def test_a_redaction_that_is_ended_writes_nothing_and_can_be_run_again(claude: Path, tmp_path: Path, how: str) -> None:
    chance = random.Random(2)
    told = talk()
    for _ in range(20):
        told = told.user(f"use {KEY}").reply(chance.randbytes(500_000).hex())
    source = told.write(claude)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    words = ["redact", source.stem, "-q", "--claude-dir", str(claude), "--jobs", "2"]
    (tmp_path / "tmp").mkdir()
    variables = {"TMPDIR": str(tmp_path / "tmp"), "XDG_DATA_HOME": str(tmp_path / "data")}
    ended = _end(words, variables, lambda: True, how)
    codes = {"Ctrl-C": 130, "SIGINT": 130, "a killed worker": 2, "a killed command": -signal.SIGKILL}
    assert (ended.code, ended.out) == (codes[how], "")
    if ended.code == 130:
        assert ended.err == "Interrupted.\n"
    if how == "a killed worker":
        assert ended.err.startswith("clew: A worker process was ended by signal 9, so there is no complete answer.")
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before
    again = [sys.executable, "-m", "clew", *words]
    subprocess.run(again, capture_output=True, text=True, env=os.environ | variables, check=True)
    (copy,) = set(claude.rglob("*.jsonl")) - before
    assert source.read_bytes().count(KEY.encode()) == 20 and KEY.encode() not in copy.read_bytes()
