"""Look up archived and reconstructed sessions of one folder, for searches that include deleted ones.

Heavy modules are imported only if there is something to read: every search creates one of these.
"""

from __future__ import annotations

import os

from clew.errors import StoreError
from clew.system.environment import cache_home, claude_home, data_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.collect.archive.deleted_tree import DeletedTree

_SESSIONS = """
SELECT f.session, f.gone FROM file f JOIN root r ON r.id = f.root JOIN generation g ON g.id = f.generation
WHERE f.kind = 'session' AND r.path = ? AND g.offset + length(g.rest) > 0
"""


class ArchivedSessions:
    """The archived and reconstructed sessions of a Claude Code folder, read on first use."""

    def __init__(self, root: str | os.PathLike[str] | None) -> None:
        self._root = os.path.realpath(claude_home(root))
        self._tree_cache: list[DeletedTree | None] = []
        self._sessions: dict[str, int | None] | None = None

    @property
    def folder(self) -> str:
        """Return the folder with their restored transcripts; empty if there is none."""
        tree = self._tree()
        return str(tree.folder) if tree and (tree.archived or tree.reconstructed) else ""

    def find(self, session: str) -> tuple[str, int | None]:
        """Return how a session is stored ("archive", "reconstructed" or ""), and when its transcript was first
        missing.
        """
        tree = self._tree()
        if tree and session in tree.reconstructed:
            return "reconstructed", None
        if self._sessions is None:
            self._sessions = self._read()
        if session.lower() not in self._sessions:
            return "", None
        return "archive", self._sessions[session.lower()]

    def _tree(self) -> DeletedTree | None:
        if not self._tree_cache:
            self._tree_cache.append(self._open_tree())
        return self._tree_cache[0]

    def _open_tree(self) -> DeletedTree | None:
        has_archive = os.path.exists(os.path.join(data_home(), "archive", "archive.db"))
        if not has_archive and not os.path.isdir(os.path.join(cache_home(), "attic")):
            return None
        from clew.collect.archive.archive_view import open_deleted_tree

        return open_deleted_tree(self._root)

    def _read(self) -> dict[str, int | None]:
        """Return each archived session, with the time in seconds since when its transcript is missing, if known."""
        if not os.path.exists(os.path.join(data_home(), "archive", "archive.db")):
            return {}
        from apsw import Error

        from clew.collect.archive.reader import Archive

        try:
            with Archive.open() as archive:
                rows = list(archive.connection.execute(_SESSIONS, (self._root,)))
        except (StoreError, Error, OSError):  # `clew collect status` explains what is wrong with it
            return {}
        return {session.lower(): gone // 10**9 if gone else None for session, gone in rows}
