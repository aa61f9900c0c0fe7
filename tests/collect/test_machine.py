"""The promise of the collector, against 3,000 lives of files."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.collect.machine import CollectorMachine

EXAMPLES = 3000


@pytest.mark.req("R314", "R319", "R320", "R323", "R325", "R327")
def test_every_line_that_stood_in_a_file_at_a_poll_is_in_the_archive_once() -> None:
    run_state_machine_as_test(
        CollectorMachine, settings=settings(max_examples=EXAMPLES, stateful_step_count=12, deadline=None)
    )
