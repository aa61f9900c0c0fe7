"""Completion: what could stand where the person is typing. Commands behind a slash, files behind an at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.chat.config.repository import list_files

MOST = 50  # offers
SHOWN = 8  # at once
MOST_FILES = 20_000
PATIENCE = 5.0  # seconds for git to list them
_WORD = re.compile(r"(?:^|(?<=[\s(\[]))@((?:[^\s\\\"]|\\ )*)$")
_SLASH = re.compile(r"/([\w.:-]*)$")
_LEFT_OUT = frozenset({".git", "node_modules", "__pycache__", ".venv", ".hg", ".svn", ".mypy_cache", ".ruff_cache"})


@dataclass(frozen=True, slots=True)
class Offer:
    """One completion: it stands from `start` up to the cursor."""

    start: int
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class NamedCommand:
    """A command by its name, with what it does."""

    name: str
    about: str
    hint: str = ""  # for its arguments


def offers(before: str, commands: Sequence[NamedCommand], files: Sequence[str]) -> list[Offer]:
    """What could be meant by the text before the cursor, the likeliest first."""
    if found := _SLASH.fullmatch(before):
        chosen = _ranked(found[1], [command.name for command in commands], in_order=True)
        known = {command.name: command for command in commands}
        return [Offer(0, f"/{name}", _about(known[name])) for name in chosen]
    if found := _WORD.search(before):
        wanted = found[1].replace("\\ ", " ")
        return [Offer(found.start(1) - 1, f"@{_escaped(name)}") for name in _ranked(wanted, files)]
    return []


def wants_files(before: str) -> bool:
    return _WORD.search(before) is not None


def _about(command: NamedCommand) -> str:
    return f"{command.hint}  {command.about}".strip() if command.hint else command.about


def _escaped(name: str) -> str:
    return name.replace(" ", "\\ ")


def _ranked(wanted: str, names: Iterable[str], in_order: bool = False) -> list[str]:
    """The names that hold the letters in their order: those that begin with them first, then those whose last part does;
    of two alike the shorter one, or the one that is named before the other."""
    asked = wanted.casefold()
    found: list[tuple[int, int, str]] = []
    for place, name in enumerate(names):
        if (rank := _rank(asked, name.casefold())) is not None:
            found.append((rank, place if in_order else len(name), name))
    return [name for _, _, name in sorted(found)[:MOST]]


def _rank(asked: str, given: str) -> int | None:
    if given.startswith(asked):
        return 0
    last = given.rstrip("/").rpartition("/")[2]
    if last.startswith(asked):
        return 1
    if asked in given:
        return 2 if asked in last else 3
    at = 0
    for letter in asked:
        at = given.find(letter, at) + 1
        if not at:
            return None
    return 4


def project_files(folder: Path) -> list[str]:
    """The files of a folder and the folders in it, relative: as git lists them, else as they are found."""
    known = list_files(folder, PATIENCE)
    files = known[:MOST_FILES] if known is not None else _by_walk(folder)
    folders = dict.fromkeys(f"{parent}/" for file in files for parent in _parents(file))
    return [*folders, *files]


def _parents(file: str) -> Iterable[str]:
    while file := file.rpartition("/")[0]:
        yield file


def _by_walk(folder: Path) -> list[str]:
    found: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        near = os.path.relpath(place, folder)
        found += [name if near == "." else f"{near}/{name}" for name in sorted(files)]
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]
