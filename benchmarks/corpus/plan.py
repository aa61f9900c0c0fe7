"""What will be written, before anything is: sizes, times, eras, and which sessions get which oddity."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random

from benchmarks.corpus.era import DAY, EPOCH, ERAS, Era
from benchmarks.corpus.needles import Planned, plan_needles

MEDIAN = 150_000
SIGMA = 1.65  # one session in three hundred is then as long as they get
SPAN = 90 * DAY
AGES = (0.1, 0.25, 0.55, 0.68, 1.0)  # where each era ends, as a share of the span
DAMAGE = ("joined", "truncated", "nul")
GATEWAYS = ("bedrock", "uuid", "chat")


@dataclass(frozen=True, slots=True)
class Plan:
    """One session to be written."""

    index: int
    size: int  # bytes, agents and side files among them
    start: int  # milliseconds
    era: Era
    project: int
    east: bool = False  # speaks an East Asian language
    gateway: str = ""
    compact: bool = False
    agents: float = 0.012  # of calls
    delegates: bool = False  # begins one at once
    rewinds: bool = False
    torn: bool = False
    unterminated: bool = False
    copied: bool = False  # the next session is a fork of it
    fork: bool = False
    damage: tuple[tuple[float, str], ...] = ()  # at which share of the file, and how
    needles: tuple[Planned, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether nothing would be missed without it."""
        marks = (
            self.compact,
            self.rewinds,
            self.torn,
            self.unterminated,
            self.copied,
            self.fork,
            self.delegates,
        )
        return not (any(marks) or self.damage or self.needles)


def plan_sessions(size: int, seed: int, projects: int, longest: int) -> list[Plan]:
    """Sessions of that size in sum, oldest first."""
    rng = Random(f"{seed}:plan")
    sizes = _sizes(rng, size, longest)
    shares = [(at + rng.random()) / len(sizes) for at in range(len(sizes))]
    places = _places(rng, len(sizes), projects)
    plans = []
    for index, (share, bytes_) in enumerate(zip(shares, sizes, strict=True)):
        latest = EPOCH - 3_600_000 - bytes_ * 10  # a byte is a few milliseconds of talk
        start = min(EPOCH - SPAN + int(share * SPAN), latest)
        plans.append(Plan(index, bytes_, start, _era(rng, share), places[index]))
    plans = _forks(rng, plans)
    plans = _oddities(rng, plans)
    return _spread_needles(rng, plans, seed)


def plan_big(size: int, index: int) -> Plan:
    """The one big session: of the newest era, begun a month before the end, all of it in one file."""
    return Plan(index, size, EPOCH - 30 * DAY, ERAS[-1], 0, agents=0.0)


def _sizes(rng: Random, size: int, longest: int) -> list[int]:
    median = min(MEDIAN, size // 80)
    top = min(longest, size // 12)
    sizes: list[int] = []
    while size > 0:
        drawn = int(rng.lognormvariate(math.log(median), SIGMA))
        sizes.append(min(max(3000, drawn), top, max(size, 3000)))
        size -= sizes[-1]
    rng.shuffle(sizes)
    return sizes


def _places(rng: Random, sessions: int, projects: int) -> list[int]:
    """A project for each session: every one is used, a few much more than others."""
    places = [number if number < projects else int(rng.random() ** 1.7 * projects) for number in range(sessions)]
    rng.shuffle(places)
    return places


def _era(rng: Random, share: float) -> Era:
    blurred = min(max(share + rng.gauss(0, 0.02), 0.0), 0.999)
    return next(era for era, end in zip(ERAS, AGES, strict=True) if blurred < end)


def _forks(rng: Random, plans: list[Plan]) -> list[Plan]:
    """One session in a hundred is a fork of the one before it."""
    fit = [at for at in range(len(plans) * 4 // 5) if plans[at].size < 2_000_000 and plans[at + 1].size > 15_000]
    taken: set[int] = set()
    for at in rng.sample(fit, min(len(fit), max(1, len(plans) // 100))):
        if not taken & {at, at + 1}:
            taken |= {at, at + 1}
            plans[at] = replace(plans[at], copied=True)
            plans[at + 1] = replace(plans[at + 1], fork=True, start=plans[at].start)
    return plans


def _oddities(rng: Random, plans: list[Plan]) -> list[Plan]:
    free = [plan.index for plan in plans if not plan.copied and not plan.fork]
    large = sorted(free, key=lambda at: -plans[at].size)[: max(8, len(free) // 3)]

    def some(among: list[int], share: float) -> list[int]:
        return rng.sample(among, min(len(among), max(1, round(share * len(among)))))

    for at in some(free, 0.03):
        plans[at] = replace(plans[at], east=True)
    for at in some(free, 0.08):
        plans[at] = replace(plans[at], gateway=rng.choice(GATEWAYS))
    for at in some(large, 0.05):
        plans[at] = replace(plans[at], compact=True)
    for at in some(large, 0.1):
        plans[at] = replace(plans[at], rewinds=True)
    for era in ERAS:  # an agent in each layout
        own = sorted((at for at in free if plans[at].era is era), key=lambda at: plans[at].size)
        for at in own[-1:]:
            plans[at] = replace(plans[at], delegates=True)
    for at in some(free, 0.01):
        plans[at] = replace(plans[at], torn=True)
    for at in some(free, 0.02):
        plans[at] = replace(plans[at], unterminated=not plans[at].torn)
    for kind in DAMAGE:
        for at in some(large, 0.02):
            damage = (*plans[at].damage, (0.1 + 0.5 * rng.random(), kind))
            plans[at] = replace(plans[at], damage=damage)
    return plans


def _spread_needles(rng: Random, plans: list[Plan], seed: int) -> list[Plan]:
    """The larger half takes them. A session that is copied takes none: a needle is in one place only."""
    middle = sorted(plan.size for plan in plans)[len(plans) // 2]
    fit = [plan.index for plan in plans[:-1] if not plan.copied and plan.size >= middle]
    weights = [min(plans[at].size, 2_000_000) for at in fit]
    needles = plan_needles(seed)
    for needle, at in zip(needles, rng.choices(fit, weights=weights, k=len(needles)), strict=True):
        plans[at] = replace(plans[at], needles=(*plans[at].needles, needle))
    return plans
