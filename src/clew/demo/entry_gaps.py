"""The time between two lines of a session, distributed as in real sessions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Literal

from clew.demo import identifiers

Wait = Literal["prompt", "reply", "block", "result", "note"]

# Seconds, spread as measured in 41 public sessions (572 replies, 647 results). The gaps before prompts have the
# longer pauses of sessions that a person left and came back to.
_GAP_SECONDS: Mapping[Wait, tuple[float, ...]] = {
    "prompt": (14.4, 27.9, 47.3, 82.7, 121.5, 212.8, 361.2, 1380.5, 8040.9),
    "reply": (2.2, 2.6, 2.9, 3.2, 3.6, 4.3, 5.2, 6.6, 8.7, 12.8, 41.6),
    "block": (0.03, 0.31, 0.46, 0.63, 0.85, 1.03, 1.34, 2.14, 3.85, 7.08),
    "result": (0.01, 0.03, 0.04, 0.06, 0.13, 0.47, 1.56, 3.62, 6.85, 25.98),
    "note": (0.001, 0.002, 0.004, 0.009, 0.09),
}


def gap(wait: Wait, seed: str, number: int) -> timedelta:
    """Return the time before a line; the same for the same seed and number."""
    choices = _GAP_SECONDS[wait]
    drawn = int(identifiers.hexadecimal(8, seed, "gap", wait, number), 16)
    seconds = choices[drawn % len(choices)]
    varied = seconds * (0.8 + (drawn >> 8) % 1000 / 2500)  # from 0.8 to 1.2 of it
    return timedelta(milliseconds=max(1, round(varied * 1000)))
