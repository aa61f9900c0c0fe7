"""`python -m benchmarks`: each part runs, a part that fails is named, and the exit code tells what happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.parts import PARTS

SMALL = ("--size=600K", "--big=300K", "--peers=300K", "--resumed=300K")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", "--quick", *SMALL, "--keep", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_parts_measure_and_the_exit_code_says_whether_a_limit_was_missed(tmp_path: Path) -> None:
    done = run(tmp_path, "--json", "--only", "bulk", "edit")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["part"] for line in found} == {"bulk", "edit"}
    assert all(line["value"] > 0 for line in found)
    assert done.returncode == (0 if all(line["is_met"] for line in found) else 1)
    assert "limits met" in done.stderr


def test_a_part_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "part-console").mkdir()  # a part refuses a folder that is not new
    done = run(tmp_path, "--only", "console", "edit")
    assert done.returncode == 2
    assert "not measured: console: FileExistsError" in done.stdout
    assert "trim" in done.stdout


@pytest.mark.soak
@pytest.mark.parametrize("part", PARTS)
def test_every_part_measures_on_small_trees(part: str, tmp_path: Path) -> None:
    done = run(tmp_path, "--only", part)
    assert done.returncode in (0, 1), done.stdout
