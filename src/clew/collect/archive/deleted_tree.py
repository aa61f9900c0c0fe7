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
_CLOSING = 2 * 10**9  # nanoseconds after the manifest in which a collector may still close the archive


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


def open_deleted_tree(root: str | os.PathLike[str] | None) -> DeletedTree | None:
    """Open the deleted tree of a Claude Code folder, up to date with the default archive; None if nothing is in it."""
    folder = deleted_tree_path(root)
    manifest = _current_manifest(os.path.realpath(claude_home(root)), folder)
    if not manifest.get("archived") and not manifest.get("reconstructed"):
        return None
    return DeletedTree(folder, frozenset(manifest["archived"]), frozenset(manifest["reconstructed"]))


def _current_manifest(root: str, folder: Path) -> dict[str, Any]:
    manifest = read_manifest(folder)
    location = default_archive()
    if not os.path.exists(location) or _is_current(manifest, root, folder, location):
        return manifest
    from apsw import Error

    from clew.collect.archive.reader import Archive
    from clew.collect.archive.sync_deleted_tree import sync_deleted_tree
    from clew.errors import StoreError

    try:
        with Archive.open() as archive:
            sync_deleted_tree(archive, root)
    except (OSError, StoreError, Error):  # no room, or the archive cannot be read; `clew collect status` explains it
        return manifest
    return read_manifest(folder)


def _is_current(manifest: dict[str, Any], root: str, folder: Path, location: str) -> bool:
    """Whether nothing was collected, deleted or restored since the manifest was written."""
    try:
        written = (folder / MANIFEST).stat().st_mtime_ns
        names = [name for name in (location, f"{location}-wal") if os.path.exists(name)]
        changed = max(Path(name).stat().st_mtime_ns for name in names)
    except (OSError, ValueError):
        return False
    if not manifest or changed > written + _CLOSING:
        return False
    on_disk = all(os.path.lexists(os.path.join(root, path)) for path in manifest["present"])
    missing = manifest["missing"]
    return on_disk and all(
        os.path.lexists(folder / path) and not os.path.lexists(os.path.join(root, path)) for path in missing
    )


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
