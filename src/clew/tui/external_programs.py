"""Outside: the programs that the browser hands over to, and how a session goes on after it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clew.system import shell_quoting
from clew.system.control_characters import clean_name
from clew.system.environment import child_environment
from clew.system.subprocesses import find_program, replace_process

Run = Callable[[Sequence[str], str | None], int]
Execute = Callable[[str, Sequence[str], Mapping[str, str]], object]


class ResumeCommand(NamedTuple):
    """A session to go on with, and the folder to do that in."""

    session: str
    cwd: str

    @property
    def words(self) -> list[str]:
        return list(shell_quoting.resume_arguments(self.session))

    @property
    def command(self) -> str:
        """What to type to the same end."""
        return shell_quoting.resume_command(self.session, self.cwd)


def run(words: Sequence[str], text: str | None) -> int:
    """Run a program in the terminal, with a text on its standard input or none."""
    program = find_program(words[0])
    if program is None:
        return 127
    return subprocess.run(
        [program, *words[1:]],
        input=text,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=child_environment(),
        check=False,
    ).returncode


@dataclass(frozen=True, slots=True)
class Outside:
    """The pager and the editor, as lists of words, and how they are run."""

    pager: tuple[str, ...] = ("less", "-R")
    editor: tuple[str, ...] = ("vi",)
    run: Run = run


def go_on(
    resume: ResumeCommand, execute: Execute = replace_process, find: Callable[[str], str | None] = find_program
) -> int:
    """Become `claude` in the folder of the session; if that is not possible, print why and what to type."""
    reason = ""
    program = find("claude")
    if program is None:
        reason = "claude is not on the path."
    elif resume.cwd and not os.path.isdir(resume.cwd):
        reason = f"The folder {resume.cwd} is gone."
    if reason or program is None:
        print(clean_name(reason), file=sys.stderr)
        print(resume.command)
        return 2
    if resume.cwd:
        os.chdir(resume.cwd)
    execute(program, resume.words, {})
    return 0
