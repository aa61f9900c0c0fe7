"""The attic: what is gone from the disk, laid out again as Claude Code had it, so that everything that reads sessions can.

It is a cache beside the archive and can be deleted at any time; the next `clew collect` furnishes it again. It holds the
sessions whose files are gone, with what belonged to them, and sessions that were reconstructed from what was left.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from clew.system.environment import cache_home, claude_home
from clew.wire.json_codec import decode

LIST = "attic.json"
VERSION = 1


def attic_of(root: str | os.PathLike[str] | None) -> Path:
    """Where the attic of a folder of Claude Code lies, whether or not it exists."""
    path = os.path.realpath(claude_home(root)).encode("utf-8", "surrogateescape")
    return Path(cache_home(), "attic", f"{crc32(path):08x}-{len(path)}")


class Attic(NamedTuple):
    """What is in an attic: the ids of sessions that are archived, and of those that were reconstructed."""

    folder: Path
    archived: frozenset[str]
    reconstructed: frozenset[str]


def open_attic(root: str | os.PathLike[str] | None) -> Attic | None:
    """The attic of a folder of Claude Code; None if it was never furnished."""
    folder = attic_of(root)
    found = listed(folder)
    if not found:
        return None
    return Attic(folder, frozenset(found["archived"]), frozenset(found["reconstructed"]))


def listed(folder: Path) -> dict[str, Any]:
    """What the list of an attic says; nothing if there is none, or one of another version."""
    try:
        value = decode((folder / LIST).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return {}
    names = [value.get(kind) for kind in ("archived", "reconstructed")]
    return value if all(isinstance(each, list) and set(map(type, each)) <= {str} for each in names) else {}
