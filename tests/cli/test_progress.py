"""Progress lines: drawn on a terminal alone, and erased before anything else is printed."""

from __future__ import annotations

import io

import pytest

from clew.cli.progress import ProgressBar, ProgressLine, bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def replace_stderr(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    return stream


def test_a_bar_shows_the_share_and_is_erased_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = replace_stderr(monkeypatch)
    progress = ProgressBar("Reading", delay=0.0)
    progress.update(1, 2)
    assert terminal.getvalue() == f"\r\x1b[KReading  {bar(0.5)}"
    progress.update(2, 2)
    assert terminal.getvalue().endswith("50%\r\x1b[K")


def test_nothing_is_drawn_quietly_in_a_pipe_or_before_the_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = replace_stderr(monkeypatch)
    ProgressBar("Reading", 0.0, quiet=True).update(1, 2)
    ProgressBar("Reading", delay=60.0).update(1, 2)
    pipe = io.StringIO()
    monkeypatch.setattr("sys.stderr", pipe)
    ProgressBar("Reading", delay=0.0).update(1, 2)
    assert terminal.getvalue() == pipe.getvalue() == ""


def test_items_are_counted_and_the_line_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = replace_stderr(monkeypatch)
    assert list(ProgressLine().count(["a", "b"], "sessions")) == ["a", "b"]
    assert terminal.getvalue() == "\r\x1b[K1 of 2 sessions\r\x1b[K"
