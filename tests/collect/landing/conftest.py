"""The stores that an ingester fills, for tests that hold for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.collect.landing.zone_fixture import Target
from tests.collect.postgres import furnished

_count = iter(range(1, 1_000_000))


@pytest.fixture(params=["delta", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    if request.param == "delta":
        return Target(f"delta:{tmp_path / 'lake'}")
    cluster: Any = request.getfixturevalue("cluster")
    store = furnished(cluster, f"landed_{next(_count)}")
    if not cluster.ask("SELECT 1 FROM pg_roles WHERE rolname = 'ingest'"):
        cluster.user("ingest", "clew_writer")
        cluster.ask("GRANT clew_reader TO ingest")
    return Target(store.address("ingest"), store)
