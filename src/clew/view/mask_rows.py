"""Masked rows: secrets do not reach the screen unless they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from clew.facts.secrets.mask_secrets import mask, may_hold
from clew.view.rows import Row
from clew.view.sanitize import clean

_SPOKEN = ("kind", "model", "tool", "trigger")  # facts that printers show, as strings out of the file
_SHORT = 8  # characters; no secret has fewer
_FIRST, _MOST = 1 << 10, 1 << 18  # characters of the first batch, and of the largest


@dataclass(slots=True)
class MaskCount:
    """How many secrets were masked on the way out."""

    secrets: int = 0

    def mask(self, text: str) -> str:
        """Text without its secrets. It is cleaned first: a colour in the middle of a key must not hide it."""
        made, found = mask(clean(text))
        if not found:
            return text
        self.secrets += len(found)
        return made


def masked(rows: Iterable[Row], tally: MaskCount | None = None) -> Iterator[Row]:
    """The rows without their secrets."""
    tally = tally or MaskCount()
    for several in _batches(rows):
        held = may_hold([[clean(text) for text in (row.text, *_said(row).values())] for row in several])
        for row, is_suspect in zip(several, held, strict=True):
            yield _masked(row, tally) if is_suspect else row


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows that are looked through together: few at first, so that these are not kept waiting, then ever more."""
    several: list[Row] = []
    size, limit = 0, _FIRST
    for row in rows:
        several.append(row)
        size += len(row.text)
        if size >= limit:
            yield several
            several, size, limit = [], 0, min(2 * limit, _MOST)
    if several:
        yield several


def _said(row: Row) -> dict[str, str]:
    """The facts of a row that may hold a secret."""
    return {name: told for name in _SPOKEN if isinstance(told := row.facts.get(name), str) and len(told) >= _SHORT}


def _masked(row: Row, tally: MaskCount) -> Row:
    facts = {name: tally.mask(told) for name, told in _said(row).items()}
    return replace(row, text=tally.mask(row.text), facts={**row.facts, **facts})
