"""`python -m benchmarks`: each part runs, a part that fails is named, and the exit code tells what happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import Outcome
from benchmarks.known_misses import KNOWN_MISSES
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
    told = Outcome([], [], [], [])
    for line in found:
        told.add(line.pop("part"), line)
    assert done.returncode == (1 if told.missed else 0)
    assert "limits met" in done.stderr


def test_a_part_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "part-console").mkdir()  # a part refuses a folder that is not new
    done = run(tmp_path, "--only", "console", "edit")
    assert done.returncode == 2
    assert "not measured: console: FileExistsError" in done.stdout
    assert "trim" in done.stdout


def test_a_limit_that_is_missed_for_a_known_reason_is_told_and_a_worse_number_fails() -> None:
    known = KNOWN_MISSES[0]
    step = -0.01 if known.limit.startswith("≥") else 0.01
    outcome = Outcome([], [], [], [])
    for value in (known.worst, known.worst + step):
        found = {"what": known.what.replace("*", "x"), "value": value, "unit": "×", "limit": known.limit}
        outcome.add(known.part, {**found, "is_met": False})
    assert (len(outcome.known), len(outcome.missed)) == (1, 1)
    assert known.reason in outcome.known[0]
    assert next(outcome.lines(1)) == "0 of 2 limits met in 1 s"


def test_every_known_miss_belongs_to_a_part_and_is_explained() -> None:
    text = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    why = text.partition("### Limits that are missed, and why")[2]
    for known in KNOWN_MISSES:
        assert known.part in PARTS
        assert f"**{known.reason}**" in why


@pytest.mark.soak
@pytest.mark.parametrize("part", PARTS)
def test_every_part_measures_on_small_trees(part: str, tmp_path: Path) -> None:
    done = run(tmp_path, "--only", part)
    assert done.returncode in (0, 1), done.stdout
