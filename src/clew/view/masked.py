"""Masked rows: secrets do not reach the screen unless they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from clew.facts.secret import mask
from clew.view.document import Row
from clew.view.plain import clean

_SPOKEN = ("kind", "model", "tool", "trigger", "status")  # facts that printers show, as strings out of the file


def masked(rows: Iterable[Row], count: Counter[str] | None = None) -> Iterator[Row]:
    """The rows without their secrets. Text is cleaned first: a colour in the middle of a key must not hide it.

    `count` is told what was masked, by rule.
    """
    for row in rows:
        text, found = mask(clean(row.text))
        shown = replace(row, text=text) if found else row
        for name in _SPOKEN:
            if isinstance(said := row.facts.get(name), str) and len(said) > 7:
                told, secrets = mask(clean(said))
                found += secrets
                shown = replace(shown, facts={**shown.facts, name: told}) if secrets else shown
        if count is not None and found:
            count.update(secret.rule for secret in found)
        yield shown
