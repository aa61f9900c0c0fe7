"""A cache folder with deleted and reconstructed sessions, laid out like a Claude Code folder.

Everything that reads sessions can read it. It can be deleted at any time; the next `clew collect` writes it again.
It contains sessions whose files were deleted, with their side files, and sessions reconstructed from remaining
traces.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from clew.system.environment import cache_home, claude_home
from clew.wire.json_codec import decode

MANIFEST = "attic.json"
VERSION = 1


def deleted_tree_path(root: str | os.PathLike[str] | None) -> Path:
    """Return the folder of the deleted tree for a Claude Code folder, whether or not it exists."""
    path = os.path.realpath(claude_home(root)).encode("utf-8", "surrogateescape")
    return Path(cache_home(), "attic", f"{crc32(path):08x}-{len(path)}")


class DeletedTree(NamedTuple):
    """The deleted tree of a folder: the ids of archived sessions, and of reconstructed ones."""

    folder: Path
    archived: frozenset[str]
    reconstructed: frozenset[str]


def open_deleted_tree(root: str | os.PathLike[str] | None) -> DeletedTree | None:
    """Open the deleted tree of a Claude Code folder; None if it was never written."""
    folder = deleted_tree_path(root)
    manifest = read_manifest(folder)
    if not manifest:
        return None
    return DeletedTree(folder, frozenset(manifest["archived"]), frozenset(manifest["reconstructed"]))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a deleted tree; empty if it is missing, invalid or of another version."""
    try:
        value = decode((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return {}
    names = [value.get(kind) for kind in ("archived", "reconstructed")]
    return value if all(isinstance(ids, list) and set(map(type, ids)) <= {str} for ids in names) else {}
