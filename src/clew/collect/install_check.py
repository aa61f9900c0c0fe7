"""Find the hooks and timers that `clew collect install` wrote, and detect those of earlier versions.

Earlier versions wrote `python -m clew collect`. Claude Code runs a hook in the folder of a project, and `-m` imports
from that folder first, so such a hook runs code of the project.
"""

from __future__ import annotations

import os
import plistlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple
from xml.parsers.expat import ExpatError

from clew.wire.json_codec import decode

Kind = Literal["hook", "timer"]
State = Literal["current", "outdated", "broken"]

_ISOLATION_FLAGS = {"-I", "-P"}
_SHELL_OPERATOR = re.compile(r"[0-9]*[<>|;&]")  # begins a word that is not an argument


class Installed(NamedTuple):
    """A clew command that another program runs. `arguments` are those of `clew`, from `collect` on."""

    kind: Kind
    path: Path
    command: str
    arguments: tuple[str, ...]
    state: State

    @property
    def next_step(self) -> str:
        """Return the command that rewrites it; empty if it is current."""
        if self.state == "current":
            return ""
        return "clew collect install --hook" if self.kind == "hook" else "clew collect install"


def read_command(arguments: list[str]) -> tuple[tuple[str, ...], State] | None:
    """Return the arguments and the state of a `clew collect` command that we wrote; None for any other command."""
    for at, word in enumerate(arguments):
        is_module = word == "clew" and arguments[at - 1 : at] == ["-m"]
        is_file = re.search(r"[\\/]clew[\\/]__main__\.py$", word) is not None
        if (is_module or is_file) and arguments[at + 1 : at + 2] == ["collect"]:
            clew_arguments = arguments[at + 1 :]
            end = next(
                (number for number, argument in enumerate(clew_arguments) if _SHELL_OPERATOR.match(argument)),
                len(clew_arguments),
            )
            is_isolated = not _ISOLATION_FLAGS.isdisjoint(arguments[:at])
            files = [arguments[0], *([word] if is_file else [])]
            all_exist = all(os.path.isfile(argument) for argument in files)
            state: State = "outdated" if not is_isolated else "current" if all_exist else "broken"
            return tuple(argument for argument in clew_arguments[:end] if argument != "--quiet"), state
    return None


def parse_hook(path: Path, command: object) -> Installed | None:
    """Return the installed hook for a command of the settings; None if it is not ours."""
    try:
        arguments = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    parsed = read_command(arguments)
    return Installed("hook", path, str(command), *parsed) if parsed else None


def find_hooks(path: Path) -> list[Installed]:
    """Return our hooks in the settings of Claude Code, for any event; none if the file cannot be read."""
    try:
        value = decode(path.read_bytes())
    except (OSError, ValueError):
        return []
    hooks = value.get("hooks") if isinstance(value, dict) else None
    commands = (
        command for groups in (hooks if isinstance(hooks, dict) else {}).values() for command in _hook_commands(groups)
    )
    return [hook for command in commands if (hook := parse_hook(path, command))]


def _hook_commands(groups: Any) -> Iterator[object]:
    for group in groups if isinstance(groups, list) else ():
        inner = group.get("hooks") if isinstance(group, dict) else None
        for hook in inner if isinstance(inner, list) else ():
            if isinstance(hook, dict):
                yield hook.get("command")


def read_timer(path: Path) -> Installed | None:
    """Return the timer that a systemd unit or a launchd agent defines; None if the file is missing or not ours."""
    try:
        data = path.read_bytes()
        arguments = (
            _launchd_arguments(data) if path.suffix == ".plist" else _systemd_arguments(data.decode("utf-8", "replace"))
        )
    except (OSError, ValueError, ExpatError):
        return None
    parsed = read_command(arguments)
    return Installed("timer", path, shlex.join(arguments), *parsed) if parsed else None


def _systemd_arguments(text: str) -> list[str]:
    line = next((line_text for line_text in text.splitlines() if line_text.startswith("ExecStart=")), "")
    arguments = shlex.split(line.removeprefix("ExecStart="))
    return [argument.replace("%%", "%").replace("$$", "$") for argument in arguments]


def _launchd_arguments(data: bytes) -> list[str]:
    value = plistlib.loads(data)
    arguments = value.get("ProgramArguments") if isinstance(value, dict) else None
    return [str(argument) for argument in arguments] if isinstance(arguments, list) else []


def describe_problem(installed: Installed) -> str:
    """Return what is wrong with an installed command and the next step; empty if nothing is wrong."""
    name = "SessionEnd hook" if installed.kind == "hook" else "timer"
    if installed.state == "outdated":
        problem = (
            f"The {name} in {installed.path} was written by an earlier version and runs code from the current folder."
        )
    elif installed.state == "broken":
        problem = f"The {name} in {installed.path} runs a program that no longer exists."
    else:
        return ""
    return f"{problem} Rewrite it with: {installed.next_step}"
