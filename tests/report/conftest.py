"""The demo tree, as it is on one day."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.demo.demo_tree import DemoSummary, write_demo

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)


@pytest.fixture
def demo(tmp_path: Path) -> DemoSummary:
    return write_demo(tmp_path / "claude", NOW)
