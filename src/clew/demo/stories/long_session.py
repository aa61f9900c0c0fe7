"""A long story: every station of the coast is gone through, one after the other, over an afternoon."""

from __future__ import annotations

from datetime import datetime

from clew.demo.stories.story import TIDES, scene
from clew.demo.talk import Talk, bash

# fmt: off
STATIONS = (
    "Alderquay", "Amberness", "Barrowmouth", "Brackhaven", "Calder Pier", "Cinderstrand", "Coldharbour",
    "Curlew Point", "Dunmarsh", "Eastmole", "Eelgate", "Fallowfleet", "Fennmouth", "Gannet Stack",
    "Greyholm", "Hallowbay", "Herringford", "Inchmoor", "Kelpwick", "Kestrelsound", "Lanternhead",
    "Limpetness", "Longsluice", "Marrowdyke", "Mistlehythe", "Northgroyne", "Oystermere", "Pebblegate",
    "Quernhaven", "Rookstrand", "Saltmarch", "Sandpiper Bar", "Selkieford", "Shinglebury", "Tarnmouth",
    "Teasel Lock", "Underquay", "Wattlehithe", "Whimbrel Spit", "Yarrowbank",
)
# fmt: on

FAULTS = (
    ("reads {n} cm too high since the service", "an offset", "subtract {n} cm from the day of the service on"),
    ("jumps by {n} cm every night at two", "the pump of the dry dock next to it", "mark those hours as disturbed"),
    ("is {n} minutes late against its neighbours", "the clock of the logger", "shift the series by {n} minutes"),
    ("shows {n} spikes a day", "loose cable, by the look of it", "cut single values that stand out by 40 cm"),
    ("has the same value for {n} hours", "a stuck float", "drop runs of equal values longer than two hours"),
    ("ebbs when all others flood", "the sign of the cable is wrong", "turn the sign round, before {n} March too"),
)

FOLLOW_UPS = (
    ("Apply it.", "Applied; {count} values changed."),
    ("And before that date?", "Before it the residuals stay below {n} cm, so I'd leave it alone."),
    ("Does the neighbour agree?", "To within {n} cm over a month, which for the sea is agreement."),
    ("Show me the worst day.", "The {day}th: {n} cm between model and gauge at high water."),
    ("Write that down for the report.", "Written, in one sentence, as the report has room for one."),
    ("Are we sure it isn't the weather?", "The wind was below four for all of it. It is not the weather."),
)


def stations(begin: datetime) -> Talk:
    """Four turns for each of forty stations."""
    told = scene("stations", TIDES, begin, version="2.0.76", branch="spring-review", name="tidal-sifting-cormorant")
    for number, name in enumerate(STATIONS, 1):
        told = _station(told, number, name)
    return told.title("Spring review of all stations")


def _station(told: Talk, number: int, name: str) -> Talk:
    amount = 2 + number * 7 % 23
    fault, cause, remedy = FAULTS[number % len(FAULTS)]
    told = told.pause(seconds=35).user(f"Next, {name}. It {fault.format(n=amount)}.")
    told = told.reply(call=bash(f"python -m tides show {100 + number} --days 3", f"Look at {name}"))
    told = told.result(_curve(number))
    told = told.reply(f"That is {cause}. I would {remedy.format(n=amount)}.")
    for step in range(3):
        prompt, answer = FOLLOW_UPS[(number + step * 2) % len(FOLLOW_UPS)]
        words = answer.format(n=amount, count=amount * 61, day=1 + number * 3 % 28)
        told = told.pause(seconds=25).user(prompt).reply(words)
    return told


def _curve(number: int) -> str:
    """Six readings, rising and falling as water does."""
    heights = [210 + (number * 37 + hour * 53) % 90 - abs(hour - 3) * 20 for hour in range(6)]
    return "\n".join(f"{hour * 4:02d}:00  {height} cm" for hour, height in enumerate(heights))
