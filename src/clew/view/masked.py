"""Masked rows: secrets do not reach the screen unless they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from clew.facts.secret import mask
from clew.view.document import Row
from clew.view.plain import clean


def masked(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows without their secrets. Text is cleaned first: a colour in the middle of a key must not hide it."""
    for row in rows:
        text, found = mask(clean(row.text))
        yield replace(row, text=text) if found else row
