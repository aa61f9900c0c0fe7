"""Save each file before it is changed, so that the changes of a prompt can be undone.

The contents are saved as `file-history/<session>/<hash of the path>@v<n>`. A tracked file without a backup did not
exist.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from clew.chat.events import Emit
from clew.chat.store import journal_lines
from clew.chat.tools.tool import Tool
from clew.wire.json_codec import Json
from clew.wire.session_writer import create_exactly

State = tuple[bytes, int] | None  # content and mode of a file; None if it does not exist
MAX_SAVED_BYTES = 64 << 20  # bytes; a larger file is not saved


class CallWatch(Protocol):
    """Records files that calls change without naming them, such as shell commands.

    `clew.chat.rewind.watch_files.FileWatch` implements it.
    """

    def around(self, tool: Tool, call_input: Json, line: str, emit: Emit, /) -> AbstractAsyncContextManager[None]:
        """Compare the project before and after a call."""
        ...

    async def settle(self, emit: Emit, /) -> None:
        """Record what background commands have changed so far."""
        ...

    def before_change(self, path: Path, line: str, /) -> None:
        """Record that a call is about to create a file."""
        ...


class SavedFile(Struct, frozen=True):
    """The newest backup of a file."""

    name: str | None
    version: int
    time: str

    @property
    def data(self) -> Json:
        return {"backupFileName": self.name, "version": self.version, "backupTime": self.time}


class Backups:
    """The saved files of one session."""

    def __init__(self, folder: Path, cwd: Path, known: Mapping[str, SavedFile] | None = None) -> None:
        self.folder = folder
        self.cwd = cwd
        self._saved: dict[str, SavedFile] = dict(known or {})
        self.owner = ""
        self._time = ""
        self._tracked_since_prompt: set[str] = set()  # files first saved after the current prompt

    def at_prompt(self, prompt: str, time: str) -> Json:
        """Save tracked files that changed since their last backup, and return the snapshot line that precedes a
        prompt.
        """
        self.owner, self._time, self._tracked_since_prompt = prompt, time, set()
        for key in list(self._saved):
            self._save(key, time)
        return self._line(prompt)

    def before_change(self, path: Path, line: str, time: str) -> Json | None:
        """Save a file before its first change since the prompt, and return the snapshot update; `line` is the uuid
        of the call's line. None if it is saved already.
        """
        key = self._key(path)
        if not self.owner or key in self._tracked_since_prompt or key in self._saved:
            return None
        self._tracked_since_prompt.add(key)
        return self._line(line) if self._save(key, time) else None

    def was_changed(self, states: Mapping[str, State], line: str, time: str) -> Json | None:
        """Record the earlier states of files that a call changed without tracking them, and return the snapshot
        update.
        """
        new = {key: state for key, state in states.items() if key not in self._saved}
        for key, state in new.items():
            self._saved[key] = self._write_backup(self.cwd / key, state, 1, time)
        return self._line(line) if self.owner and new else None

    def _line(self, message: str) -> Json:
        backups = {key: saved.data for key, saved in self._saved.items()}
        return journal_lines.snapshot(message, self.owner, backups, self._time)

    def _key(self, path: Path) -> str:
        return str(path.relative_to(self.cwd)) if path.is_relative_to(self.cwd) else str(path)

    def _save(self, key: str, time: str) -> bool:
        """Save a file if it changed since its last backup. Return False if it cannot be saved."""
        path = self.cwd / key
        before = self._saved.get(key)
        version = before.version + 1 if before else 1
        try:
            state = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) if path.exists() else None
        except OSError:  # a folder or unreadable: nothing could be restored
            return False
        if before is not None and state == self._read_backup(before):
            return True
        if state is not None and len(state[0]) > MAX_SAVED_BYTES:
            return False
        self._saved[key] = self._write_backup(path, state, version, time)
        return True

    def _write_backup(self, path: Path, state: State, version: int, time: str) -> SavedFile:
        """Write a backup. A restore copies its mode and treats a file older than the backup as unchanged, so the
        backup never gets a later modification time than the file.
        """
        if state is None:
            return SavedFile(None, version, time)
        stem = sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        while (
            self.folder / f"{stem}@v{version}"
        ).exists():  # written by a process that ended before it recorded the backup
            version += 1
        data, mode = state
        changed = path.stat().st_mtime_ns if path.exists() else None
        saved = create_exactly(self.folder / f"{stem}@v{version}", (data,), mtime_ns=changed)
        saved.chmod(mode)
        return SavedFile(saved.name, version, time)

    def _read_backup(self, saved: SavedFile) -> State:
        if saved.name is None:
            return None
        try:
            path = self.folder / saved.name
            return path.read_bytes(), stat.S_IMODE(path.stat().st_mode)
        except OSError:
            return None
