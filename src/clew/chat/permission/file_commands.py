"""Commands that change files, as the mode acceptEdits lets them: mkdir, touch, rm, rmdir, mv, cp, sed -i."""

from __future__ import annotations

import re
import sys
from pathlib import PurePosixPath

from clew.chat.permission.command_options import Grammar, names, take
from clew.chat.permission.shell_lexer import SimpleCommand

_TABLE: dict[str, Grammar] = {
    "mkdir": Grammar("pv", "m", names("parents verbose"), options_first=True),
    "touch": Grammar("acm", options_first=True),
    "rm": Grammar("rRfvid", "", names("recursive force verbose"), options_first=True),
    "rmdir": Grammar("v", options_first=True),
    "mv": Grammar("fnvi", "", names("force no-clobber verbose"), options_first=True),
    "cp": Grammar("rRfnvip", "", names("recursive force no-clobber verbose"), options_first=True),
}
NAMES = frozenset({*_TABLE, "sed"})
_SUBSTITUTION = re.compile(
    r"(?:[0-9]+(?:,[0-9]+)?)?s([/|#,])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpIi0-9]*"
)
_DELETION = re.compile(r"[0-9]+(?:,(?:[0-9]+|\$))?d")


def changed(command: SimpleCommand) -> tuple[str, ...] | None:
    """The paths that a command may change; None if it may do other things, or we cannot tell."""
    if any((word.value or "~").startswith("~") for word in command.words[1:]):
        return None
    values = [word.value for word in command.words[1:]]
    arguments = tuple(value for value in values if value is not None)
    if command.assignments or len(arguments) != len(values) or any(word.has_glob for word in command.words):
        return None
    if command.name == "sed":
        return _sed(arguments)
    grammar = _TABLE.get(command.name)
    taken = take(grammar, arguments) if grammar else None
    if taken is None or not taken.words:
        return None
    if command.name not in ("mv", "cp"):
        return tuple(taken.words)
    if len(taken.words) < 2:
        return None
    *sources, target = taken.words
    return (*sources, target, *(f"{target}/{PurePosixPath(source).name}" for source in sources))


def copied(command: SimpleCommand) -> tuple[str, ...]:
    """The paths whose content a command that `changed` knows puts elsewhere."""
    values = tuple(word.value or "" for word in command.words[1:])
    taken = take(_TABLE[command.name], values) if command.name in ("mv", "cp") else None
    return tuple(taken.words[:-1]) if taken else ()


def _sed(arguments: tuple[str, ...]) -> tuple[str, ...] | None:
    options = [word for word in arguments if word.startswith("-")]
    words = [word for word in arguments if not word.startswith("-")]
    if sys.platform != "linux":  # elsewhere the script would be a suffix, and the first file the script
        return None
    if "-i" not in options or set(options) - {"-i", "-E", "-r", "-n"} or len(words) < 2:
        return None
    script = words[0]
    if not (_SUBSTITUTION.fullmatch(script) or _DELETION.fullmatch(script)):
        return None
    return tuple(words[1:])
