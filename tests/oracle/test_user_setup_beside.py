"""The cases of `tests/chat/setup_cases.py` in the published Claude Code: what they state is what it does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.chat.set_up import Place
from tests.chat.setup_cases import CASES, SAMPLE
from tests.oracle.claude import command
from tests.oracle.conftest import Claude

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("name", CASES if os.environ.get("CLEW_SOAK") else SAMPLE[::2])
def test_the_real_program_does_the_same(claude: Claude, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    with claude() as box:
        place = Place(tmp_path)
        case.prepare(place)
        ran = place.run(command(box.version), case.prompt, *case.options, replies=case.replies, env=case.env)
    assert case.seen(ran) == case.expected, ran.stderr
