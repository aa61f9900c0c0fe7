"""The store of summaries: several connections at the same time, several processes, and what is loaded again."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import talk
from clew.report import summary_store
from clew.report.summary_store import SummaryStore
from clew.system import worker_processes
from clew.wire.tree_walk import list_transcripts


def open_store(demo: DemoSummary, tmp_path: Path) -> SummaryStore:
    return SummaryStore(str(demo.root), str(tmp_path / "cache"))


def test_two_threads_may_create_the_store_at_the_same_time(tmp_path: Path) -> None:
    """SQLite fails without waiting if two connections switch to a write-ahead log together: about once in twenty."""

    def create(number: int, start: threading.Barrier) -> None:
        start.wait()
        SummaryStore(str(tmp_path), str(tmp_path / str(number))).close()

    with ThreadPoolExecutor(2) as pool:
        for number in range(60):
            start = threading.Barrier(2)
            for done in [pool.submit(create, number, start) for _ in range(2)]:
                done.result()


def test_only_what_another_process_wrote_is_decoded_again(demo: DemoSummary, tmp_path: Path) -> None:
    reader, writer = open_store(demo, tmp_path), open_store(demo, tmp_path)
    writer.refresh()
    first = reader.load()
    path = talk(seed="late").user("A late question").reply("yes").write(demo.root)
    gone = next(iter(first))
    Path(gone).unlink()
    writer.refresh()
    second = reader.load()
    assert second.keys() == ({*first, str(path)} - {gone}) == open_store(demo, tmp_path).load().keys()
    assert second == open_store(demo, tmp_path).load()
    assert all(second[name] is summary for name, summary in first.items() if name in second)


def test_a_store_that_was_emptied_and_filled_again_is_loaded_as_a_whole(demo: DemoSummary, tmp_path: Path) -> None:
    reader, writer = open_store(demo, tmp_path), open_store(demo, tmp_path)
    writer.refresh()
    first = reader.load()
    writer._reset(ValueError())
    newest = max(first.values(), key=lambda summary: summary.ended)
    with Path(newest.path).open("ab") as file:
        file.write(b'{"type":"tag","tag":"other"}\n')
    writer.refresh()
    assert reader.load()[newest.path].tag == "other" and reader.load() == writer.load()


def test_costs_that_change_are_loaded_without_the_summaries(demo: DemoSummary, tmp_path: Path) -> None:
    reader, writer = open_store(demo, tmp_path), open_store(demo, tmp_path)
    writer.update(files := list_transcripts(str(demo.root)), writer.changed(files))
    own = reader.load()
    assert writer.update_costs()
    shared = reader.load()
    assert shared == open_store(demo, tmp_path).load() and shared.keys() == own.keys()
    assert {path for path in own if own[path].cost_micros != shared[path].cost_micros}
    assert all(shared[path] is own[path] for path in own if shared[path] == own[path])
    writer._database.execute("UPDATE cost SET crc=crc+1")  # damaged: the costs of the session's own replies are shown
    assert reader.load() == own


def test_several_processes_read_the_same_summaries(
    demo: DemoSummary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = open_store(demo, tmp_path)
    one.refresh()
    monkeypatch.setattr(summary_store, "MIN_BYTES", 0)
    monkeypatch.setattr(worker_processes, "BATCH_ITEMS", 5)
    monkeypatch.setattr(worker_processes, "count_usable_cores", lambda: 2)
    several = SummaryStore(str(demo.root), str(tmp_path / "other"))
    several.refresh()
    rows = "SELECT path, state, crc, data FROM summary ORDER BY path"
    assert several._database.execute(rows).fetchall() == one._database.execute(rows).fetchall()
