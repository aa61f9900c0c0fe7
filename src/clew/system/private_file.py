"""Files of clew's own that only the user may read."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress


def write_private(path: str, text: str) -> None:
    """Write a file atomically, readable by its owner only. Its folder is created if it is missing."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)  # the mode is 0600
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)
