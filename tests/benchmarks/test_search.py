"""The parts of the benchmark that could mislead: what is asked, how rankings are compared, what is said of a peer."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import peer
from benchmarks.corpus import generate
from benchmarks.measure import Line, Note
from benchmarks.peer import Peer, compare
from benchmarks.search import overlap, samples
from clew.index.session_index import Index

SIZE = 1_500_000


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree") / "claude"
    generate(root, SIZE, 1)
    return root


def test_the_sampled_queries_are_of_every_kind_and_find_something(tree: Path, tmp_path: Path) -> None:
    asked = samples(tree)
    assert len(asked) == 11 and all(asked.values())
    assert asked == samples(tree)
    with Index.open(tree, tmp_path) as index:
        index.refresh()
        for kind in ("rare words", "phrases", "two characters of a run"):
            for query in asked[kind][:10]:
                assert index.search(f"{query} in:(prompt|reply|thinking|input|result|title|summary)"), query
        for queries in asked.values():
            assert all(0 <= overlap(index, query, 10, 2e9) <= 1 for query in queries[:5] if query)
        assert overlap(index, asked["rare words"][0], 10, 2e9) == 1


def test_a_peer_that_cannot_be_had_is_told_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(peer, "PEERS", (Peer("no-such-peer", ("no",), ".no"),))
    *ours, last = compare(tmp_path, 300_000)
    assert all(isinstance(line, Line) and line.value > 0 for line in ours)
    assert isinstance(last, Note) and "not compared" in str(last) and "no-such-peer" in str(last)
