"""The state from which a conversation starts or continues."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from msgspec import Struct, field

from clew.chat.config.permission_mode import Mode
from clew.chat.store.file_snapshots import SavedFile
from clew.chat.tools.tool import ReadFile
from clew.wire.json_codec import Json


class SessionState(Struct, frozen=True):
    """What a session file says about its conversation. Only `path` is set for a new session."""

    path: Path
    messages: list[Json] = field(default_factory=list)
    closing: list[Json] = field(default_factory=list)  # lines that an unfinished turn still needs
    leaf: str | None = None
    last: datetime | None = None  # the newest timestamp
    model: str = ""
    mode: Mode | None = None
    cwd: Path | None = None
    name: str = ""
    todos: list[Json] = field(default_factory=list)
    seen: dict[Path, ReadFile] = field(default_factory=dict)
    backups: dict[str, SavedFile] = field(default_factory=dict)
    pull_requests: set[str] = field(default_factory=set)
    known_tokens: int = 0
    known_messages: int = 0
    largest_requests: dict[str, int] = field(default_factory=dict)  # by model: most tokens of a request with its reply
    missed: list[tuple[str, str]] = field(default_factory=list)  # tasks whose end was not reported, with the reports

    @property
    def session_id(self) -> str:
        return self.path.stem
