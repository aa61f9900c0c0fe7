"""Embedding before a search by meaning: what it costs is said, how far it is is shown, and what is left is told."""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.index.session_index import Index

SOON = 5.0  # seconds that need no explanation


def embed(index: Index, budget: int, quiet: bool) -> None:
    """Embed what is new, newest first, for at most `budget` seconds."""
    teller = _Teller(budget)
    try:
        done = index.embed(budget, None if quiet else teller.hear)
    finally:
        teller.stop()
    if quiet:
        return
    if done.reason:
        print(f"The vectors were of no use ({done.reason}) and are made anew.", file=sys.stderr)
    if done.is_elsewhere:
        print("Another clew is embedding; this searches what it has so far.", file=sys.stderr)
    elif done.left:
        rest = f", {_time(teller.seconds / done.texts * done.left)} more" if done.texts else ""
        said = f"{done.left} texts are not embedded yet{rest}; the next search goes on, or --budget SECONDS gives it longer."
        print(said, file=sys.stderr)


class _Teller:
    """Says the cost once it can be told from the first batch, and draws a bar where there is a terminal."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.began = time.monotonic()
        self.is_told = self.is_drawn = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def hear(self, done: int, total: int) -> None:
        if not done:
            return
        left = self.seconds / done * (total - done)
        if not self.is_told and left > SOON:
            self.is_told = True
            print(
                f"To be found by meaning, {total} titles, prompts and last replies have to be embedded once:"
                f" {_time(left)} on this machine, of which {_time(self.budget)} now. Ctrl-C stops it; what is done is kept.",
                file=sys.stderr,
            )
        if sys.stderr.isatty():
            self.is_drawn = True
            share = done / total
            bar = f"{'█' * int(30 * share):░<30} {share:4.0%}  {_time(left)} left"
            print(f"\r\x1b[KEmbedding {total} texts  {bar}", end="", file=sys.stderr, flush=True)

    def stop(self) -> None:
        if self.is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
