"""What the tests of the index share."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.demo.demo_tree import write_demo
from clew.index.session_index import Index
from tests.index.helper import NOW, Claude


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The index over the demo tree."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder / "claude", datetime.fromtimestamp(NOW, UTC))
    with Index.open(folder / "claude", folder / "cache") as index:
        index.refresh()
        yield index
