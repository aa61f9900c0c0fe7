"""The thread that counts the turns and the cost of the sessions on the screen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest
from textual.message import Message

from clew.browse.search_thread import SearchLocation
from clew.conversation.session import Session
from clew.conversation.session_listing import Outline
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import Talk, talk
from clew.facts.prices import Prices
from clew.report import summary_store
from clew.report.growing_summary import MIN_SIZE, GrownSummary, SummaryRequest, summarize_growing
from clew.report.session_cost import cost
from clew.tui import session_figures
from clew.tui.session_figures import FigureCounter, FiguresCounted
from clew.wire.layout import Tree, session_at

WAIT = 60


class Counted:
    """A counter, and what it has posted."""

    def __init__(self, claude: Path, cache: Path) -> None:
        self.claude, self.cache = claude, cache
        self.messages: Queue[FiguresCounted] = Queue()
        self.counter = FigureCounter(SearchLocation(str(claude), str(cache)), self._post)

    def _post(self, message: Message) -> None:
        assert isinstance(message, FiguresCounted)
        self.messages.put(message)

    def next(self, *paths: Path) -> dict[str, tuple[int, str]]:
        """Request sessions, of which each is counted."""
        self.counter.request([str(path) for path in paths])
        found = [self.messages.get(timeout=WAIT) for _ in paths]
        return {message.path: (message.figures.turns, message.figures.cost) for message in found}


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    made = Counted(tmp_path / "claude", tmp_path / "cache")
    yield made
    made.counter.stop()
    assert not any(thread.name == "clew-figures" for thread in threading.enumerate())


def whole(path: Path) -> tuple[int, str]:
    """The figures of a session that is read at once."""
    session = Session(path, file=session_at(path))
    amount = cost(session)
    return len(session.turns), str(amount) if amount.micros or not amount.unpriced else ""


def long_talk(turns: int) -> Talk:
    told = talk(seed="figures", cwd="/home/ada/figures")
    for number in range(turns):
        told = told.user(f"prompt {number}").reply("word " * 600)
    return told


def test_the_figures_are_those_of_the_sessions(demo: DemoSummary, tmp_path: Path) -> None:
    counted = Counted(demo.root, tmp_path / "cache")
    files = [
        file for project in Tree(demo.root).projects() for file in project.sessions() if Outline(file).is_conversation
    ]
    wanted = {str(file.path): whole(file.path) for file in files}
    assert counted.next(*(file.path for file in files)) == wanted and len(wanted) > 20
    counted.counter.stop()


def test_a_session_that_grows_costs_what_was_added(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def note_size(request: SummaryRequest, prices: Prices) -> GrownSummary:
        grown = summarize_growing(request, prices)
        sizes.append(request.size - grown.offset)
        return grown

    monkeypatch.setattr(summary_store, "summarize_growing", note_size)
    told = long_talk(400)
    path = told.write(counted.claude)
    assert path.stat().st_size > 4 * MIN_SIZE
    for number in range(5):
        assert counted.next(path) == {str(path): whole(path)}
        told = told.user(f"late prompt {number}").reply("yes")
        path.write_bytes(told.bytes())
    assert len(sizes) == 5 and max(sizes) < path.stat().st_size // 4


def test_a_stored_summary_is_not_read_again(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    path = long_talk(3).write(counted.claude)
    figures = counted.next(path)
    monkeypatch.setattr(summary_store, "summarize_growing", None)
    again = Counted(counted.claude, counted.cache)
    assert again.next(path) == figures
    again.counter.stop()


def test_a_session_is_counted_again_only_if_it_has_changed(counted: Counted) -> None:
    told = long_talk(2)
    path, other = told.write(counted.claude), talk(seed="other").user("hello").reply("yes").write(counted.claude)
    counted.next(path)
    counted.counter.request([str(path), str(path.with_name("gone.jsonl"))])
    assert [*counted.next(other)] == [str(other)]
    agent = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    agent.write_bytes(talk(seed="agent").user("look").reply("seen").bytes())
    assert counted.next(path) == {str(path): whole(path)}


def test_a_session_that_would_take_long_stays_without_figures(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = (
        long_talk(60).write(counted.claude),
        talk(seed="other").user("hello").reply("yes").write(counted.claude),
    )
    monkeypatch.setattr(session_figures, "MAX_EFFORT", path.stat().st_size)
    counted.counter.request([str(path), str(other)])
    assert counted.messages.get(timeout=WAIT).path == str(other)
