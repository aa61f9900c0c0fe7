"""A cache folder with deleted and reconstructed sessions, laid out like a Claude Code folder.

Everything that reads sessions can read it. It is a cache: if it is missing or old, whoever opens it writes it again from
the archive. Each archive has its own.
It contains sessions whose files were deleted, with their side files, and sessions reconstructed from remaining
traces.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from clew.system.environment import cache_home, claude_home, data_home
from clew.wire.json_codec import decode

MANIFEST = "attic.json"
VERSION = 2


def deleted_tree_path(root: str | os.PathLike[str] | None, archive: str | None = None) -> Path:
    """Return the folder of the deleted tree for a Claude Code folder, whether or not it exists.

    `archive` is the path of the archive it comes from, if that is not the default one.
    """
    path = os.path.realpath(claude_home(root)).encode("utf-8", "surrogateescape")
    name = f"{crc32(path):08x}-{len(path)}"
    if archive is not None and os.path.realpath(archive) != os.path.realpath(default_archive()):
        name += f"-{crc32(os.path.realpath(archive).encode('utf-8', 'surrogateescape')):08x}"
    return Path(cache_home(), "attic", name)


def default_archive() -> str:
    return os.path.join(data_home(), "archive", "archive.db")


class DeletedTree(NamedTuple):
    """The deleted tree of a folder: the ids of archived sessions, and of reconstructed ones."""

    folder: Path
    archived: frozenset[str]
    reconstructed: frozenset[str]


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a deleted tree; empty if it is missing, invalid or of another version."""
    try:
        value = decode((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(value, dict) or value.get("version") != VERSION:
        return {}
    names = [value.get(kind) for kind in ("archived", "reconstructed", "present", "missing")]
    return value if all(isinstance(ids, list) and set(map(type, ids)) <= {str} for ids in names) else {}
