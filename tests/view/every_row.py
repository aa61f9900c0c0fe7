"""Rows of every class, for tests that must hold for all of them."""

from __future__ import annotations

from typing import Any, get_args

from clew.view.attachments import Picture
from clew.view.row_types import Row

ROW_TYPES: tuple[type[Row], ...] = get_args(Row)


def written_types(row_type: type[Row]) -> dict[str, str]:
    """Return the written type of each field. Some name a type that is only imported for mypy, so none is evaluated."""
    return {
        name: kind
        for base in reversed(row_type.__mro__)
        for name, kind in vars(base).get("__annotations__", {}).items()
    }


def text_fields(row_type: type[Row]) -> list[str]:
    """Return the names of the fields that contain text of a transcript."""
    names = written_types(row_type)
    return [name for name in row_type.__struct_fields__ if names[name] == "str" and name != "round_badge"]


def fill_row(row_type: type[Row], text: str, depth: int = 0, limit: int | None = None) -> Row:
    """Return a row with the same text in all fields that can contain it."""
    values: dict[str, Any] = dict.fromkeys(text_fields(row_type), text)
    names = row_type.__struct_fields__
    values |= {"picture": Picture(text, text, text)} if "picture" in names else {}
    values |= {"pairs": ((text, text),)} if "pairs" in names else {}
    return row_type(**values, depth=depth, limit=limit)
