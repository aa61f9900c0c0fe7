"""Unseen: a package that an import is not to find, for libraries that load more than is needed where they find it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unseen(package: str) -> Iterator[None]:
    """As if a package were not installed; one that is loaded already stays."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # so Python is told that there is none
    try:
        yield
    finally:
        del sys.modules[package]
