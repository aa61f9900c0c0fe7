"""Masked rows: secrets do not reach the screen unless they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from clew.facts.secret import mask
from clew.view.document import Row
from clew.view.plain import clean

_SPOKEN = ("kind", "model", "tool", "trigger")  # facts that printers show, as strings out of the file
_SHORT = 8  # characters; no secret has fewer


@dataclass(slots=True)
class Tally:
    """How many secrets were masked on the way out."""

    secrets: int = 0

    def mask(self, text: str) -> str:
        """Text without its secrets. It is cleaned first: a colour in the middle of a key must not hide it."""
        made, found = mask(clean(text))
        if not found:
            return text
        self.secrets += len(found)
        return made


def masked(rows: Iterable[Row], tally: Tally | None = None) -> Iterator[Row]:
    """The rows without their secrets."""
    tally = tally or Tally()
    for row in rows:
        before = tally.secrets
        text = tally.mask(row.text)
        said = {name: told for name in _SPOKEN if isinstance(told := row.facts.get(name), str) and len(told) >= _SHORT}
        facts = {name: tally.mask(told) for name, told in said.items()}
        yield replace(row, text=text, facts={**row.facts, **facts}) if tally.secrets > before else row
