"""A git worktree for one subagent, so that its changes do not meet those of others.

It is a separate checkout of the project below `.claude/worktrees`, on its own branch. Afterwards it is removed if
nothing was changed in it; otherwise it stays, and the result of the subagent names it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

from msgspec import Struct

from clew.chat.config.repository import git_environment, repository_root
from clew.chat.tools.tool import ToolFailed, ToolState
from clew.system.subprocesses import find_program

FOLDER = Path(".claude", "worktrees")
_TIMEOUT = 120.0  # seconds that git may take; a checkout of a large repository is slow


class AgentWorktree(Struct, frozen=True):
    """A worktree: the project that it belongs to, its folder, its branch, and the commit that it began at."""

    project: Path
    path: Path
    branch: str
    base: str
    cwd: Path  # the folder of the project in it

    @property
    def about(self) -> str:
        """What the subagent has to know."""
        return (
            f"You work in {self.cwd}: a git worktree of your own, on the branch {self.branch}. It is a separate checkout of"
            " the project, without changes that are not committed. Paths of the project in your task mean the files here."
            " Change nothing outside of it."
        )

    @property
    def note(self) -> str:
        """What the conversation that sent the subagent has to know if it changed something."""
        return f"worktreePath: {self.path}\nworktreeBranch: {self.branch}"

    async def close(self) -> bool:
        """Remove the worktree and its branch if nothing was changed in it; return whether it stays."""
        return await asyncio.to_thread(self._close)

    def _close(self) -> bool:
        if not self.path.is_dir():
            return False
        try:
            if _git(self.path, "status", "--porcelain") or _git(self.path, "rev-parse", "HEAD") != self.base:
                return True
            _git(self.project, "worktree", "remove", str(self.path))
            _git(self.project, "branch", "-D", self.branch)
        except ToolFailed:
            return True  # it is rather kept than lost
        return False


async def add_worktree(state: ToolState, agent_id: str) -> AgentWorktree:
    """Check the project out for a subagent. Raises ToolFailed outside a repository or in an untrusted folder."""
    return await asyncio.to_thread(_add, state, agent_id)


def _add(state: ToolState, agent_id: str) -> AgentWorktree:
    project = Path(os.path.realpath(state.project))
    repository = repository_root(project)
    if repository is None:
        raise ToolFailed(f"{project} is not in a git repository, so that no worktree can be made for the agent.")
    if not state.is_trusted:  # a checkout runs the filters that the repository configures
        raise ToolFailed("The user does not trust this folder, so that no worktree can be made for the agent.")
    path, branch = project / FOLDER / f"agent-{agent_id}", f"worktree-agent-{agent_id}"
    base = _git(project, "rev-parse", "HEAD")
    _git(project, "worktree", "add", "--quiet", "-b", branch, str(path), base)
    cwd = path / project.relative_to(repository)
    return AgentWorktree(project, path, branch, base, cwd if cwd.is_dir() else path)


def _git(folder: Path, *arguments: str) -> str:
    """Run git without the hooks of the repository, and return what it prints. Raises ToolFailed."""
    git = find_program("git")
    if git is None:
        raise ToolFailed("git is not installed, so that no worktree can be made for the agent.")
    try:
        done = subprocess.run(
            [git, *arguments], cwd=folder, capture_output=True, timeout=_TIMEOUT, check=False, env=git_environment()
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolFailed(f"git {arguments[0]} failed: {error}.") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ToolFailed(f"git {arguments[0]} failed: {reason[-1] if reason else f'exit code {done.returncode}'}")
    return done.stdout.decode("utf-8", "surrogateescape").strip()
