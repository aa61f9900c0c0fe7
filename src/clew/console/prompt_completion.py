"""Complete the text before the cursor: commands after a slash, files after an at sign."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from clew.chat.config.repository import list_files

MAX_COMPLETIONS = 50  # offers
MAX_VISIBLE = 8  # completions on the screen
MAX_FILES = 20_000
GIT_TIMEOUT = 5.0  # seconds
_WORD = re.compile(r"(?:^|(?<=[\s(\[]))@((?:[^\s\\\"]|\\ )*)$")
_SLASH = re.compile(r"/([\w.:-]*)$")
_SKIPPED_FOLDERS = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", ".hg", ".svn", ".mypy_cache", ".ruff_cache"}
)


class Completion(Struct, frozen=True):
    """One completion. Its text replaces the input from `start` up to the cursor."""

    start: int
    text: str
    about: str = ""
    hint: str = ""  # for the arguments of a command; not inserted


class NamedCommand(Struct, frozen=True):
    """A command with its name and description."""

    name: str
    about: str
    hint: str = ""  # for its arguments


def find_completions(before: str, commands: Sequence[NamedCommand], files: Sequence[str]) -> list[Completion]:
    """Return the completions of the text before the cursor, best first."""
    if match := _SLASH.fullmatch(before):
        names = _rank_names(match[1], [command.name for command in commands], in_order=True)
        known = {command.name: command for command in commands}
        return [Completion(0, f"/{name}", known[name].about, known[name].hint) for name in names]
    if match := _WORD.search(before):
        typed = match[1].replace("\\ ", " ")
        return [Completion(match.start(1) - 1, f"@{_escape_spaces(name)}") for name in _rank_names(typed, files)]
    return []


def is_file_mention(before: str) -> bool:
    return _WORD.search(before) is not None


def _escape_spaces(name: str) -> str:
    return name.replace(" ", "\\ ")


def _rank_names(typed: str, names: Iterable[str], in_order: bool = False) -> list[str]:
    """Return the names that contain the typed letters in order, best first; see `_rank`.

    Of two equally good names, the shorter one comes first, or with `in_order` the one that is listed first.
    """
    letters = typed.casefold()
    ranked: list[tuple[int, int, str]] = []
    for position, name in enumerate(names):
        if (rank := _rank(letters, name.casefold())) is not None:
            ranked.append((rank, position if in_order else len(name), name))
    return [name for _, _, name in sorted(ranked)[:MAX_COMPLETIONS]]


def _rank(letters: str, name: str) -> int | None:
    """Return how well a name matches, 0 is best: prefix, prefix of the last path part, substring of it, substring,
    letters.
    """
    if name.startswith(letters):
        return 0
    last = name.rstrip("/").rpartition("/")[2]
    if last.startswith(letters):
        return 1
    if letters in name:
        return 2 if letters in last else 3
    at = 0
    for letter in letters:
        at = name.find(letter, at) + 1
        if not at:
            return None
    return 4


def project_files(folder: Path) -> list[str]:
    """Return the files and folders of a project, relative: as git lists them, otherwise by a walk."""
    known = list_files(folder, GIT_TIMEOUT)
    files = known[:MAX_FILES] if known is not None else _walk_files(folder)
    folders = dict.fromkeys(f"{parent}/" for file in files for parent in _parents(file))
    return [*folders, *files]


def _parents(file: str) -> Iterable[str]:
    while file := file.rpartition("/")[0]:
        yield file


def _walk_files(folder: Path) -> list[str]:
    names: list[str] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        relative = os.path.relpath(parent, folder)
        names += [name if relative == "." else f"{relative}/{name}" for name in sorted(files)]
        if len(names) >= MAX_FILES:
            break
    return names[:MAX_FILES]
