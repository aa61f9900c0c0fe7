"""The set-up of a Claude Code user works in `clew chat`: each case is a home with files, and what reaches the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chat.set_up import CLEW, Place
from tests.chat.setup_cases import CASES, SAMPLE

NAMES = [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.soak) for name in CASES]


@pytest.mark.parametrize("name", NAMES)
def test_the_set_up_reaches_the_server(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    place = Place(tmp_path)
    case.prepare(place)
    ran = place.run(CLEW, case.prompt, *case.options, replies=case.replies, env=case.env)
    assert case.seen(ran) == case.expected, ran.stderr
