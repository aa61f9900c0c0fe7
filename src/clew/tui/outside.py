"""Outside: the programs that the browser hands over to, and how a session goes on after it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.wire import shell
from clew.wire.control import clean_name

Run = Callable[[Sequence[str], str | None], int]
Execute = Callable[[str, list[str]], object]


class Resume(NamedTuple):
    """A session to go on with, and the folder to do that in."""

    session: str
    cwd: str

    @property
    def words(self) -> list[str]:
        return list(shell.resuming(self.session))

    @property
    def command(self) -> str:
        """What to type to the same end."""
        return shell.resume(self.session, self.cwd)


def run(words: Sequence[str], text: str | None) -> int:
    """Run a program in the terminal, with a text on its standard input or none."""
    try:
        return subprocess.run(words, input=text, text=True, encoding="utf-8", errors="replace", check=False).returncode
    except FileNotFoundError:
        return 127


@dataclass(frozen=True, slots=True)
class Outside:
    """The pager and the editor, as lists of words, and how they are run."""

    pager: tuple[str, ...] = ("less", "-R")
    editor: tuple[str, ...] = ("vi",)
    run: Run = run


def go_on(resume: Resume, execute: Execute = os.execvp, find: Callable[[str], str | None] = shutil.which) -> int:
    """Become `claude` in the folder of the session; if that cannot be, say why and what to type."""
    reason = ""
    if find("claude") is None:
        reason = "claude is not on the path."
    elif resume.cwd and not os.path.isdir(resume.cwd):
        reason = f"The folder {resume.cwd} is gone."
    if reason:
        print(clean_name(reason), file=sys.stderr)
        print(resume.command)
        return 2
    if resume.cwd:
        os.chdir(resume.cwd)
    execute("claude", resume.words)
    return 0
