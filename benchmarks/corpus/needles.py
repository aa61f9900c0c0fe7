"""Texts to be found again: made-up strings that nothing else in the corpus can be.

Their words hold a `q` or an `x`, which no generated word does, and their characters come from a range that no
generated run uses. Phrases come in pairs, each the other turned round, so that a search for the two words
alone finds two lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from benchmarks.corpus.writer import Budget

FIELDS = ("prompt", "reply", "thinking", "tool_input", "tool_result")
KINDS = ("word", "phrase", "symbol", "cjk", "quoted")
EACH = 6  # of each kind in each field; even, for the pairs
STARTS = ("vex", "quar", "xil", "joq", "zyx", "maxu", "oxo", "quin", "taxi", "luqe")
MIDDLES = ("bar", "dol", "fen", "gim", "kor", "lun", "mip", "nav", "pol", "rus", "sev", "tam")
ENDS = ("ax", "eqo", "ixa", "oxen", "uqi", "exor", "iqua", "axin")


@dataclass(frozen=True, slots=True)
class Planned:
    """A needle that has no place yet."""

    kind: str
    field: str
    text: str


def plan_needles(seed: int) -> list[Planned]:
    rng = Random(f"{seed}:needles")
    words = _fresh_words(rng)
    pairs = _fresh_pairs(rng)
    needles: list[Planned] = []
    for at, field in enumerate(FIELDS):
        for _ in range(EACH):
            needles.append(Planned("word", field, next(words)))
            needles.append(Planned("symbol", field, f"{next(words)}_{rng.choice(MIDDLES)}.{next(words)}()"))
            needles.append(Planned("cjk", field, next(pairs)))
            needles.append(Planned("quoted", field, f'C:\\{next(words)}\\"{next(words)}"'))
        for _ in range(EACH // 2):
            one, two = next(words), next(words)
            needles.append(Planned("phrase", field, f"{one} {two}"))
            needles.append(Planned("phrase", FIELDS[(at + 1) % len(FIELDS)], f"{two} {one}"))
    return needles


class Needles:
    """The needles that one session has to take up, each when so much of its budget has been used."""

    def __init__(self, planned: Iterable[Planned], budget: Budget, rng: Random) -> None:
        self._budget = budget
        self._waiting: dict[str, list[tuple[float, Planned]]] = {field: [] for field in FIELDS}
        for needle in planned:
            self._waiting[needle.field].append((rng.uniform(0.2, 1.0) * budget.left, needle))
        for waiting in self._waiting.values():
            waiting.sort(key=lambda item: item[0])

    def waits(self, *fields: str) -> bool:
        """Whether a needle for one of these fields is due. All are, once the budget is used up."""
        return any(self._due(self._waiting[field]) for field in fields or FIELDS)

    def take(self, field: str) -> Planned | None:
        waiting = self._waiting[field]
        return waiting.pop()[1] if self._due(waiting) else None

    def _due(self, waiting: list[tuple[float, Planned]]) -> bool:
        return bool(waiting) and waiting[-1][0] >= self._budget.left


def _fresh_words(rng: Random) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        word = rng.choice(STARTS) + rng.choice(MIDDLES) + rng.choice(MIDDLES) + rng.choice(ENDS)
        if not any(word in other or other in word for other in seen):
            seen.add(word)
            yield word


def _fresh_pairs(rng: Random) -> Iterator[str]:
    """Two characters each, no character twice."""
    characters = rng.sample(range(0x8600, 0x9000), 4 * EACH * len(FIELDS))
    for one, two in zip(characters[::2], characters[1::2], strict=True):
        yield chr(one) + chr(two)
