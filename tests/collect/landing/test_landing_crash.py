"""Hosts and ingesters of a landing zone that are killed at any moment lose nothing, and nothing is there twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.collect.sql.open_store import open_engine
from tests.collect.engines import SMALL, answer
from tests.collect.landing.zone_fixture import Host, Target

SOAKS = os.environ.get("CLEW_SOAK") == "1"


def _kill(kind: str, kills: int) -> None:
    command = [sys.executable, "-m", "tests.collect.landing.kill_loop", kind, str(kills)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["delta", "postgresql"])
def test_a_few_kills(kind: str) -> None:
    _kill(kind, 4)


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["delta", "postgresql"])
def test_three_hundred_kills(kind: str) -> None:
    _kill(kind, 150)


@pytest.mark.soak
@pytest.mark.skipif(not SOAKS, reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(600)
def test_spark_reads_what_was_ingested(tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    zone, target = f"landing:{tmp_path / 'zone'}", Target(f"delta:{tmp_path / 'lake'}")
    for name in ("ada", "ben"):
        host = Host(tmp_path / name, zone)
        host.talk(name, 3)
        host.put()
    target.ingest(zone)
    query = "SELECT turns, calls, lines FROM sessions ORDER BY session"
    session = SparkSession.builder.master("local[1]").config(map=SMALL).getOrCreate()
    try:
        with open_engine(target.address, engine="spark") as engine:
            assert answer(engine, query)[1] == target.rows("turns, calls, lines", "sessions")
    finally:
        session.stop()
