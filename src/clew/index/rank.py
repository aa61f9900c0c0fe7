"""Ranking: which session is meant, as one formula.

    score = best passage × recency × density × depth × place

best passage   weight of its field × (1 + r ÷ the best r) ÷ 2, with r the engine's relevance (BM25) and the best r that of
               all matches in the same shard, which counts words by itself; what tools were asked and said is not
               measured beside what people and the model said, and counts as half as relevant as the best
recency        0.4 + 0.6 × ½ ^ (age in days ÷ 30)
density        1 + 0.15 × log2(1 + matching passages)
depth          1 + 0.05 × log2(1 + messages of the session)
place          1, or 0.6 if only agents said it

Sessions that hold all words in one passage come before those that hold them in several.
"""

from __future__ import annotations

from math import log2

WEIGHT = {"title": 4.0, "prompt": 3.0, "reply": 2.0, "thinking": 1.0, "input": 1.0, "result": 0.7}
HALF_LIFE = 30 * 86_400
MOST = 64  # passages beyond these add nothing


def passage_score(field: str, relevance: float) -> float:
    """The value of a passage whose relevance is this part of the best."""
    return WEIGHT[field] * (1 + relevance) / 2


def session_score(best: float, age: float, matches: int, messages: int, in_agents_only: bool) -> float:
    """The formula above; `age` is in seconds since the session's last entry."""
    recency = 0.4 + 0.6 * 0.5 ** (max(0.0, age) / HALF_LIFE)
    density = 1 + 0.15 * log2(1 + min(matches, MOST))
    depth = 1 + 0.05 * log2(1 + messages)
    return float(best * recency * density * depth * (0.6 if in_agents_only else 1.0))
