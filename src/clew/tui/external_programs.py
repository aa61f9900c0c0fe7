"""Programs that the browser starts: the pager, the editor, and `claude` to resume a session."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from clew.system import shell_quoting
from clew.system.control_characters import clean_name
from clew.system.environment import child_environment
from clew.system.subprocesses import find_program, replace_process

Run = Callable[[Sequence[str], str | None], int]
Execute = Callable[[str, Sequence[str], Mapping[str, str]], object]


class ResumeCommand(NamedTuple):
    """A session to resume, the folder to resume it in, and flags for `claude`.

    `config` is the folder of Claude Code, if it is not the usual one.
    """

    session: str
    cwd: str
    flags: tuple[str, ...] = ()
    config: str = ""

    @property
    def arguments(self) -> list[str]:
        return list(shell_quoting.resume_arguments(self.session, *self.flags))

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables to set for it."""
        return {"CLAUDE_CONFIG_DIR": self.config} if self.config else {}

    @property
    def command(self) -> str:
        """The shell command that does the same."""
        return shell_quoting.resume_command(self.session, self.cwd, self.flags, self.variables)


def run(arguments: Sequence[str], text: str | None) -> int:
    """Run a program in the terminal, with `text` on its standard input. Return its exit code; 127 if it is not
    found.
    """
    program = find_program(arguments[0])
    if program is None:
        return 127
    return subprocess.run(
        [program, *arguments[1:]],
        input=text,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=child_environment(),
        check=False,
    ).returncode


class ExternalPrograms(Struct, frozen=True):
    """The commands of the pager and the editor, and the function that runs them."""

    pager: tuple[str, ...] = ("less", "-R")
    editor: tuple[str, ...] = ("vi",)
    run: Run = run


def resume_session(
    resume: ResumeCommand, execute: Execute = replace_process, find: Callable[[str], str | None] = find_program
) -> int:
    """Replace this process by `claude` in the folder of the session. If that is not possible, print why and the
    command, and return 2.
    """
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
    execute(program, resume.arguments, resume.variables)
    return 0
