"""Sizes as people write them."""

from __future__ import annotations


def told_size(size: int) -> str:
    """A number of bytes: 394.5KB."""
    for step, unit in ((10, "KB"), (20, "MB")):
        if size < 1 << (step + 10):
            return f"{size / (1 << step):.1f}".removesuffix(".0") + unit
    return f"{size / (1 << 30):.1f}".removesuffix(".0") + "GB"
