"""The same script and set-up on Claude Code and on clew: requests, session files, frames, files and exit codes compared."""

from __future__ import annotations

import json

import pytest

from tests.oracle.conftest import Claude
from tests.oracle.differential import compare, unexpected
from tests.oracle.differential_cases import SAMPLE, SCRIPTS, SET_UPS

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize(("script", "set_up"), SAMPLE)
def test_both_programs_do_the_same(claude: Claude, script: str, set_up: str) -> None:
    with claude():  # which skips where the program cannot be run
        left = unexpected(script, set_up, compare(script, set_up))
    assert not left, json.dumps(left, indent=1)


@pytest.mark.soak
@pytest.mark.parametrize("script", SCRIPTS)
def test_both_programs_do_the_same_in_every_set_up(claude: Claude, script: str) -> None:
    with claude():
        left = {name: found for name in SET_UPS if (found := unexpected(script, name, compare(script, name)))}
    assert not left, json.dumps(left, indent=1)
