"""Load memory files (CLAUDE.md) of the machine, the user, the project and its folders, with their imports.

Files of a project cannot import anything from outside the project unless its folder is trusted, and never
credentials.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from clew.chat.config.frontmatter import list_field, split_header
from clew.chat.config.settings import managed_folder
from clew.chat.input.file_mentions import find_mentions
from clew.chat.permission.path_scope import Anchors, ResolvedPath, is_inside, is_secret, matches_pattern
from clew.wire.json_codec import Json

Scope = Literal["managed", "user", "project", "local"]
MAX_IMPORT_DEPTH = 4  # imports of imports
MAX_CHARACTERS = 40_000  # characters of one file; a longer one is truncated with a note
_MAX_BYTES = 1 << 20
_TITLES: dict[Scope, str] = {
    "managed": "instructions of this machine's administrator",
    "user": "the user's own instructions for all projects",
    "project": "instructions of the project, checked in with it",
    "local": "the user's own instructions for this project",
}


class Memory(Struct, frozen=True):
    """One file. With `paths` (patterns) it is used only after a matching file was read."""

    path: Path
    text: str
    scope: Scope
    importer: Path | None = None
    paths: tuple[str, ...] = ()


class Memories(Struct):
    """The memory files of a session. More are loaded when files below the project are read."""

    project: Path
    home: Path  # the folder of Claude Code
    user_home: Path
    trusted: bool = False
    sources: Sequence[str] = ("user", "project", "local")
    reads_agents_md: bool = False  # AGENTS.md where there is no CLAUDE.md
    managed: Path = field(default_factory=managed_folder)
    known: list[Memory] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def first(self) -> list[Memory]:
        """Return the memory files to send at the start, in order."""
        memories = self._read(self.managed / "CLAUDE.md", "managed", self.managed)
        if "user" in self.sources:
            memories += self._read(self.home / "CLAUDE.md", "user", self.home)
            memories += self._rules(self.home / "rules", "user", self.home)
        for folder in self._ancestors():
            memories += self._read_folder(folder)
        return [memory for memory in memories if not memory.paths]

    def near(self, file: Path) -> list[Memory]:
        """Return the further memory files to send after a file was read: those of the folders above it, and rules that
        match it.
        """
        resolved = ResolvedPath(Path(os.path.normpath(file)), (Path(os.path.realpath(file)),))
        root = Path(os.path.realpath(self.project))
        memories: list[Memory] = []
        if is_inside(resolved.real, (root,)):
            between = [f for f in reversed(resolved.real.parents) if root in f.parents]
            for folder in between:
                memories += self._read_folder(folder)
        anchors = Anchors(root, self.user_home, root)
        waiting = [
            m
            for m in self.known
            if m.paths and any(matches_pattern(p, resolved, anchors, widely=True) for p in m.paths)
        ]
        for memory in waiting:
            self.known.remove(memory)
            activated = Memory(memory.path, memory.text, memory.scope, memory.importer)
            self.known.append(activated)
            memories.append(activated)
        return [memory for memory in memories if not memory.paths]

    def _ancestors(self) -> list[Path]:
        """Return the project folder and its parents, topmost first, without the home folder and folders above it."""
        folders = [self.project, *self.project.parents]
        stop = next((i for i, folder in enumerate(folders) if i and folder == self.user_home), len(folders) - 1)
        return list(reversed(folders[: max(stop, 1)]))

    def _read_folder(self, folder: Path) -> list[Memory]:
        memories: list[Memory] = []
        if "project" in self.sources:
            memories += self._read(folder / "CLAUDE.md", "project", folder)
            if folder / ".claude" != self.home:
                memories += self._read(folder / ".claude" / "CLAUDE.md", "project", folder)
            if self.reads_agents_md and not memories:
                memories += self._read(folder / "AGENTS.md", "project", folder)
            if folder / ".claude" != self.home:
                memories += self._rules(folder / ".claude" / "rules", "project", folder)
        if "local" in self.sources:
            memories += self._read(folder / "CLAUDE.local.md", "local", folder)
        return memories

    def _rules(self, folder: Path, scope: Scope, within: Path) -> list[Memory]:
        try:
            files = sorted(path for path in folder.rglob("*.md") if path.is_file())
        except OSError:
            return []
        return [memory for path in files for memory in self._read(path, scope, within)]

    def _read(self, path: Path, scope: Scope, within: Path) -> list[Memory]:
        """Read a file and its imports, except those already loaded. An untrusted file imports nothing outside
        `within`.
        """
        memories: list[Memory] = []
        # Files still to read: the path, the file that imports it, the patterns of the rule file it belongs to, and
        # its import depth. Imports are put in front, so that they follow the file that names them.
        waiting: list[tuple[Path, Path | None, tuple[str, ...], int]] = [(path, None, (), 0)]
        while waiting:
            named, importer, paths, hops = waiting.pop(0)
            real = Path(os.path.realpath(named))
            body = self._text(named, real, scope, within)
            if body is None:
                continue
            if importer is None and "rules" in real.parts:
                fields, body = split_header(body)
                paths = list_field(fields, "paths")
            memory = Memory(real, _cut(body.strip()), scope, importer, paths)
            self.known.append(memory)
            memories.append(memory)
            imported = find_mentions(body) if hops < MAX_IMPORT_DEPTH else ()
            waiting[:0] = [(self._target(mentioned, real), real, paths, hops + 1) for mentioned in imported]
        return memories

    def _text(self, named: Path, real: Path, scope: Scope, within: Path) -> str | None:
        if any(memory.path == real for memory in self.known) or not real.is_file():
            return None
        if not self._may_read(named, real, scope, within):
            self.notices.append(f"{named} leads to {real}, which may not be sent to the model; it was skipped.")
            return None
        if real.stat().st_size > _MAX_BYTES:
            self.notices.append(f"{named} is too large for a memory file; it was skipped.")
            return None
        try:
            return real.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.notices.append(f"{named} cannot be read: {error}.")
            return None

    def _target(self, mentioned: str, importer: Path) -> Path:
        return self.user_home / mentioned[2:] if mentioned.startswith("~/") else importer.parent / mentioned

    def _may_read(self, named: Path, real: Path, scope: Scope, within: Path) -> bool:
        if is_secret(ResolvedPath(Path(os.path.normpath(named)), (real,))):
            return False
        if scope in ("managed", "user"):
            return True
        root, folder = Path(os.path.realpath(self.project)), Path(os.path.realpath(within))
        # A nested folder may be third-party code: trust in the project does not let it read outside the project.
        # Example: vendor/lib/CLAUDE.md with "@../../../notes.md" is refused, "@../../README.md" needs trust.
        if root in folder.parents:
            return is_inside(real, (folder, *((root,) if self.trusted else ())))
        return self.trusted or is_inside(real, (folder,))


def _cut(text: str) -> str:
    return (
        text
        if len(text) <= MAX_CHARACTERS
        else text[:MAX_CHARACTERS] + f"\n[cut: {len(text) - MAX_CHARACTERS:,} more characters]"
    )


def describe_loading(memories: Sequence[Memory], trigger: Path | None = None) -> list[Json]:
    """Return what hooks are told about memory files that were loaded: at the start, or because a file was read."""
    return [
        {
            "file_path": str(memory.path),
            "memory_type": memory.scope.capitalize(),
            "load_reason": "include" if memory.importer else "nested_traversal" if trigger else "session_start",
            **({"trigger_file_path": str(trigger)} if trigger else {}),
            **({"parent_file_path": str(memory.importer)} if memory.importer else {}),
        }
        for memory in memories
    ]


def format_memories(memories: Sequence[Memory]) -> str:
    """Return the memory files as text for the model; empty if there are none."""
    parts = [f"## {memory.path} ({_TITLES[memory.scope]})\n\n{memory.text}" for memory in memories if memory.text]
    return (
        "# Instructions from files\n\nThe user expects you to follow these.\n\n" + "\n\n".join(parts) if parts else ""
    )
