"""Masked rows: secrets do not reach the screen unless they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from clew.facts.secret import mask
from clew.view.document import Row


def masked(rows: Iterable[Row]) -> Iterator[Row]:
    for row in rows:
        text, found = mask(row.text)
        yield replace(row, text=text) if found else row
