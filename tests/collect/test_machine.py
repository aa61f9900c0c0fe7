"""The promise of the collector, against many lives of files: 300 in each test run, 3,000 in `make soak`."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.collect.machine import CollectorMachine

EXAMPLES, MANY = 300, 3000


def run(examples: int) -> None:
    run_state_machine_as_test(
        CollectorMachine, settings=settings(max_examples=examples, stateful_step_count=12, deadline=None)
    )


@pytest.mark.req("R314", "R319", "R320", "R323", "R325", "R327")
def test_every_line_that_stood_in_a_file_at_a_poll_is_in_the_archive_once() -> None:
    run(EXAMPLES)


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("CLEW_SOAK") != "1", reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(3600)
def test_every_line_is_in_the_archive_once_in_many_lives() -> None:
    run(MANY)
