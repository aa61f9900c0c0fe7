"""The options of the Agent SDK for Python: the same comes of each with the published Claude Code and with clew."""

from __future__ import annotations

import pytest

from tests.oracle.conftest import Claude
from tests.oracle.sdk_table import FEATURES, compare

pytestmark = pytest.mark.oracle

SAMPLE = ("query()", "output_format", "agents", "enable_file_checkpointing and rewind_files()")


@pytest.mark.parametrize("name", SAMPLE)
def test_an_option_has_the_same_effect(claude: Claude, name: str) -> None:
    with claude():
        real, ours = compare(name)
    assert ours == real


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in FEATURES if name not in SAMPLE])
def test_every_option_has_the_same_effect(claude: Claude, name: str) -> None:
    with claude():
        real, ours = compare(name)
    assert ours == real
