"""Format sizes in bytes for people."""

from __future__ import annotations


def format_size(size: int) -> str:
    """Format a number of bytes: `394.5KB`."""
    for step, unit in ((10, "KB"), (20, "MB")):
        if size < 1 << (step + 10):
            return f"{size / (1 << step):.1f}".removesuffix(".0") + unit
    return f"{size / (1 << 30):.1f}".removesuffix(".0") + "GB"
