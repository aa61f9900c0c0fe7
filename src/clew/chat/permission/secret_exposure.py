"""Exposure: whether a command that reads many files would show one that is asked about when it is read by itself."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from clew.chat.config.repository import git_surroundings
from clew.chat.permission import git_commands, git_config
from clew.chat.permission.command_options import Words
from clew.chat.permission.permission_context import PermissionContext, PermissionVerdict
from clew.system.environment import child_environment
from clew.system.subprocesses import find_program

MOST_FILES = 20_000
_SECONDS = 3.0
_UNKNOWN = PermissionVerdict("ask", "it reads more files than can be checked for keys and logins")
_RANGE = re.compile(r"\.{2,3}")


def in_folders(paths: Sequence[str], skipped: frozenset[str], ground: PermissionContext) -> PermissionVerdict | None:
    """About the files at and below some paths, as `grep -r` reads them: without following links."""
    starts = [os.path.realpath(os.path.join(ground.cwd, path)) for path in paths]
    files = list(islice((file for start in starts for file in _files(start, skipped)), MOST_FILES + 1))
    return _UNKNOWN if len(files) > MOST_FILES else _first_guarded(files, ground)


def _first_guarded(files: Iterable[str], ground: PermissionContext) -> PermissionVerdict | None:
    """The question about the first file that is guarded; a rule that denies it does not deny all the others."""
    found = next(filter(None, map(ground.guard(), files)), None)
    return replace(found, kind="ask", reason=f"it would read {found.path}: {found.reason}") if found else None


def _files(path: str, skipped: frozenset[str]) -> Iterator[str]:
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:  # a file, or a folder that cannot be read
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in skipped:
                    waiting.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


def in_search(paths: Sequence[str], listing: Words, ground: PermissionContext) -> PermissionVerdict | None:
    """About the files that ripgrep searches; it is asked which those are, since it obeys the ignore files it finds."""
    program = find_program("rg")
    if program is None:
        return in_folders(paths, frozenset(), ground)
    words = [program, "--no-config", "--files", "--null", "--no-messages", *listing, "--", *paths]
    names = _output(words, ground.cwd, child_environment())
    if names is None or len(names) > MOST_FILES:
        return _UNKNOWN
    return _first_guarded((os.path.realpath(ground.cwd / name) for name in names), ground)


def in_repository(query: git_commands.GitQuery, ground: PermissionContext) -> PermissionVerdict | None:
    """About the files whose content a git command shows, present or past."""
    top = git_config.find(ground.cwd)
    for word in query.paths:
        for name in git_commands.named_files(word):
            for folder in dict.fromkeys((ground.cwd, top or ground.cwd)):
                verdict = ground.guarded(os.path.join(folder, name))
                if verdict:
                    return verdict
    if top is None or query.name not in ("diff", "log", "show", "cat-file"):
        return None
    can_show_any = query.name in ("diff", "show") or query.shows_content
    if can_show_any and query.name != "log" and _has_nameless_file(query.paths, ground.cwd):
        return PermissionVerdict("ask", "it may show a file whose name is not known")
    if not query.shows_content or not query.listing:
        return None
    names = _output(["git", "--no-pager", *query.listing], ground.cwd, git_surroundings())
    if names is None or len(names) > MOST_FILES:
        return PermissionVerdict("ask", "it is not known which files it shows")
    return _first_guarded((os.path.normpath(top / name.lstrip("\n")) for name in names), ground)


def _has_nameless_file(words: Words, cwd: Path) -> bool:
    """Whether a word is the id of a file's content, which says nothing about the file's name."""
    asked = [part.lstrip("^") for word in words if ":" not in word for part in _RANGE.split(word)]
    if not asked:
        return False
    said = "".join(f"{form}\n" for word in asked for form in (word, word + "^{}")).encode("utf-8", "surrogateescape")
    kinds = _output(["git", "cat-file", "--batch-check=%(objecttype)"], cwd, git_surroundings(), said, b"\n")
    return kinds is None or "blob" in kinds


def _output(
    words: list[str], cwd: Path, variables: dict[str, str], said: bytes = b"", end: bytes = b"\0"
) -> list[str] | None:
    """What a program prints, in parts; None if it fails or is not done in time. That git and ripgrep find nothing is no
    failure."""
    program = find_program(words[0])
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *words[1:]], cwd=cwd, env=variables, input=said, capture_output=True, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if not 0 <= done.returncode <= 2:
        return None
    return [os.fsdecode(part) for part in done.stdout.split(end) if part]
