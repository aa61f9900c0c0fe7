"""Crashes as the real program sees them: what a killed clew left behind is gone on with, and what is sent is what was said.

A process that is killed behind a write leaves what was written until then; one that is killed inside a write leaves a torn
line. Here some of these states are judged, in `make soak` all.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from clew.chat.store.journal import write_lines
from clew.wire.json_codec import Json
from tests.chat.chat_fixture import World, world
from tests.chat.test_crash import LAST, RULES, talk_it_through
from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.judge import bench

SOAKS = os.environ.get("CLEW_SOAK") == "1"


def states(folder: Path) -> tuple[list[bytes], list[bytes]]:
    """The session behind each write, and cut at each byte of its last lines."""
    found: list[bytes] = []

    def write(path: Path, lines: Sequence[Json], sync: bool) -> None:
        write_lines(path, lines, False)
        if path == made.path():
            found.append(path.read_bytes())

    made: World
    with world(folder, rules=RULES) as made:
        talk_it_through(made, write)
    whole = found[-1]
    tail = sum(map(len, whole.splitlines(keepends=True)[-LAST:]))
    return found, [whole[:size] for size in range(len(whole) - tail + 1, len(whole))]


def judged(claude: Claude, version: str, files: Sequence[bytes]) -> None:
    wrong = []
    with bench(claude, version) as boxes:
        futures = [boxes.judge(data, f"00000000-0000-4000-8000-{n:012}") for n, data in enumerate(files)]
        for data, future in zip(files, futures, strict=True):
            try:
                future.result().check()
            except AssertionError as error:
                wrong.append(f"{len(data)} bytes, the last {data[-80:]!r}: {error}")
    print(f"{version} goes on with {len(files) - len(wrong)} of {len(files)} sessions of a killed clew")
    assert not wrong, "\n".join(wrong[:5])


@pytest.mark.oracle
@pytest.mark.req("R256")
@pytest.mark.parametrize(("version", "step"), [(LATEST, 7), ("2.1.29", 20)])
def test_some_of_what_a_killed_clew_left_is_gone_on_with(
    claude: Claude, version: str, step: int, tmp_path: Path
) -> None:
    behind, torn = states(tmp_path)
    judged(claude, version, [*behind[step // 2 :: step], *torn[:: len(torn) // 3]])


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.oracle
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("version", [LATEST, "2.1.29"])
def test_all_that_a_killed_clew_left_is_gone_on_with(claude: Claude, version: str, tmp_path: Path) -> None:
    behind, torn = states(tmp_path)
    judged(claude, version, [*behind, *torn])
