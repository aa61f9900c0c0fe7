"""Run regular expressions of users with a time limit.

Python's matcher backtracks, so `(a+)+$` can run forever on forty characters. The matcher checks for signals while it
runs, so a timer of CPU time interrupts it, at no cost for ordinary expressions. Signals work in the main thread
only, and Windows has no such timer: there, only Ctrl-C stops a match.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType

from clew.errors import BadQuery

TIME_LIMIT = 2.0  # seconds of CPU time per text
_SECONDS_PER_CHARACTER = 2e-7  # additional time: an ordinary expression needs about a second for 10 MB
MAX_LENGTH = 4000  # maximum characters of an expression
HINT = "Avoid a repetition inside a repetition, such as (a+)+, or search for a literal part with --substring."


class _DeadlineExceeded(Exception):
    """The time limit was exceeded."""


class Pattern:
    """A compiled expression; every match has a time limit."""

    def __init__(self, expression: str, flags: int = 0) -> None:
        """Compile an expression. Raises BadQuery if it is invalid or too long."""
        if len(expression) > MAX_LENGTH:
            reason = (
                f"An expression has at most {MAX_LENGTH} characters, and this one {len(expression)}; use a part of it"
            )
            raise BadQuery(expression, MAX_LENGTH, reason)
        self.expression = expression
        try:
            self.compiled = re.compile(expression, flags)
        except (re.error, RecursionError, OverflowError) as error:
            message = str(getattr(error, "msg", error))
            raise BadQuery(
                expression, getattr(error, "pos", None) or 0, f"Not a regular expression: {message}"
            ) from None

    def search(self, text: str) -> re.Match[str] | None:
        with self._limited(len(text)):
            return self.compiled.search(text)

    def spans(self, text: str, start: int, stop: int) -> list[tuple[int, int]]:
        """Return the spans of all non-empty matches in a part of a text."""
        with self._limited(stop - start):
            return [m.span() for m in self.compiled.finditer(text, start, stop) if m.end() > m.start()]

    def sub(self, replace: Callable[[re.Match[str]], str], text: str) -> str:
        with self._limited(len(text)):
            return self.compiled.sub(replace, text)

    @contextmanager
    def _limited(self, length: int) -> Iterator[None]:
        if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
            yield
            return
        is_running = True

        def raise_if_running(number: int, frame: FrameType | None) -> None:
            if is_running:
                raise _DeadlineExceeded

        previous = signal.signal(signal.SIGVTALRM, raise_if_running)
        signal.setitimer(signal.ITIMER_VIRTUAL, TIME_LIMIT + _SECONDS_PER_CHARACTER * length)
        try:
            yield
        except _DeadlineExceeded:
            raise BadQuery(
                self.expression, 0, f"The expression takes longer than {TIME_LIMIT:g} s on one text", hint=HINT
            ) from None
        finally:
            is_running = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, previous)


@lru_cache(maxsize=64)
def pattern(expression: str) -> Pattern:
    """Return a cached compiled expression."""
    return Pattern(expression)
