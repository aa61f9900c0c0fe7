"""A demo tree, written and indexed once."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("textual")

from clew.demo.demo_tree import DemoSummary, write_demo
from clew.index.session_index import Index
from tests.tui.pilot import NOW


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSummary:
    return write_demo(tmp_path_factory.mktemp("demo") / "claude", NOW)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory, demo: DemoSummary) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    with Index.open(demo.root, folder) as index:
        index.refresh()
    return folder
