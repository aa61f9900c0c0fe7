"""Permissions: decides calls by the rules, the mode and the places that they touch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clew.chat.permission.decision import Decision, Json, Mode
from clew.chat.setting import Scope, Settings


class Permissions:
    """What may be done in one session. Nothing but the person's settings and answers changes it."""

    def __init__(self, settings: Settings, project: Path, home: Path, roots: Sequence[Path] = ()) -> None:
        """`home` is the person's home folder (for `~`); `roots` are further working folders (--add-dir)."""
        raise NotImplementedError

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        """Whether a call may be made. It reads links of the file system and nothing else."""
        raise NotImplementedError

    def remember(self, rule: str, scope: Scope) -> None:
        """Allow by this rule from now on: in this session, or also in the settings file of the scope."""
        raise NotImplementedError

    def apply(self, update: Json) -> None:
        """Take over one of the `updatedPermissions` that an SDK's callback answers with."""
        raise NotImplementedError
