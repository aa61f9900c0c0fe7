"""Mask secrets in rows before they are printed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from clew.facts.secrets.mask_secrets import mask, may_contain_secrets
from clew.view.row_types import Row
from clew.view.sanitize import clean

_MIN_SECRET = 8  # characters of the shortest secret
_FIRST_BATCH, _MAX_BATCH = 1 << 10, 1 << 18  # characters


class MaskCount(Struct):
    """Counts the masked secrets."""

    secrets: int = 0

    def mask(self, text: str) -> str:
        """Return text without secrets. It is sanitized first, since a colour code inside a key would hide it."""
        masked_text, secrets = mask(clean(text))
        if not secrets:
            return text
        self.secrets += len(secrets)
        return masked_text


def mask_rows(rows: Iterable[Row], tally: MaskCount | None = None) -> Iterator[Row]:
    """Yield the rows without their secrets."""
    tally = tally or MaskCount()
    for batch in _batches(rows):
        suspects = may_contain_secrets(
            [[clean(text) for text in (row.text, *_other_texts(row).values())] for row in batch]
        )
        for row, is_suspect in zip(batch, suspects, strict=True):
            yield _mask_row(row, tally) if is_suspect else row


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in batches: small ones first, so that output starts immediately, then growing ones."""
    batch: list[Row] = []
    size, limit = 0, _FIRST_BATCH
    for row in rows:
        batch.append(row)
        size += len(row.text)
        if size >= limit:
            yield batch
            batch, size, limit = [], 0, min(2 * limit, _MAX_BATCH)
    if batch:
        yield batch


def _other_texts(row: Row) -> dict[str, str]:
    """Return the other fields of a row that may contain a secret."""
    return {name: text for name in row.masked if len(text := getattr(row, name)) >= _MIN_SECRET}


def _mask_row(row: Row, tally: MaskCount) -> Row:
    others = {name: tally.mask(text) for name, text in _other_texts(row).items()}
    return replace(row, text=tally.mask(row.text), **others)
