"""Decide from the names of objects which of them a store lacks, in which order, and which of them it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clew.collect.landing.object_name import ObjectName, mark_number
from clew.collect.sinks.store_check import StoreState


class NextObject(NamedTuple):
    """An object that a stream lacks; `missing` is how many before it are gone."""

    name: ObjectName
    stream: int
    missing: int = 0


class ChainPlan(NamedTuple):
    """What to do with the objects of an epoch. The place of strays cannot be told from their names."""

    next: list[NextObject]
    done: list[ObjectName]
    strays: list[ObjectName]


def plan_chain(objects: Sequence[ObjectName], streams: Sequence[StoreState]) -> ChainPlan:
    """Follow the chain of each stream: back over what the store has, and forward over what it lacks.

    For example, if the store has object 2 last, and 1, 2, 3 and 4 are there: 1 and 2 are done, 3 and 4 are next.
    """
    by_mark = {name.mark: name for name in objects}
    followers: dict[int, list[ObjectName]] = {}
    for name in sorted(objects):
        followers.setdefault(name.previous, []).append(name)
    left = dict.fromkeys(sorted(objects))
    done: list[ObjectName] = []
    planned: list[NextObject] = []
    for state in streams:
        ancestor = by_mark.get(state.mark)
        while ancestor in left:
            del left[ancestor]
            done.append(ancestor)
            ancestor = by_mark.get(ancestor.previous)
    for stream, mark in enumerate([state.mark for state in streams] or [0]):
        while found := [name for name in followers.get(mark, ()) if name in left]:
            if found[0].number != mark_number(mark) + 1:
                break
            del left[found[0]]
            planned.append(NextObject(found[0], stream))
            mark = found[0].mark
    return ChainPlan(planned, done, list(left))


def stray_chain(strays: Sequence[ObjectName]) -> list[ObjectName]:
    """Return the first stray, and those that follow it directly."""
    first = min(strays, key=lambda name: (name.number, name.digest))
    chain = [first]
    for name in sorted(strays):
        if name.previous == chain[-1].mark and name.number == chain[-1].number + 1:
            chain.append(name)
    return chain
