"""The thread that keeps the summaries of all sessions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.browse import summary_thread
from clew.browse.summary_thread import SummaryThread
from clew.demo.demo_tree import DemoSummary, write_demo
from clew.demo.talk import talk

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
WAIT = 60


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSummary:
    return write_demo(tmp_path_factory.mktemp("demo") / "claude", NOW)


@pytest.fixture
def thread(demo: DemoSummary, tmp_path: Path) -> Iterator[SummaryThread]:
    made = SummaryThread(str(demo.root), str(tmp_path / "cache"))
    yield made
    made.stop()


def test_the_first_answer_after_a_change_has_it(thread: SummaryThread, demo: DemoSummary) -> None:
    first = thread.current(WAIT)
    assert len(first.summaries) == len(first.files) > 20 and first.is_complete
    path = talk(seed="late").user("A late question").reply("yes").write(demo.root)
    second = thread.current(WAIT)
    assert second.summaries[str(path)].first_prompt == "A late question" and second.version > first.version
    path.unlink()
    assert str(path) not in thread.current(WAIT).summaries


def test_a_large_refresh_runs_in_a_process_of_its_own(
    thread: SummaryThread, demo: DemoSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_thread, "OWN_PROCESS", 0)
    first = thread.current(WAIT)
    assert first.files and not first.is_complete and first.percent < 100
    monkeypatch.undo()
    assert thread.current(WAIT).summaries.keys() == first.files.keys() and thread.snapshot.is_complete


def test_a_summary_that_is_as_before_is_the_same_object(
    thread: SummaryThread, demo: DemoSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = thread.current(WAIT).summaries
    monkeypatch.setattr(summary_thread, "OWN_PROCESS", 0)
    path = talk(seed="late").user("A late question").reply("yes").write(demo.root)
    thread.current(WAIT)
    last = thread.current(WAIT).summaries
    path.unlink()
    assert last.keys() == {*first, str(path)}
    assert all(last[name] is summary for name, summary in first.items() if last[name] == summary)


def test_only_held_files_are_listed(demo: DemoSummary, tmp_path: Path) -> None:
    thread = SummaryThread(str(demo.root), str(tmp_path / "cache"), holds=lambda path: "bakery" in path)
    snapshot = thread.current(WAIT)
    assert snapshot.files and snapshot.summaries.keys() == snapshot.files.keys()
    assert all("bakery" in path for path in snapshot.files)
    thread.stop()
