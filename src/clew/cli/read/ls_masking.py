"""Mask the secrets in the rows of a list."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from clew.cli.output import clean
from clew.facts.secrets.mask_secrets import mask, mask_data, may_contain_secrets
from clew.wire.json_codec import JsonView

MASKED_TOGETHER = 200  # rows


def mask_listing(rows: Iterator[JsonView]) -> Iterator[JsonView]:
    """Yield rows without their secrets. Many are searched together, which takes a fraction of the time."""
    while batch := list(islice(rows, MASKED_TOGETHER)):
        texts = [[dict(row), clean(row.get("title") or "")] for row in batch]
        for row, is_suspect in zip(batch, may_contain_secrets(texts), strict=True):
            yield _masked(row) if is_suspect else row


def _masked(row: JsonView) -> JsonView:
    """Return a row without its secrets: a title is often typed or pasted text."""
    masked, _ = mask_data(dict(row))
    title, secrets = mask(clean(masked.get("title") or ""))
    return {**masked, "title": title} if secrets else masked
