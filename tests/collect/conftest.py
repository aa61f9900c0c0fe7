"""A real PostgreSQL server for the tests that ask for one, and a database in it for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.collect.postgres import Cluster, Store, furnished

_numbers = count(1)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One server for all tests that do it no harm."""
    made = Cluster.make()
    try:
        yield made.start()
    finally:
        made.remove()


@pytest.fixture
def store(cluster: Cluster) -> Store:
    return furnished(cluster, f"team_{next(_numbers)}")


@pytest.fixture(scope="session")
def standing(cluster: Cluster) -> Store:
    """A store for tests that write nothing to it."""
    return furnished(cluster, "standing")
