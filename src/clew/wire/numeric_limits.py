"""The numbers a transcript may hold: finite, not negative, and small enough for every sum, database and clock above.

A number outside these bounds fails the typed read, and the field falls back to its default. The bytes keep it.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MOST = 10**12  # of anything that is counted: a million sums of it still fit into 64 bits
LONGEST = 10**15  # milliseconds, or a fraction of money: some 30,000 years

Count = Annotated[int, Meta(ge=0, le=MOST)]
Amount = Annotated[int, Meta(ge=0, le=LONGEST)] | Annotated[float, Meta(ge=0, le=LONGEST)]
