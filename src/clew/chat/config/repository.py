"""The repository around a folder: what each turn needs is read from its files, since git would cost more than the turn."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from clew.system.environment import child_environment
from clew.system.subprocesses import find_program

# What a repository's configuration could make git run is switched off, whatever it says.
_SAFE_CONFIG = {"core.fsmonitor": "false", "core.hooksPath": os.devnull, "core.pager": "cat", "diff.external": ""}
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
    """The files below a folder that git tracks or would track; None if it cannot tell, or not in time."""
    git = find_program("git")
    if git is None:
        return None
    words = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(
            words, cwd=folder, capture_output=True, timeout=seconds, check=True, env=git_surroundings()
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def git_surroundings() -> dict[str, str]:
    """The environment of our own git calls: a repository, which may be a stranger's, cannot make git run a program.

    `GIT_*` variables of the user are dropped, because they can name another repository or a program. Nothing is fetched:
    a partial clone could name the program that does it.
    """
    kept = {name: value for name, value in child_environment().items() if not name.startswith("GIT_")}
    made = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
    for number, (name, value) in enumerate(_SAFE_CONFIG.items()):
        made |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | made | {"GIT_CONFIG_COUNT": str(len(_SAFE_CONFIG))}
