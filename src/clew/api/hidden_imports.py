"""Hide a package from imports, for libraries that load more than needed if they find it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hide_package(package: str) -> Iterator[None]:
    """Make a package look as if it were not installed; one that is already loaded stays."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # makes `import` raise ModuleNotFoundError
    try:
        yield
    finally:
        del sys.modules[package]
