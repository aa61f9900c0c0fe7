"""Embed new texts before a search by meaning, and report the time it takes and what is left."""

from __future__ import annotations

import sys
import time

from clew.cli.progress import ProgressLine, bar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.index.session_index import Index

SOON = 5.0  # seconds that need no explanation


def embed(index: Index, budget: int, quiet: bool) -> None:
    """Embed new texts, newest first, for at most `budget` seconds."""
    report = _EmbeddingReport(budget)
    try:
        done = index.embed(budget, None if quiet else report.update)
    finally:
        report.line.erase()
    if quiet:
        return
    if done.reason:
        print(f"The vectors cannot be used ({done.reason}) and are created again.", file=sys.stderr)
    if done.is_elsewhere:
        print("Another clew is embedding; this search uses what is embedded so far.", file=sys.stderr)
    elif done.left:
        left = f", {_format_time(report.seconds / done.texts * done.left)} more" if done.texts else ""
        print(
            f"{done.left} texts are not embedded yet{left}; the next search continues, or use --budget SECONDS.",
            file=sys.stderr,
        )


class _EmbeddingReport:
    """Prints an estimate after the first batch if it takes long, and draws a bar on a terminal."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.start = time.monotonic()
        self.line = ProgressLine()
        self.is_explained = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def update(self, done: int, total: int) -> None:
        if not done:
            return
        left = self.seconds / done * (total - done)
        if not self.is_explained and left > SOON:
            self.is_explained = True
            self.line.erase()
            print(
                f"A search by meaning needs {total} titles, prompts and last replies to be embedded once:"
                f" {_format_time(left)} on this machine, of which {_format_time(self.budget)} now."
                " Ctrl-C stops it; finished work is kept.",
                file=sys.stderr,
            )
        self.line.show(f"Embedding {total} texts  {bar(done / total)}  {_format_time(left)} left")


def _format_time(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
