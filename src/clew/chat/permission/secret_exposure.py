"""Check whether a command that reads many files would show one that prompts the user when read alone."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from clew.chat.config.repository import git_environment
from clew.chat.permission import git_commands, git_config
from clew.chat.permission.command_options import Words
from clew.chat.permission.permission_context import PermissionContext, PermissionVerdict
from clew.system.environment import child_environment
from clew.system.subprocesses import find_program

MAX_FILES = 20_000
_TIMEOUT = 3.0
_TOO_MANY_FILES = PermissionVerdict("ask", "it reads more files than can be checked for keys and passwords")
_RANGE = re.compile(r"\.{2,3}")


def check_folders(
    paths: Sequence[str], skipped: frozenset[str], context: PermissionContext
) -> PermissionVerdict | None:
    """Check the files at and below these paths, as `grep -r` reads them: without following links."""
    start_paths = [os.path.realpath(os.path.join(context.cwd, path)) for path in paths]
    files = list(islice((file for start in start_paths for file in _walk_files(start, skipped)), MAX_FILES + 1))
    return _TOO_MANY_FILES if len(files) > MAX_FILES else _first_restricted(files, context)


def _first_restricted(files: Iterable[str], context: PermissionContext) -> PermissionVerdict | None:
    """Return an ask verdict for the first restricted file. A deny rule for one file does not deny all others."""
    verdict = next(filter(None, map(context.read_restriction_checker(), files)), None)
    return replace(verdict, kind="ask", reason=f"it would read {verdict.path}: {verdict.reason}") if verdict else None


def _walk_files(path: str, skipped: frozenset[str]) -> Iterator[str]:
    pending = [path]
    while pending:
        folder = pending.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:  # a file, or a folder that cannot be read
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in skipped:
                    pending.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


def check_search(paths: Sequence[str], listing: Words, context: PermissionContext) -> PermissionVerdict | None:
    """Check the files that ripgrep would search. `rg --files` lists them, because rg obeys the ignore files it
    finds.
    """
    program = find_program("rg")
    if program is None:
        return check_folders(paths, frozenset(), context)
    command = [program, "--no-config", "--files", "--null", "--no-messages", *listing, "--", *paths]
    names = _run_and_split(command, context.cwd, child_environment())
    if names is None or len(names) > MAX_FILES:
        return _TOO_MANY_FILES
    return _first_restricted((os.path.realpath(context.cwd / name) for name in names), context)


def check_repository(query: git_commands.GitQuery, context: PermissionContext) -> PermissionVerdict | None:
    """Check the files whose present or past content a git command shows."""
    top = git_config.find_repository(context.cwd)
    for word in query.paths:
        for name in git_commands.possible_files(word):
            for folder in dict.fromkeys((context.cwd, top or context.cwd)):
                verdict = context.read_restriction(os.path.join(folder, name))
                if verdict:
                    return verdict
    if top is None or query.name not in ("diff", "log", "show", "cat-file"):
        return None
    can_show_any = query.name in ("diff", "show") or query.shows_content
    if can_show_any and query.name != "log" and _names_blob(query.paths, context.cwd):
        return PermissionVerdict("ask", "it may show a file whose name is not known")
    if not query.shows_content or not query.listing:
        return None
    names = _run_and_split(["git", "--no-pager", *query.listing], context.cwd, git_environment())
    if names is None or len(names) > MAX_FILES:
        return PermissionVerdict("ask", "it is not known which files it shows")
    return _first_restricted((os.path.normpath(top / name.lstrip("\n")) for name in names), context)


def _names_blob(words: Words, cwd: Path) -> bool:
    """Return True if a word is the id of a blob: its content is shown, but the name of the file is not known."""
    objects = [part.lstrip("^") for word in words if ":" not in word for part in _RANGE.split(word)]
    if not objects:
        return False
    stdin = "".join(f"{form}\n" for word in objects for form in (word, word + "^{}")).encode("utf-8", "surrogateescape")
    kinds = _run_and_split(["git", "cat-file", "--batch-check=%(objecttype)"], cwd, git_environment(), stdin, b"\n")
    return kinds is None or "blob" in kinds


def _run_and_split(
    command: list[str], cwd: Path, variables: dict[str, str], stdin: bytes = b"", separator: bytes = b"\0"
) -> list[str] | None:
    """Run a program and split its output; None if it fails or times out. Exit codes 1 and 2 (nothing found) are not
    failures.
    """
    program = find_program(command[0])
    if program is None:
        return None
    try:
        process = subprocess.run(
            [program, *command[1:]], cwd=cwd, env=variables, input=stdin, capture_output=True, timeout=_TIMEOUT
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if not 0 <= process.returncode <= 2:
        return None
    return [os.fsdecode(part) for part in process.stdout.split(separator) if part]
