"""The row type, which all printers print."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One item to show. `depth` is the nesting of agents; `facts` are data for printers in addition to the text.

    The text is complete; `limit` is how many lines a printer shows. Text is truncated last, after masking, since
    half a secret does not look like one.
    """

    kind: str
    text: str = ""
    depth: int = 0
    time: datetime | None = None
    limit: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
