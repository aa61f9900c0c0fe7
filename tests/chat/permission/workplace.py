"""A folder to work in: a project with files, links that lead out of it, and a repository that is not its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clew.chat.config.permission_mode import Mode
from clew.chat.config.settings import Settings, SettingsSource
from clew.chat.permission.decide import Permissions
from clew.chat.permission.decision import Decision
from clew.wire.json_codec import Json


@dataclass
class Workplace:
    root: Path
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    ask: Sequence[str] = ()
    mode: Mode = "default"
    permissions: Permissions = field(init=False)

    def __post_init__(self) -> None:
        self.project = self.root / "project"
        self.home = self.root / "home"
        for folder in ("src", "nested/.git", ".git/hooks", ".claude", ".ssh"):
            (self.project / folder).mkdir(parents=True, exist_ok=True)
        for place in (self.home / ".ssh", self.root / "elsewhere"):
            place.mkdir(parents=True, exist_ok=True)
        for name in ("x", "src/a.py", "src/b.py", ".ssh/id_ed25519"):
            (self.project / name).write_text("text\n")
        for name in ("outside", "elsewhere/secret", "elsewhere/file"):
            (self.root / name).write_text("secret\n")
        for name, target in (("link", "../elsewhere"), ("linked", "../outside")):
            if not (self.project / name).is_symlink():
                (self.project / name).symlink_to(target)
        rules: Json = {"allow": list(self.allow), "deny": list(self.deny), "ask": list(self.ask)}
        settings = Settings((SettingsSource("user", self.home / ".claude", {"permissions": rules}),))
        self.permissions = Permissions(settings, self.project, self.home)

    def bash(self, command: str, mode: Mode | None = None) -> Decision:
        return self.call("Bash", command=command, mode=mode)

    def call(self, tool: str, mode: Mode | None = None, cwd: Path | None = None, **input: object) -> Decision:
        return self.permissions.decide(tool, input, cwd or self.project, mode or self.mode)
