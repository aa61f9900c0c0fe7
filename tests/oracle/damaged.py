"""Sessions as people have them, and what crashes and full disks make of them. The same seed gives the same bytes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from clew.demo.talk import NIL, Talk, bash, read, talk

VERSIONS = ("2.1.325", "2.1.232", "2.1.200", "2.1.120", "2.1.45", "2.1.29")


@dataclass(frozen=True)
class Damaged:
    """A session before and after the damage; `ruined` are the prompts of which nothing is left."""

    seed: int
    session: str
    whole: bytes
    data: bytes
    done: tuple[str, ...]
    ruined: frozenset[str]


def lifelike(seed: int) -> Talk:
    """A conversation with calls, branches and compactions, and with the pauses that people and programs make."""
    chance = Random(seed)
    told = talk(seed=f"damaged {seed}", version=chance.choice(VERSIONS), model="claude-opus-5-5")
    pins = chance.random() < 0.6  # as newer versions write them, behind each turn
    for number in range(chance.randint(3, 9)):
        told = told.pause(seconds=chance.choice((3, 6, 20, 90, 600, 7200, 60000)) * chance.uniform(0.7, 1.4))
        if number > 2 and chance.random() < 0.12:
            told = told.compact(f"Summary {number} of {seed}.", keep=chance.choice((0, 0, 2)))
        elif told.turn > 1 and chance.random() < 0.15:
            told = told.rewind(to=chance.randint(1, told.turn))
            told = told.last_prompt(leaf=NIL, explicit=True) if pins else told  # which voids the older pins
        told = _turn(told.user(f"prompt {number} of {seed}"), chance, pins)
    return told


def _turn(told: Talk, chance: Random, pins: bool) -> Talk:
    def waited(now: Talk) -> Talk:
        return now.pause(seconds=chance.choice((0, 0.4, 2, 4, 7, 15, 40)) * chance.uniform(0.6, 1.5))

    for step in range(chance.randint(0, 3)):
        kind = chance.random()
        thought = "Hm." if chance.random() < 0.3 else None
        if kind < 0.6:
            told = waited(waited(told).reply("So:", thinking=thought, call=bash(f"ls {step}"))).result(f"file {step}")
        else:
            count = chance.randint(2, 3)
            told = waited(told).reply(thinking=thought, calls=[read(f"/home/ada/garden/{n}") for n in range(count)])
            for place in chance.sample(range(count), count):
                told = waited(told).result(f"content {place}", for_=place)
    told = waited(told).reply("Done.", thinking="Well." if chance.random() < 0.3 else None)
    if chance.random() < 0.5:
        told = told.turn_duration()
    return told.last_prompt() if pins else told


def damaged(seed: int) -> Damaged:
    """One to three lines torn, lost or of a type that nobody knows."""
    chance = Random(-seed - 1)
    told = lifelike(seed)
    lines = told.lines()
    ruined: set[str] = set()
    done: list[str] = []
    for at in sorted(chance.sample(range(len(lines)), min(len(lines) - 1, chance.randint(1, 3))), reverse=True):
        how = chance.choice(("torn", "lost", "unknown", "joined"))
        entry = json.loads(lines[at])
        said = entry.get("message", {}).get("content") if entry.get("type") == "user" else None
        done.append(f"{how} line {at + 1}")
        if isinstance(said, str):
            ruined.add(said)
        half = lines[at][: chance.randint(2, len(lines[at]) - 3)]
        match how:
            case "torn":
                lines[at] = half + b"\n"
            case "lost":
                del lines[at]
            case "unknown":
                lines[at] = json.dumps({**entry, "type": "x-unknown"}).encode() + b"\n"
            case "joined":  # the next line was written on the torn one
                lines[at] = half
    return Damaged(seed, told.session_id, told.bytes(), b"".join(lines), tuple(done), frozenset(ruined))
