"""Many readers of a session that grows: nobody misses anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.load import load
from benchmarks.pages import peak
from benchmarks.served import serving
from benchmarks.web import growing


def follow(folder: Path, readers: int, seconds: float) -> None:
    path, turns = growing(folder / "claude", seconds)
    with serving(folder / "claude", folder / "cache") as served, served.client() as client:
        done = load(served.base, client.cookies, path, turns, readers)
        memory = peak(served.process.pid)
    print(f"{readers} readers, {done.marks} turns, {done.requests} requests: p95 {done.p95:.3f} s, {memory:.0f} MB")
    assert done.failures == ()
    assert done.missed == 0
    assert done.marks == len(turns)
    assert memory < 500


def test_a_few_readers_miss_nothing(tmp_path: Path) -> None:
    follow(tmp_path, 10, 5.0)


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("CLEW_SOAK") != "1", reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(600)
def test_fifty_readers_miss_nothing_for_a_minute(tmp_path: Path) -> None:
    follow(tmp_path, 50, 60.0)
