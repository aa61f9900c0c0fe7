"""Memory: what the files named CLAUDE.md tell the model, from the machine's down to the folder's, with their imports.

A project's files cannot carry anything into the prompt from outside the project, unless its folder is trusted, and keys
and logins never.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from clew.chat.config.frontmatter import list_of, split_header
from clew.chat.config.settings import managed_folder
from clew.chat.input.file_mentions import mentions
from clew.chat.permission.path_scope import Anchors, ResolvedPath, is_inside, is_secret, matches_pattern

Scope = Literal["managed", "user", "project", "local"]
HOPS = 4  # of imports
LONGEST = 40_000  # characters of one file; what is longer is cut, and says so
_LARGEST = 1 << 20
_TITLES: dict[Scope, str] = {
    "managed": "instructions of this machine's administrator",
    "user": "the user's own instructions for all projects",
    "project": "instructions of the project, checked in with it",
    "local": "the user's own instructions for this project",
}


class Memory(Struct, frozen=True):
    """One file. `paths` are patterns: if there are any, it counts only once a file that they cover is read."""

    path: Path
    text: str
    scope: Scope
    importer: Path | None = None
    paths: tuple[str, ...] = ()


class Memories(Struct):
    """The memory of a session. It grows when files below the project are read."""

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
        """All that counts from the beginning, in the order in which it is told."""
        found = self._read(self.managed / "CLAUDE.md", "managed", self.managed)
        if "user" in self.sources:
            found += self._read(self.home / "CLAUDE.md", "user", self.home)
            found += self._rules(self.home / "rules", "user", self.home)
        for folder in self._ancestors():
            found += self._of_folder(folder)
        return [memory for memory in found if not memory.paths]

    def near(self, file: Path) -> list[Memory]:
        """What counts as well, now that a file was read: of the folders down to it, and of rules for such files."""
        place = ResolvedPath(Path(os.path.normpath(file)), (Path(os.path.realpath(file)),))
        root = Path(os.path.realpath(self.project))
        found: list[Memory] = []
        if is_inside(place.real, (root,)):
            between = [f for f in reversed(place.real.parents) if root in f.parents]
            for folder in between:
                found += self._of_folder(folder)
        anchors = Anchors(root, self.user_home, root)
        waiting = [
            m for m in self.known if m.paths and any(matches_pattern(p, place, anchors, widely=True) for p in m.paths)
        ]
        for memory in waiting:
            self.known.remove(memory)
            counting = Memory(memory.path, memory.text, memory.scope, memory.importer)
            self.known.append(counting)
            found.append(counting)
        return [memory for memory in found if not memory.paths]

    def _ancestors(self) -> list[Path]:
        """The project's folder and those above it, from the top; a home folder and what is above it do not count."""
        folders = [self.project, *self.project.parents]
        stop = next((i for i, folder in enumerate(folders) if i and folder == self.user_home), len(folders) - 1)
        return list(reversed(folders[: max(stop, 1)]))

    def _of_folder(self, folder: Path) -> list[Memory]:
        found: list[Memory] = []
        if "project" in self.sources:
            found += self._read(folder / "CLAUDE.md", "project", folder)
            if folder / ".claude" != self.home:
                found += self._read(folder / ".claude" / "CLAUDE.md", "project", folder)
            if self.reads_agents_md and not found:
                found += self._read(folder / "AGENTS.md", "project", folder)
            if folder / ".claude" != self.home:
                found += self._rules(folder / ".claude" / "rules", "project", folder)
        if "local" in self.sources:
            found += self._read(folder / "CLAUDE.local.md", "local", folder)
        return found

    def _rules(self, folder: Path, scope: Scope, within: Path) -> list[Memory]:
        try:
            files = sorted(path for path in folder.rglob("*.md") if path.is_file())
        except OSError:
            return []
        return [memory for path in files for memory in self._read(path, scope, within)]

    def _read(self, path: Path, scope: Scope, within: Path) -> list[Memory]:
        """A file and what it imports, as far as they are not known yet. Untrusted, it leads nowhere outside `within`."""
        found: list[Memory] = []
        waiting: list[tuple[Path, Path | None, tuple[str, ...], int]] = [(path, None, (), 0)]
        while waiting:
            named, importer, paths, hops = waiting.pop(0)
            real = Path(os.path.realpath(named))
            body = self._text(named, real, scope, within)
            if body is None:
                continue
            if importer is None and "rules" in real.parts:
                fields, body = split_header(body)
                paths = list_of(fields, "paths")
            memory = Memory(real, _cut(body.strip()), scope, importer, paths)
            self.known.append(memory)
            found.append(memory)
            imported = mentions(body) if hops < HOPS else ()
            waiting[:0] = [(self._target(mentioned, real), real, paths, hops + 1) for mentioned in imported]
        return found

    def _text(self, named: Path, real: Path, scope: Scope, within: Path) -> str | None:
        if any(memory.path == real for memory in self.known) or not real.is_file():
            return None
        if not self._may_tell(named, real, scope, within):
            self.notices.append(f"{named} leads to {real}, and is not read for the model.")
            return None
        if real.stat().st_size > _LARGEST:
            self.notices.append(f"{named} is too large to be remembered.")
            return None
        try:
            return real.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            self.notices.append(f"{named} cannot be read: {error}.")
            return None

    def _target(self, mentioned: str, importer: Path) -> Path:
        return self.user_home / mentioned[2:] if mentioned.startswith("~/") else importer.parent / mentioned

    def _may_tell(self, named: Path, real: Path, scope: Scope, within: Path) -> bool:
        if is_secret(ResolvedPath(Path(os.path.normpath(named)), (real,))):
            return False
        if scope in ("managed", "user"):
            return True
        root, folder = Path(os.path.realpath(self.project)), Path(os.path.realpath(within))
        if root in folder.parents:  # it may have been unpacked there: trust in the project does not lead it outside
            return is_inside(real, (folder, *((root,) if self.trusted else ())))
        return self.trusted or is_inside(real, (folder,))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + f"\n[cut: {len(text) - LONGEST:,} more characters]"


def tell(memories: Sequence[Memory]) -> str:
    """The memories as the model is told of them; empty if there are none."""
    parts = [f"## {memory.path} ({_TITLES[memory.scope]})\n\n{memory.text}" for memory in memories if memory.text]
    return (
        "# Instructions from files\n\nThe user expects you to follow these.\n\n" + "\n\n".join(parts) if parts else ""
    )
