"""Facts about the git repository of a folder, read from its files because running git each turn is slow."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from clew.system.environment import child_environment
from clew.system.subprocesses import find_program

# Override every setting by which a repository's configuration could make git run a program.
_SAFE_CONFIG = {"core.fsmonitor": "false", "core.hooksPath": os.devnull, "core.pager": "cat", "diff.external": ""}
_HEAD = "ref: refs/heads/"
_URL = re.compile(r"^\s*url\s*=\s*(\S+)", re.MULTILINE)
_REMOTE = re.compile(r"^(?:\w+://)?(?:[^@/]+@)?([\w.-]+)(?::\d+)?[:/](.+)/([^/]+?)(?:\.git)?/?$")


def repository_root(folder: Path) -> Path | None:
    """Return the folder that contains `.git`; None outside a repository."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), None)


def current_branch(folder: Path) -> str:
    """Return the checked-out branch, `HEAD` if detached, "" outside a repository."""
    top = repository_root(folder)
    if top is None:
        return ""
    try:
        head = (_git_folder(top / ".git") / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return head.removeprefix(_HEAD) if head.startswith(_HEAD) else "HEAD"


def _git_folder(git: Path) -> Path:
    """Return the git folder; in a worktree `.git` is a file that names it."""
    if git.is_dir():
        return git
    named = git.read_text(encoding="utf-8", errors="replace").partition("gitdir:")[2].strip()
    return git.parent / named


def origin_repository(folder: Path) -> dict[str, str] | None:
    """Return host, owner and name of the repository that `origin` names; None if there is none."""
    top = repository_root(folder)
    try:
        text = (_git_folder(top / ".git") / "config").read_text(encoding="utf-8", errors="replace") if top else ""
    except OSError:
        return None
    section = text.partition('[remote "origin"]')[2].partition("[")[0]
    stated = _URL.search(section)
    parts = _REMOTE.search(stated[1]) if stated else None
    return {"host": parts[1], "owner": parts[2], "name": parts[3]} if parts else None


def list_files(folder: Path, seconds: float | None = None) -> list[str] | None:
    """Return the files below a folder that git tracks or would track; None if git fails or times out."""
    git = find_program("git")
    if git is None:
        return None
    arguments = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(
            arguments, cwd=folder, capture_output=True, timeout=seconds, check=True, env=git_environment()
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def git_environment() -> dict[str, str]:
    """Return the environment of git calls, in which an untrusted repository cannot make git run a program.

    `GIT_*` variables of the user are dropped, because they can name another repository or a program. Nothing is
    fetched: a partial clone could name the program that fetches.
    """
    inherited = {name: value for name, value in child_environment().items() if not name.startswith("GIT_")}
    safe = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
    for number, (name, value) in enumerate(_SAFE_CONFIG.items()):
        safe |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return inherited | safe | {"GIT_CONFIG_COUNT": str(len(_SAFE_CONFIG))}
