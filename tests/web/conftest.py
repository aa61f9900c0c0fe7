"""A demo tree, and a server on it, for each module of tests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

pytest.importorskip("starlette")

from benchmarks.served import Served, serving
from clew.demo.demo_tree import DemoSummary, write_demo
from clew.index.session_index import Index

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSummary:
    return write_demo(tmp_path_factory.mktemp("demo") / "claude", NOW)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory, demo: DemoSummary) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    with Index.open(demo.root, folder / "clew") as index:
        index.refresh()
    return folder


@pytest.fixture(scope="module")
def served(demo: DemoSummary, cache: Path) -> Iterator[Served]:
    with serving(demo.root, cache) as found:
        yield found


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as found:
        yield found
