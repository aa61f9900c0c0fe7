"""A shard as SQLite sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.index.index_schema import open_shard

NORMAL = 1


@pytest.mark.parametrize("times", [1, 2])
def test_every_setting_holds_in_a_new_shard_and_in_one_that_was_there(tmp_path: Path, times: int) -> None:
    """A pragma that answers with a row kept those behind it from being run."""
    for _ in range(times):
        connection, _ = open_shard(str(tmp_path / "0.db"))
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("synchronous") == NORMAL
        assert connection.pragma("cache_size") == -16000
        connection.close()
