"""Dates: clew reads a text as the `Date` of JavaScript does, as Claude Code is written in it."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from clew.wire.javascript_dates import parse_date
from tests.oracle.npm import need

pytestmark = pytest.mark.oracle

COUNT = 5_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WHOLE = (
    "2026-01-03T10:00:01.000Z",
    "2026-01-03T12:00:01+02:00",
    "2026-01-03 10:00:01 +0200",
    "Sat, 03 Jan 2026 10:00:01 GMT",
    "Sat Jan 03 2026 10:00:01 GMT+0000 (Coordinated Universal Time)",
    "1/3/2026 10:00:01 PM",
    "January 3, 2026",
    "2026/01/03",
)
PIECES = (
    *("2026", "26", "01", "1", "31", "32", "0", "10:00", "10:00:01", "9:5:7", "24:00", "::", ".5", ".123", "."),
    *(" ", "  ", "-", "/", ",", ":", "T", "Z", "z", "GMT", "UTC", "EST", "PDT", "+", "+02:00", "-0530", "+2", "+14"),
    *("Jan", "january", "Sept", "Dec.", "AM", "pm", "Sat", "th", "of", "_", "é", "\xa0", "(x)", "(", "(a(b)c)", ")"),
)
SCRIPT = """
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"))
console.log(JSON.stringify(texts.map(text => Date.parse(text))))
"""


def _text(chance: Random) -> str:
    """Pieces of dates in any order, or a date with pieces put in and characters taken out."""
    if chance.random() < 0.5:
        return "".join(chance.choices(PIECES, k=chance.randint(1, 7)))
    text = list(chance.choice(WHOLE))
    for _ in range(chance.randint(0, 3)):
        at = chance.randint(0, len(text))
        text[at : at + chance.randint(0, 1)] = [chance.choice(PIECES)] if chance.random() < 0.6 else []
    return "".join(text)


def test_random_texts_are_dates_where_javascript_reads_one() -> None:
    chance = Random(COUNT)
    texts = [_text(chance) for _ in range(COUNT)]
    run = subprocess.run(
        [need("node"), "-e", SCRIPT],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "TZ": "UTC"},
    )
    first, last = (-62_135_596_800_000, 253_402_300_799_999)  # what a datetime can hold
    theirs = [at if at is not None and first <= at <= last else None for at in json.loads(run.stdout)]
    ours = [(found - EPOCH) // timedelta(milliseconds=1) if (found := parse_date(text)) else None for text in texts]
    assert sum(at is not None for at in theirs) > COUNT / 10
    assert [row for row in zip(texts, theirs, ours, strict=True) if row[1] != row[2]] == []
