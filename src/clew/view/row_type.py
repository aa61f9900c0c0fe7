"""Rows: what every printer prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One thing to show. `depth` counts agents inside agents; `facts` holds what a printer may want besides the text.

    The text is whole; `limit` is how many lines of it a printer shows. To cut is the last thing done to a text, since
    half a secret looks like none.
    """

    kind: str
    text: str = ""
    depth: int = 0
    time: datetime | None = None
    limit: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
