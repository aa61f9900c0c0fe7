"""Ask git which commit wrote each line of a file.

The committed content is asked about and aligned with the file: git runs the filters and hooks that a repository names
only when it reads the working folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from clew.facts.line_origins import OUTSIDE, carry_origins, normalize
from clew.system.subprocesses import find_program

_SECONDS = 20.0
_HEADER = re.compile(r"([0-9a-f]{40,64}) \d+ (\d+)")


class Commit(Struct, frozen=True):
    id: str
    author: str
    time: datetime | None
    summary: str


def line_commits(path: str, lines: Sequence[str]) -> list[Commit | None]:
    """Return the commit of each line; None for lines that are not committed, or without a repository."""
    report = _run_blame(os.path.realpath(path))
    commits: list[Commit] = []
    committed: list[str] = []
    origins: list[int] = []
    numbers: dict[str, int] = {}
    fields: dict[str, str] = {}
    commit_id = ""
    for line in report.split("\n"):
        if line.startswith("\t"):
            if commit_id not in numbers:
                numbers[commit_id] = len(commits)
                commits.append(_build_commit(commit_id, fields))
            committed.append(line[1:].removesuffix("\r"))
            origins.append(numbers[commit_id])
        elif header := _HEADER.match(line):
            commit_id, fields = header[1], {}
        else:
            name, _, value = line.partition(" ")
            fields[name] = value
    kept = carry_origins(committed, origins, list(lines), OUTSIDE) if committed else [OUTSIDE] * len(lines)
    return [commits[origin] if origin >= 0 else None for origin in kept]


def _build_commit(commit_id: str, fields: dict[str, str]) -> Commit:
    seconds = fields.get("author-time", "")
    time = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdigit() and len(seconds) < 12 else None
    return Commit(commit_id, fields.get("author", ""), time, fields.get("summary", ""))


def _run_blame(path: str) -> str:
    """Return git's report; empty if there is no git, no repository, or no commit of the file."""
    import subprocess

    from clew.chat.config.repository import git_environment

    git = find_program("git")
    if git is None:
        return ""
    folder, name = os.path.split(path)
    options = ["-c", "blame.ignoreRevsFile=", "-c", f"core.attributesFile={os.devnull}", "--no-pager"]
    command = [git, *options, "blame", "--porcelain", "--no-textconv", "HEAD", "--", f"./{name}"]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=_SECONDS, check=True, env=git_environment()
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return normalize(done.stdout.decode("utf-8", "replace"))
