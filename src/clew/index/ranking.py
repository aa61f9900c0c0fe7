"""Score passages and sessions with one formula.

score = best passage × recency × density × depth × place

    best passage   weight of its field × (1 + r) ÷ 2, with r the relevance that BM25 gives for one occurrence of each word,
                   relative to an empty text, so that it depends on the length of the passage alone: 1.3 ÷ (1.3 + 0.9 ×
                   characters ÷ 4000); tool texts get r = 0.5 if other kinds match
    recency        0.4 + 0.6 × ½ ^ (age in days ÷ 30)
    density        1 + 0.15 × log2(1 + matching passages, at most 64); tool passages count only if no others match
    depth          1 + 0.05 × log2(1 + messages of the session)
    place          1, or 0.6 if only agents match

A session whose words are scattered over several passages never precedes one with exactly these words in one passage.
"""

from __future__ import annotations

from math import exp2, inf, log2

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    class Ranked(Protocol):
        """A session with a score."""

        session: str
        score: float
        grade: str

    RankedT = TypeVar("RankedT", bound=Ranked)

FIELD_WEIGHTS = {"title": 4.0, "prompt": 3.0, "reply": 2.0, "thinking": 1.0, "input": 1.0, "result": 0.7}
FIELD_WEIGHTS |= {"todo": 1.0, "plan": 1.0, "summary": 0.6, "meta": 0.5}
HALF_LIFE = 30 * 86_400
DEFAULT_RELEVANCE = 0.5  # of matches that are not weighed
AVERAGE_SIZE = 4_000  # characters of a passage, for its relevance
MAX_MATCHES = 64  # further passages add nothing
_DENSITY = [1 + 0.15 * log2(1 + count) for count in range(MAX_MATCHES + 1)]


def relevance(digits: int) -> float:
    """Return the relevance of a passage whose number of characters has some binary digits."""
    return 1.3 / (1.3 + 0.9 * 0.75 * exp2(digits) / AVERAGE_SIZE)


def passage_score(field: str, relevance: float) -> float:
    """Return the score of a passage; `relevance` is between 0 and 1."""
    return FIELD_WEIGHTS[field] * (1 + relevance) / 2


def recency(age: float) -> float:
    """Return the recency factor for an age in seconds."""
    return 0.4 + 0.6 * exp2(-age / HALF_LIFE) if age > 0 else 1.0


def density(matches: int) -> float:
    """Return the density factor for a number of matching passages."""
    return _DENSITY[matches] if matches < MAX_MATCHES else _DENSITY[MAX_MATCHES]


def session_score(best: float, age: float, matches: int, messages: int, in_agents_only: bool) -> float:
    """Return the score of a session by the formula above; `age` is in seconds since its last entry."""
    depth = 1 + 0.05 * log2(1 + messages)
    return best * recency(age) * density(matches) * depth * (0.6 if in_agents_only else 1.0)


def sort_by_score(sessions: list[RankedT]) -> None:
    """Sort sessions, best first; those with scattered words after all exact matches."""
    lowest_exact = min([one.score for one in sessions if one.grade == "exact"], default=inf)

    def key(one: RankedT) -> tuple[float, bool, str]:
        is_scattered = one.grade == "scattered"
        return -(min(one.score, lowest_exact) if is_scattered else one.score), is_scattered, one.session

    sessions.sort(key=key)
