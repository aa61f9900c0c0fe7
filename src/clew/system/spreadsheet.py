"""Cells of CSV files that no spreadsheet runs."""

from __future__ import annotations

_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet evaluates a cell that begins with one of these


def safe_cell(text: str) -> str:
    """Return a text with an apostrophe in front if a spreadsheet would run it."""
    return f"'{text}" if text.startswith(_FORMULAS) else text
