"""The files of words beside this module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


def read_lines(name: str) -> Iterator[str]:
    """Yield the lines of a file without its remarks."""
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("# "):
            yield line


@cache
def word_lists() -> dict[str, list[str]]:
    """Return the lists of common.txt by name."""
    return {name: words.split() for name, _, words in (line.partition(": ") for line in read_lines("common.txt"))}
