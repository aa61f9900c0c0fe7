"""The cache of usage, damaged in any way: it is read again from the transcripts, and nothing is raised."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.demo.demo_tree import write_demo
from clew.report.collect_buckets import collect_buckets
from clew.report.usage_summary import cache_folder, load_recent, load_summary

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)


def test_no_flipped_byte_of_a_summary_is_believed(tmp_path: Path) -> None:
    root, cache = str(write_demo(tmp_path / "claude", NOW).root), str(tmp_path / "cache")
    buckets = collect_buckets(root, cache, per_reply=False).buckets
    folder = Path(cache_folder(root, cache))
    data = (folder / "summary").read_bytes()
    chance = random.Random(1)
    for _ in range(3000):
        broken = bytearray(data)
        broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        (folder / "summary").write_bytes(broken[: chance.choice((len(broken), len(broken) // 2))])
        assert load_summary(str(folder)) is None
        assert load_recent(str(folder), 0) is None
    assert collect_buckets(root, cache, per_reply=False).buckets == buckets


@pytest.mark.parametrize("junk", [b"", b"junk", b"\0" * 4096])
def test_a_damaged_store_is_made_again(junk: bytes, tmp_path: Path) -> None:
    root, cache = str(write_demo(tmp_path / "claude", NOW).root), str(tmp_path / "cache")
    buckets = collect_buckets(root, cache, per_reply=False).buckets
    folder = Path(cache_folder(root, cache))
    (folder / "summary").unlink()
    store = (folder / "replies.db").read_bytes()
    (folder / "replies.db").write_bytes(
        store[: len(store) // 2] + junk + store[len(store) // 2 + len(junk) :] if junk else b""
    )
    assert collect_buckets(root, cache, per_reply=False).buckets == buckets
