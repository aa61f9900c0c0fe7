"""What the archive keeps of the sessions of one folder, for searches that also find what is gone from the disk.

Nothing heavy is imported before there is something to read: a search makes one of these each time.
"""

from __future__ import annotations

import os

import apsw

from clew.errors import StoreError
from clew.system.environment import cache_home, claude_home, data_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.collect.archive.deleted_tree import Attic

_SESSIONS = """
SELECT f.session, f.gone FROM file f JOIN root r ON r.id = f.root JOIN generation g ON g.id = f.generation
WHERE f.kind = 'session' AND r.path = ? AND g.offset + length(g.rest) > 0
"""


class ArchivedSessions:
    """The archived and reconstructed sessions of a folder of Claude Code. Nothing is read before it is needed."""

    def __init__(self, root: str | os.PathLike[str] | None) -> None:
        self._root = os.path.realpath(claude_home(root))
        self._attics: list[Attic | None] = []
        self._sessions: dict[str, int | None] | None = None

    @property
    def folder(self) -> str:
        """The folder in which their transcripts are laid out again; empty if there is none."""
        attic = self._attic()
        return str(attic.folder) if attic and (attic.archived or attic.reconstructed) else ""

    def find(self, session: str) -> tuple[str, int | None]:
        """How a session is kept ("archive", "reconstructed" or ""), and when its transcript was first missing."""
        attic = self._attic()
        if attic and session in attic.reconstructed:
            return "reconstructed", None
        if self._sessions is None:
            self._sessions = self._read()
        if session.lower() not in self._sessions:
            return "", None
        return "archive", self._sessions[session.lower()]

    def _attic(self) -> Attic | None:
        if not self._attics:
            self._attics.append(self._open_attic())
        return self._attics[0]

    def _open_attic(self) -> Attic | None:
        if not os.path.isdir(os.path.join(cache_home(), "attic")):
            return None
        from clew.collect.archive.deleted_tree import open_attic

        return open_attic(self._root)

    def _read(self) -> dict[str, int | None]:
        """Each session of the archive, with the time in seconds since when its transcript is gone, if that is known."""
        if not os.path.exists(os.path.join(data_home(), "archive", "archive.db")):
            return {}
        from clew.collect.archive.reader import Archive

        try:
            with Archive.open() as archive:
                rows = list(archive.connection.execute(_SESSIONS, (self._root,)))
        except (StoreError, apsw.Error, OSError):  # `clew collect status` explains what is wrong with it
            return {}
        return {session.lower(): gone // 10**9 if gone else None for session, gone in rows}
