"""What the archive keeps of the sessions of one folder, for searches that also find what is gone from the disk."""

from __future__ import annotations

import os
from functools import cached_property

import apsw

from clew.collect.attic import Attic, open_attic
from clew.errors import StoreError
from clew.wire.home import cache_home, claude_home, data_home

_SESSIONS = """
SELECT f.session, f.gone FROM file f JOIN root r ON r.id = f.root JOIN generation g ON g.id = f.generation
WHERE f.kind = 'session' AND r.path = ? AND g.offset + length(g.rest) > 0
"""


class ArchivedSessions:
    """The archived and reconstructed sessions of a folder of Claude Code. Nothing is read before it is needed."""

    def __init__(self, root: str | os.PathLike[str] | None) -> None:
        self._root = os.path.realpath(claude_home(root))

    @property
    def folder(self) -> str:
        """The folder in which their transcripts are laid out again; empty if there is none."""
        attic = self._attic
        return str(attic.folder) if attic and (attic.archived or attic.reconstructed) else ""

    def find(self, session: str) -> tuple[str, int | None]:
        """How a session is kept ("archive", "reconstructed" or ""), and when its transcript was first missing."""
        if self._attic and session in self._attic.reconstructed:
            return "reconstructed", None
        if session.lower() not in self._sessions:
            return "", None
        return "archive", self._sessions[session.lower()]

    @cached_property
    def _attic(self) -> Attic | None:
        return open_attic(self._root) if os.path.isdir(os.path.join(cache_home(), "attic")) else None

    @cached_property
    def _sessions(self) -> dict[str, int | None]:
        """Each session of the archive, with the time in seconds since when its transcript is gone, if that is known."""
        if not os.path.exists(os.path.join(data_home(), "archive", "archive.db")):
            return {}
        from clew.collect.archive import Archive

        try:
            with Archive.open() as archive:
                rows = list(archive.connection.execute(_SESSIONS, (self._root,)))
        except (StoreError, apsw.Error, OSError):  # `clew collect status` explains what is wrong with it
            return {}
        return {session.lower(): gone // 10**9 if gone else None for session, gone in rows}
