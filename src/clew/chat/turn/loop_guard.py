"""Detect a model that repeats the same tool call and keeps getting the same result."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from clew.chat.store.live_conversation import PendingCall
from clew.chat.tools.tool import CallResult, text_of
from clew.wire.json_codec import encode

WINDOW = 10  # number of recent replies to inspect
MAX_REPEATS = 5  # identical call/result pairs allowed within the window


class LoopGuard:
    """Tracks call/result pairs over the most recent replies."""

    def __init__(self) -> None:
        self._steps: deque[frozenset[bytes]] = deque(maxlen=WINDOW)
        self.warnings = 0

    def detects_loop(self, calls: Iterable[PendingCall], results: Mapping[str, CallResult]) -> bool:
        """Return True if any of these calls repeated more than MAX_REPEATS times with the same result."""
        signatures = frozenset(
            encode([call.name, call.input, text_of(results[call.id].content)]) for call in calls if call.id in results
        )
        self._steps.append(signatures)
        counts = Counter(signature for step in self._steps for signature in step)
        if any(counts[signature] > MAX_REPEATS for signature in signatures):
            self.warnings += 1
            return True
        return False
