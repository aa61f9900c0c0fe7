"""Ask clew and its peers: each answers a query with session ids, the best first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.errors import ClewError
from clew.index.session_index import Index

LIMIT = 20
Ask = Callable[[str], list[str]]


@contextmanager
def clew(root: Path, scratch: Path) -> Iterator[Ask]:
    """Index a tree with clew, and ask that index."""
    with Index.open(root, scratch / "cache" / "clew") as index:
        index.refresh()

        def ask(text: str) -> list[str]:
            try:
                return [result.session for result in index.search(text, LIMIT)]
            except ClewError:
                return []

        yield ask
