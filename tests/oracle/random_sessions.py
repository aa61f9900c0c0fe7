"""Ask Claude Code and clew about random sessions, and make what differs as small as possible.

    python -m tests.oracle.random_sessions --seed 0 --count 1000
    python -m tests.oracle.random_sessions --seconds 3600 --version 2.1.29

Each seed is a session (`tests.oracle.generate`). Both sides say what a resume sends; the comparison is to the letter. A
difference is printed as the fewest lines that show it, with both requests. The same seed always gives the same session. What
the program does not answer in time is counted, and is no difference.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count, islice

from tests.oracle.claude import LATEST, Box
from tests.oracle.differences import RANDOM
from tests.oracle.generate import Generated, generate
from tests.oracle.judge import Bench, Verdict, bench
from tests.oracle.shrink import smallest

SHRINKING = 150  # resumes that making one difference smaller may take
SHRINKING_SECONDS = 300


@dataclass(frozen=True)
class Found:
    """A session about which the two differ, as few lines as are needed for it."""

    session: Generated
    lines: tuple[bytes, ...]
    difference: str

    def __str__(self) -> str:
        changes = ", ".join(self.session.changes) or "nothing changed"
        return f"seed {self.session.seed} ({changes})\n{b''.join(self.lines).decode(errors='replace')}{self.difference}"


@dataclass
class Score:
    tried: int = 0
    stopped: int = 0  # the program took too long, which says nothing about the session on a busy machine
    used: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)

    def __str__(self) -> str:
        allowed = ", ".join(f"{name} {number}" for name, number in sorted(self.used.items()))
        late = f", {self.stopped} not answered in time" if self.stopped else ""
        return f"{self.tried} sessions, {len(self.found)} differences{late} (allowed: {allowed})"


def compare(
    boxes: Bench,
    seeds: Iterator[int],
    *,
    deadline: float | None = None,
    report: Callable[[Found], object] = print,
    asks_all: bool = True,
) -> Score:
    """Judge the sessions of some seeds until none is left, or the time is over.

    Unless it `asks_all`, predictions that the CLI has confirmed are taken from the table.
    """
    score = Score()
    waiting: list[tuple[Generated, Future[Verdict]]] = []
    while True:
        is_over = deadline is not None and time.monotonic() > deadline
        coming = map(generate, islice(seeds, 0 if is_over else 4 - len(waiting)))
        for session in coming:
            name = "" if asks_all else f"random/{session.seed}"
            waiting.append((session, boxes.judge(session.data, session.session, name)))
        if not waiting:
            return score
        session, future = waiting.pop(0)
        used: set[str] = set()
        verdict = future.result()
        score.tried += 1
        if _is_late(verdict):
            score.stopped += 1
            continue
        difference = verdict.difference(used)
        score.used.update(used)
        if difference and session.seed not in RANDOM:
            lines, difference = shrink(boxes, session, difference)
            score.found.append(Found(session, lines, difference))
            report(score.found[-1])


def _is_late(verdict: Verdict) -> bool:
    """Whether the program had to be stopped, on a file that clew does not take for one that hangs it."""
    return verdict.theirs is None and not verdict.ours.refusal


def shrink(boxes: Bench, session: Generated, difference: str) -> tuple[tuple[bytes, ...], str]:
    """Leave out lines, blocks and fields while the two still differ."""
    shown = {session.lines: difference}

    def differs(lines: list[bytes]) -> bool:
        verdict = boxes.judge(b"".join(lines), session.session).result()
        still = "" if _is_late(verdict) else verdict.difference()
        shown[tuple(lines)] = still
        return bool(still)

    lines = tuple(smallest(session.lines, differs, tries=SHRINKING, seconds=SHRINKING_SECONDS))
    return lines, shown[lines]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.random_sessions", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, help="how many sessions")
    parser.add_argument("--seconds", type=float, help="how long at most")
    parser.add_argument("--version", default=LATEST, help="of Claude Code")
    asked = parser.parse_args(arguments)
    seeds = count(asked.seed) if asked.count is None else iter(range(asked.seed, asked.seed + asked.count))
    if asked.count is None and asked.seconds is None:
        parser.error("say how many sessions (--count), or how long (--seconds)")
    deadline = time.monotonic() + asked.seconds if asked.seconds is not None else None
    with bench(Box, asked.version) as boxes:
        score = compare(boxes, seeds, deadline=deadline, report=lambda found: print(found, end="\n\n", flush=True))
    print(json.dumps({"version": asked.version, "seed": asked.seed}), score)
    return 1 if score.found else 0


if __name__ == "__main__":
    raise SystemExit(main())
