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


@pytest.mark.parametrize("around", [0, 1, 3])
def test_hunks_are_written_as_difflib_writes_them(around: int) -> None:
    chance = random.Random(around)
    for _ in range(200):
        old = [chance.choice("abcdefgh") for _ in range(chance.randrange(30))]
        new = [line for line in old if chance.random() > 0.2]
        for _ in range(chance.randrange(5)):
            new.insert(chance.randrange(len(new) + 1), chance.choice("abxyz"))
        expected = difflib.unified_diff(old, new, "a", "b", n=around, lineterm="\n")
        assert unified(old, new, ("a", "b"), around, "\n") == list(expected)


def test_a_text_of_which_every_second_line_changed_is_one_block() -> None:
    """difflib looks at all further lines again for each line that did not change."""
    old = [f"line {number}" for number in range(10_000)]
    new = [f"{line} and more" if number % 2 else line for number, line in enumerate(old)]
    made = unified(old, new, ("a", "b"))
    assert made[2:5] == ["@@ -1,10000 +1,10000 @@", " line 0", "-line 1"]
    assert len(made) == 4 + 2 * 9999
    assert [line[1:] for line in made[3:] if line[0] != "+"] == old
    assert [line[1:] for line in made[3:] if line[0] != "-"] == new
    assert len(unified(old[:1000], new[:1000], ("a", "b"))) == 3 + 1500


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
