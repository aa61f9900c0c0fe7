"""Read the present content of files that transcripts name."""

from __future__ import annotations

import os
from stat import S_ISREG

from clew.facts.line_origins import normalize

_LARGEST = 20 << 20  # bytes; the tools that change files accept no larger ones
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"))


def read_text(path: str) -> str | None:
    """Return the text of a regular file, with one kind of line end; None if it cannot be read or is not a text."""
    try:
        with open(os.open(path, _FLAGS), "rb") as file:
            state = os.fstat(file.fileno())
            if not S_ISREG(state.st_mode) or state.st_size > _LARGEST:
                return None
            return normalize(file.read(_LARGEST).decode("utf-8"))
    except (OSError, ValueError):  # ValueError: not UTF-8, or a name with a null character
        return None
