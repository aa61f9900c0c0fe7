"""Scores: the rank of the session that was meant, and the mean of 1 ÷ rank."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from benchmarks.recall.queries import KINDS, Query

GROUPS = {"exact": ("exact",), "remembered": ("inflected", "wrong word", "synonym"), "all": tuple(KINDS)}


@dataclass(frozen=True, slots=True)
class Answer:
    """The rank of the session that was meant, 0 if it was not found, and the session on top."""

    query: Query
    rank: int
    first: str


def judge(query: Query, found: list[str]) -> Answer:
    return Answer(query, found.index(query.session) + 1 if query.session in found else 0, found[0] if found else "")


def mean_rank(answers: list[Answer], kinds: Collection[str]) -> float | None:
    """Return the mean reciprocal rank of some kinds, None if there are no such queries."""
    ranks = [one.rank for one in answers if one.query.kind in kinds]
    return sum(1 / rank for rank in ranks if rank) / len(ranks) if ranks else None


def print_table(answers: dict[str, list[Answer]]) -> None:
    """Print top-1, top-5, not found, and MRR@20 by kind and by group, of each program."""
    print(" " * 18 + "".join(f" | {program:^25}" for program in answers))
    print(f"{'kind':<14}{'n':>4}" + f" | {'top-1':>5} {'top-5':>5} {'none':>5} {'MRR':>6}" * len(answers))
    rows = [(kind, (kind,)) for kind in KINDS] + [(f"= {name}", kinds) for name, kinds in GROUPS.items()]
    for name, kinds in rows:
        count = sum(one.query.kind in kinds for one in next(iter(answers.values())))
        if count:
            print(f"{name:<14}{count:>4}" + "".join(f" | {_cell(several, kinds)}" for several in answers.values()))


def _cell(answers: list[Answer], kinds: Collection[str]) -> str:
    ranks = [one.rank for one in answers if one.query.kind in kinds]
    first, five = ranks.count(1), sum(1 <= rank <= 5 for rank in ranks)
    return f"{first:>5} {five:>5} {ranks.count(0):>5} {mean_rank(answers, kinds) or 0:>6.3f}"
