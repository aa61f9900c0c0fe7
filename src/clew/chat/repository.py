"""The repository around a folder: what each turn needs is read from its files, since git would cost more than the turn."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from clew.wire.home import surroundings

_HEAD = "ref: refs/heads/"


def top_of(folder: Path) -> Path | None:
    """The folder that holds `.git`; None outside of a repository."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def branch_of(folder: Path) -> str:
    """The branch that is checked out, `HEAD` if none is; empty outside of a repository."""
    top = top_of(folder)
    if top is None:
        return ""
    try:
        head = (_store(top / ".git") / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return head.removeprefix(_HEAD) if head.startswith(_HEAD) else "HEAD"


def _store(git: Path) -> Path:
    """Where the repository keeps its state: a worktree has a file there that names it."""
    if git.is_dir():
        return git
    named = git.read_text(encoding="utf-8", errors="replace").partition("gitdir:")[2].strip()
    return git.parent / named


def listed(folder: Path, seconds: float | None = None) -> list[str] | None:
    """The files below a folder that git tracks or would track; None if it cannot tell, or not in time.

    A repository can name a program for git to run here, and may be a stranger's: it is not run.
    """
    words = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, timeout=seconds, check=True, env=surroundings())
    except (OSError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
