"""Regular expressions of users: Python's syntax, under a deadline.

Python's matcher backtracks, so `(a+)+$` can run for ever on forty letters. While it runs it looks for signals, so a timer
of processor time ends it, at no cost to an expression that behaves. Signals belong to the main thread, and Windows has no
such timer: there, only Ctrl-C ends a match.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType

from clew.errors import BadQuery

SECONDS = 2.0  # of processor time for one text
_PER_LETTER = 2e-7  # seconds more for each character: a text of 10 MB takes an honest expression about a second
LONGEST = 4000  # characters of an expression
HINT = (
    "Write it without a repetition inside of a repetition, such as (a+)+, or search for a part of it with --substring."
)


class _Late(Exception):
    """The time is up."""


class Pattern:
    """A compiled expression whose every use on a text is limited in time."""

    def __init__(self, expression: str, flags: int = 0) -> None:
        """Raises BadQuery if this is not an expression, or too long for one."""
        if len(expression) > LONGEST:
            reason = f"An expression has at most {LONGEST} characters, and this one {len(expression)}; use a part of it"
            raise BadQuery(expression, LONGEST, reason)
        self.expression = expression
        try:
            self.compiled = re.compile(expression, flags)
        except (re.error, RecursionError, OverflowError) as error:
            said = str(getattr(error, "msg", error))
            raise BadQuery(expression, getattr(error, "pos", None) or 0, f"Not a regular expression: {said}") from None

    def search(self, text: str) -> re.Match[str] | None:
        with self._limited(len(text)):
            return self.compiled.search(text)

    def spans(self, text: str, start: int, stop: int) -> list[tuple[int, int]]:
        """Where the expression matches something in a part of a text."""
        with self._limited(stop - start):
            return [m.span() for m in self.compiled.finditer(text, start, stop) if m.end() > m.start()]

    def sub(self, replace: Callable[[re.Match[str]], str], text: str) -> str:
        with self._limited(len(text)):
            return self.compiled.sub(replace, text)

    @contextmanager
    def _limited(self, length: int) -> Iterator[None]:
        if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
            yield
            return
        is_running = True

        def ring(number: int, frame: FrameType | None) -> None:
            if is_running:
                raise _Late

        before = signal.signal(signal.SIGVTALRM, ring)
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS + _PER_LETTER * length)
        try:
            yield
        except _Late:
            late = BadQuery(self.expression, 0, f"The expression takes longer than {SECONDS:g} s on one text")
            late.hint = HINT
            raise late from None
        finally:
            is_running = False
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)


@lru_cache(maxsize=64)
def pattern(expression: str) -> Pattern:
    """An expression that is used again and again."""
    return Pattern(expression)
