"""Open the deleted tree of a folder, up to date with the default archive.

Heavy modules are imported only if the tree must be written again: every list opens it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from clew.collect.archive.deleted_tree import MANIFEST, DeletedTree, default_archive, deleted_tree_path, read_manifest
from clew.system.environment import claude_home

_CLOSING = 2 * 10**9  # nanoseconds after the manifest in which a collector may still close the archive


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
    """Return whether nothing was collected, deleted or restored since the manifest was written."""
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
