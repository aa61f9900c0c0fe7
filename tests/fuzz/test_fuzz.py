"""Mutated files raise nothing, hang nowhere and hide no other file: through every command that reads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.fuzz.runs import missing_commands, place

ROOT = Path(__file__).parents[2]
MEMORY = 400 << 20  # of one process over hundreds of files: the largest file is far smaller than this


def fuzz(*words: str, seconds: int) -> str:
    """Run the fuzzer in a process of its own, in memory where that can be had: hundreds of databases are made."""
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    command = [sys.executable, "-m", "tests.fuzz", "--seconds", str(seconds), *words]
    surroundings = {**os.environ, "TMPDIR": folder}
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True, timeout=4 * seconds + 60)
    print(done.stdout.splitlines()[0] if done.stdout else done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(400)
def test_no_mutated_file_raises_hangs_or_hides_another() -> None:
    told = fuzz("--seed", "1", "--files", "300", seconds=60)
    found = re.match(r"(\d+) files, (\d+) runs, 0 exceptions, 0 hangs.*peak memory (\d+) MB", told)
    assert found, told
    assert int(found[1]) >= 10
    assert int(found[3]) * 10**6 <= MEMORY


@pytest.mark.soak
@pytest.mark.skipif("CLEW_SOAK" not in os.environ, reason="takes an hour; CLEW_SOAK=1 makes it")
@pytest.mark.timeout(0)
def test_thirty_thousand_mutated_files_raise_nothing() -> None:
    fuzz("--seed", "100000", "--files", "30000", seconds=7200)


def test_every_command_is_fuzzed_or_says_why_not() -> None:
    assert missing_commands() == set()


def test_a_report_names_the_place() -> None:
    report = '  File "/x/clew/wire/time.py", line 27, in stamp\n    x\nOverflowError: date value out of range'
    assert place(report) == "wire/time.py:27 OverflowError: date value out of range"
