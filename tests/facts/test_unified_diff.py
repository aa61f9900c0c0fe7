"""Diffs: difflib's own wherever that is quick, and always in bounded time."""

from __future__ import annotations

import difflib
import random
import subprocess
import time
from pathlib import Path

import pytest

from clew.facts.unified_diff import unified


@pytest.mark.parametrize("seed", range(30))
def test_an_ordinary_diff_is_that_of_difflib(seed: int) -> None:
    chance = random.Random(seed)
    old = [chance.choice("abcdefgh") for _ in range(chance.randrange(60))]
    new = [line for line in old if chance.random() > 0.2] + [chance.choice("xyz") for _ in range(chance.randrange(5))]
    assert unified(old, new, ("a", "b")) == list(difflib.unified_diff(old, new, "a", "b", lineterm=""))


def test_a_diff_that_would_take_long_is_one_block_that_patch_applies(tmp_path: Path) -> None:
    old = ["head", *(f"l{number % 150}" for number in range(40_000)), "tail"]
    new = ["head", *(f"l{number * 7 % 150}" for number in range(40_000)), "tail"]
    started = time.process_time()
    made = unified(old, new, ("a", "b"))
    assert time.process_time() - started < 5
    file = tmp_path / "file"
    file.write_text("\n".join(old) + "\n")
    patch = "\n".join(made) + "\n"
    subprocess.run(
        ["git", "apply", "-p0", "-"],
        input=patch.replace("--- a", "--- file").replace("+++ b", "+++ file"),
        text=True,
        cwd=tmp_path,
        check=True,
        timeout=60,
    )
    assert file.read_text().splitlines() == new
