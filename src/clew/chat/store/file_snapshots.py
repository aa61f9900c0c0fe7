"""Snapshots: the state of each file before it was changed, so that the changes of a prompt can be taken back.

The bytes lie in `file-history/<session>/<hash of the path>@v<n>`. A file without a backup did not exist.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from clew.chat.store import journal_lines
from clew.wire.json_codec import Json
from clew.wire.session_writer import create_exactly

State = tuple[bytes, int] | None  # the content of a file and its mode; None if it is not there
LARGEST = 64 << 20  # bytes; a larger file is not saved


class SavedFile(Struct, frozen=True):
    """The newest backup of a file."""

    name: str | None
    version: int
    time: str

    @property
    def data(self) -> Json:
        return {"backupFileName": self.name, "version": self.version, "backupTime": self.time}


class Backups:
    """The backups of one session."""

    def __init__(self, folder: Path, cwd: Path, known: Mapping[str, SavedFile] | None = None) -> None:
        self.folder = folder
        self.cwd = cwd
        self._saved: dict[str, SavedFile] = dict(known or {})
        self.owner = ""
        self._time = ""
        self._fresh: set[str] = set()  # tracked since the prompt

    def at_prompt(self, prompt: str, time: str) -> Json:
        """The line that stands before a prompt; what changed since its last backup is saved anew."""
        self.owner, self._time, self._fresh = prompt, time, set()
        for key in list(self._saved):
            self._save(key, time)
        return self._line(prompt)

    def before_change(self, path: Path, line: str, time: str) -> Json | None:
        """The line that stands before the first change of a file since the prompt; `line` is that of the call."""
        key = self._key(path)
        if not self.owner or key in self._fresh or key in self._saved:
            return None
        self._fresh.add(key)
        return self._line(line) if self._save(key, time) else None

    def was_changed(self, states: Mapping[str, State], line: str, time: str) -> Json | None:
        """The line behind a call that changed files which nobody tracked: as each was before it."""
        new = {key: state for key, state in states.items() if key not in self._saved}
        for key, state in new.items():
            self._saved[key] = self._keep(self.cwd / key, state, 1, time)
        return self._line(line) if self.owner and new else None

    def _line(self, message: str) -> Json:
        backups = {key: saved.data for key, saved in self._saved.items()}
        return journal_lines.snapshot(message, self.owner, backups, self._time)

    def _key(self, path: Path) -> str:
        return str(path.relative_to(self.cwd)) if path.is_relative_to(self.cwd) else str(path)

    def _save(self, key: str, time: str) -> bool:
        """Whether the file could be saved; one that is as it was needs no new backup."""
        path = self.cwd / key
        before = self._saved.get(key)
        version = before.version + 1 if before else 1
        try:
            state = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) if path.exists() else None
        except OSError:  # a folder, or nothing that may be read: there is nothing that could be put back
            return False
        if before is not None and state == self._kept(before):
            return True
        if state is not None and len(state[0]) > LARGEST:
            return False
        self._saved[key] = self._keep(path, state, version, time)
        return True

    def _keep(self, path: Path, state: State, version: int, time: str) -> SavedFile:
        """Save a state. Whoever puts it back takes the mode from the backup, and takes a file for unchanged that is older
        than it: so it is never newer than the file."""
        if state is None:
            return SavedFile(None, version, time)
        stem = sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        while (self.folder / f"{stem}@v{version}").exists():  # saved by one who died before he could say so
            version += 1
        data, mode = state
        changed = path.stat().st_mtime_ns if path.exists() else None
        saved = create_exactly(self.folder / f"{stem}@v{version}", (data,), mtime_ns=changed)
        saved.chmod(mode)
        return SavedFile(saved.name, version, time)

    def _kept(self, saved: SavedFile) -> State:
        if saved.name is None:
            return None
        try:
            path = self.folder / saved.name
            return path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
        except OSError:
            return None
