"""The repository around a folder: read from its files, because a program for it would cost more than a whole turn."""

from __future__ import annotations

from pathlib import Path

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
