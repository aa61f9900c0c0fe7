"""Hosts and ingesters of a landing zone that are killed at any moment lose nothing, and nothing is there twice."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SOAKS = os.environ.get("CLEW_SOAK") == "1"


def _kill(kind: str, kills: int) -> None:
    command = [sys.executable, "-m", "tests.collect.landing.kill_loop", kind, str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["delta", "postgresql"])
def test_a_few_kills(kind: str) -> None:
    _kill(kind, 6)


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["delta", "postgresql"])
def test_three_hundred_kills(kind: str) -> None:
    _kill(kind, 150)
