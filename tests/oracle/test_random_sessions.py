"""Random sessions: Claude Code sends what clew says, to the letter."""

from __future__ import annotations

import os
import time
from itertools import count

import pytest

from tests.oracle.claude import LATEST, VERSIONS
from tests.oracle.conftest import Claude
from tests.oracle.generate import generate
from tests.oracle.judge import bench
from tests.oracle.random_sessions import compare
from tests.oracle.shrink import smallest

pytestmark = pytest.mark.oracle

COUNT = 40
SOAKS = os.environ.get("CLEW_SOAK") == "1"
SOAK_SECONDS = 3600


def test_a_seed_gives_the_same_session() -> None:
    assert generate(7) == generate(7)
    assert generate(7).data != generate(8).data
    assert {bool(generate(seed).changes) for seed in range(20)} == {True, False}


def test_shrinking_leaves_the_lines_blocks_and_fields_that_matter() -> None:
    def differs(lines: list[bytes]) -> bool:
        text = b"".join(lines)
        return b'"prompt 0"' in text and text.count(b"tool_use_id") > 0

    session = next(s for s in map(generate, range(50)) if differs([*s.lines]))
    found = smallest(session.lines, differs, tries=10_000, seconds=60)
    assert differs(found)
    assert len(found) == 2
    assert b"sessionId" not in b"".join(found)


def test_shrinking_stops_after_so_many_tries() -> None:
    asked: list[list[bytes]] = []

    def never(lines: list[bytes]) -> bool:
        asked.append(lines)
        return False

    assert smallest([b"{}\n"] * 64, never, tries=7) == [b"{}\n"] * 64
    assert len(asked) == 7


@pytest.mark.timeout(900)
def test_random_sessions_are_resumed_as_clew_says(claude: Claude) -> None:
    with bench(claude, LATEST) as boxes:
        score = compare(boxes, iter(range(COUNT)), asks_all=False)
    print(f"\n{LATEST}: {score}")
    assert score.tried == COUNT
    assert score.stopped < COUNT / 4
    assert not score.found, "\n\n".join(map(str, score.found))


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(2 * SOAK_SECONDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_many_random_sessions_are_resumed_as_clew_says(claude: Claude, version: str) -> None:
    """Other seeds each time: those of today."""
    first = int(time.time()) // 86_400 * 1_000_000
    with bench(claude, version) as boxes:
        score = compare(boxes, count(first), deadline=time.monotonic() + SOAK_SECONDS)
    print(f"\n{version}: {score}")
    assert not score.found, "\n\n".join(map(str, score.found))
