"""Bounds of the numbers in transcripts: finite, not negative, small enough for sums, databases and clocks.

A number outside these bounds fails the typed read, and the field gets its default. The bytes keep it.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MAX_COUNT = 10**12  # a sum of a million such counts still fits into 64 bits
MAX_AMOUNT = 10**15  # milliseconds (some 30,000 years), or money

Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Amount = Annotated[int, Meta(ge=0, le=MAX_AMOUNT)] | Annotated[float, Meta(ge=0, le=MAX_AMOUNT)]
