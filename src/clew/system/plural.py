"""Format counts with their nouns: "1 line", "2 lines", "3 entries"."""

from __future__ import annotations

_ENDINGS = (("ch", "ches"), ("sh", "shes"), ("x", "xes"), ("ly", "lies"), ("ry", "ries"))  # branch, reply, entry


def plural(count: int, one: str, many: str = "") -> str:
    """Format a count with its noun: `plural(2, "reply")` is "2 replies". `many` is an irregular plural."""
    return f"{count:,} {noun(count, one, many)}"


def noun(count: int, one: str, many: str = "") -> str:
    """Return the noun alone, in the number that fits the count."""
    if count == 1:
        return one
    return many or next((one.removesuffix(end) + ending for end, ending in _ENDINGS if one.endswith(end)), one + "s")
