"""Find the hooks and timers that `clew collect install` wrote, and tell which of them an earlier version wrote.

Earlier versions wrote `python -m clew collect`. Claude Code runs a hook in the folder of a project, and `-m` imports from
there before anything else, so such a hook runs the code of whoever wrote the project.
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

_ISOLATED = {"-I", "-P"}
_SHELL = re.compile(r"[0-9]*[<>|;&]")  # begins a word that is not an argument


class Installed(NamedTuple):
    """A command of ours that another program runs. `arguments` are those of `clew`, from `collect` on."""

    kind: Kind
    path: Path
    command: str
    arguments: tuple[str, ...]
    state: State

    @property
    def next_step(self) -> str:
        """The command that rewrites it; empty if nothing has to be done."""
        if self.state == "current":
            return ""
        return "clew collect install --hook" if self.kind == "hook" else "clew collect install"


def read_command(words: list[str]) -> tuple[tuple[str, ...], State] | None:
    """The arguments and the state of a `clew collect` that we wrote; None for a command of somebody else."""
    for at, word in enumerate(words):
        is_module = word == "clew" and words[at - 1 : at] == ["-m"]
        is_file = re.search(r"[\\/]clew[\\/]__main__\.py$", word) is not None
        if (is_module or is_file) and words[at + 1 : at + 2] == ["collect"]:
            rest = words[at + 1 :]
            end = next((number for number, each in enumerate(rest) if _SHELL.match(each)), len(rest))
            is_isolated = not _ISOLATED.isdisjoint(words[:at])
            named = [words[0], *([word] if is_file else [])]
            is_whole = all(os.path.isfile(each) for each in named)
            state: State = "outdated" if not is_isolated else "current" if is_whole else "broken"
            return tuple(each for each in rest[:end] if each != "--quiet"), state
    return None


def hook_of(path: Path, command: object) -> Installed | None:
    """The hook that a command of the settings is, if it is ours."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    found = read_command(words)
    return Installed("hook", path, str(command), *found) if found else None


def hooks_in(path: Path) -> list[Installed]:
    """Our hooks in the settings of Claude Code, at any event; none if the file cannot be read."""
    try:
        value = decode(path.read_bytes())
    except (OSError, ValueError):
        return []
    hooks = value.get("hooks") if isinstance(value, dict) else None
    commands = (command for groups in (hooks if isinstance(hooks, dict) else {}).values() for command in _all(groups))
    return [found for command in commands if (found := hook_of(path, command))]


def _all(groups: Any) -> Iterator[object]:
    for group in groups if isinstance(groups, list) else ():
        inner = group.get("hooks") if isinstance(group, dict) else None
        for hook in inner if isinstance(inner, list) else ():
            if isinstance(hook, dict):
                yield hook.get("command")


def timer_at(path: Path) -> Installed | None:
    """The timer that a unit of systemd or an agent of launchd is; None if there is none."""
    try:
        data = path.read_bytes()
        words = _agent_words(data) if path.suffix == ".plist" else _unit_words(data.decode("utf-8", "replace"))
    except (OSError, ValueError, ExpatError):
        return None
    found = read_command(words)
    return Installed("timer", path, shlex.join(words), *found) if found else None


def _unit_words(text: str) -> list[str]:
    line = next((each for each in text.splitlines() if each.startswith("ExecStart=")), "")
    words = shlex.split(line.removeprefix("ExecStart="))
    return [word.replace("%%", "%").replace("$$", "$") for word in words]


def _agent_words(data: bytes) -> list[str]:
    value = plistlib.loads(data)
    words = value.get("ProgramArguments") if isinstance(value, dict) else None
    return [str(word) for word in words] if isinstance(words, list) else []


def explain(found: Installed) -> str:
    """What is wrong with it, and the next step; empty if nothing is."""
    name = "SessionEnd hook" if found.kind == "hook" else "timer"
    if found.state == "outdated":
        what = (
            f"The {name} in {found.path} was written by an earlier version and can run code of the folder it is run in."
        )
    elif found.state == "broken":
        what = f"The {name} in {found.path} runs a program that is gone."
    else:
        return ""
    return f"{what} Rewrite it with: {found.next_step}"
