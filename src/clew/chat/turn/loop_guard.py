"""The guard: notices a model that makes the same call again and again and always gets the same answer."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping

from clew.chat.store.live_conversation import PendingCall, text_of
from clew.chat.tools.tool import CallResult
from clew.wire.json_codec import encode

STEPS = 10  # replies that are looked back on
OFTEN = 5  # the same call with the same answer, in so many of them


class LoopGuard:
    """Looks back on the last calls."""

    def __init__(self) -> None:
        self._steps: deque[frozenset[bytes]] = deque(maxlen=STEPS)
        self.warnings = 0

    def sees_loop(self, calls: Iterable[PendingCall], results: Mapping[str, CallResult]) -> bool:
        """Whether one of these calls was made, with the same answer, more than often enough."""
        made = frozenset(
            encode([call.name, call.input, text_of(results[call.id].content)]) for call in calls if call.id in results
        )
        self._steps.append(made)
        counted = Counter(each for step in self._steps for each in step)
        if any(counted[each] > OFTEN for each in made):
            self.warnings += 1
            return True
        return False
