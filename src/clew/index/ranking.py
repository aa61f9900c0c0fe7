"""Ranking: which session is meant, as one formula.

    score = best passage × recency × density × depth × place

best passage   weight of its field × (1 + r ÷ the best r) ÷ 2, with r the engine's relevance (BM25) and the best r that of
               the matches of the same kind in the same shard, which counts words by itself; the kinds are titles and
               prompts, replies and thinking, and tools. What tools were asked and said is not weighed beside the
               others, and counts as half as relevant as the best
recency        0.4 + 0.6 × ½ ^ (age in days ÷ 30)
density        1 + 0.15 × log2(1 + matching passages, at most 64), of tools only if nobody else said it
depth          1 + 0.05 × log2(1 + messages of the session)
place          1, or 0.6 if only agents said it

Sessions that hold all words in one passage come before those that hold them in several.
"""

from __future__ import annotations

from math import exp2, log2

WEIGHT = {"title": 4.0, "prompt": 3.0, "reply": 2.0, "thinking": 1.0, "input": 1.0, "result": 0.7}
WEIGHT |= {"todo": 1.0, "plan": 1.0}
HALF_LIFE = 30 * 86_400
UNWEIGHED = 0.5  # the relevance of what is not weighed, as a part of the best
MOST = 64  # passages beyond these add nothing
_DENSITY = [1 + 0.15 * log2(1 + count) for count in range(MOST + 1)]


def passage_score(field: str, relevance: float) -> float:
    """The value of a passage whose relevance is this part of the best."""
    return WEIGHT[field] * (1 + relevance) / 2


def recency(age: float) -> float:
    """What is left of a passage's value after some seconds."""
    return 0.4 + 0.6 * exp2(-age / HALF_LIFE) if age > 0 else 1.0


def density(matches: int) -> float:
    """What the number of passages makes of a session's value."""
    return _DENSITY[matches] if matches < MOST else _DENSITY[MOST]


def session_score(best: float, age: float, matches: int, messages: int, in_agents_only: bool) -> float:
    """The formula above; `age` is in seconds since the session's last entry."""
    depth = 1 + 0.05 * log2(1 + messages)
    return best * recency(age) * density(matches) * depth * (0.6 if in_agents_only else 1.0)
