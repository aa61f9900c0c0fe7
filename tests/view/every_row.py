"""Rows of every class, for tests that must hold for all of them."""

from __future__ import annotations

from typing import Any, get_args

from msgspec.structs import fields

from clew.view.attachments import Picture
from clew.view.row_types import Row

ROW_TYPES: tuple[type[Row], ...] = get_args(Row)


def text_fields(row_type: type[Row]) -> list[str]:
    """Return the names of the fields that contain text of a transcript."""
    return [field.name for field in fields(row_type) if field.type is str and field.name != "round_badge"]


def fill_row(row_type: type[Row], text: str, depth: int = 0, limit: int | None = None) -> Row:
    """Return a row with the same text in all fields that can contain it."""
    values: dict[str, Any] = dict.fromkeys(text_fields(row_type), text)
    names = {field.name for field in fields(row_type)}
    values |= {"picture": Picture(text, text, text)} if "picture" in names else {}
    values |= {"pairs": ((text, text),)} if "pairs" in names else {}
    return row_type(**values, depth=depth, limit=limit)
