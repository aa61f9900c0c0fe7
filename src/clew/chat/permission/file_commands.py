"""List the paths that a file-changing command changes (mkdir, touch, rm, rmdir, mv, cp, sed -i), for the mode
acceptEdits.
"""

from __future__ import annotations

import re
import sys
from pathlib import PurePosixPath

from clew.chat.permission.command_options import Grammar, parse_arguments, split_names
from clew.chat.permission.shell_lexer import SimpleCommand

_TABLE: dict[str, Grammar] = {
    "mkdir": Grammar("pv", "m", split_names("parents verbose"), options_first=True),
    "touch": Grammar("acm", options_first=True),
    "rm": Grammar("rRfvid", "", split_names("recursive force verbose"), options_first=True),
    "rmdir": Grammar("v", options_first=True),
    "mv": Grammar("fnvi", "", split_names("force no-clobber verbose"), options_first=True),
    "cp": Grammar("rRfnvip", "", split_names("recursive force no-clobber verbose"), options_first=True),
}
NAMES = frozenset({*_TABLE, "sed"})
_SUBSTITUTION = re.compile(
    r"(?:[0-9]+(?:,[0-9]+)?)?s([/|#,])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpIi0-9]*"
)
_DELETION = re.compile(r"[0-9]+(?:,(?:[0-9]+|\$))?d")


def changed_paths(command: SimpleCommand) -> tuple[str, ...] | None:
    """Return the paths that a command may change; None if it may do anything else, or if that is not certain.

    `cp a dir` changes `dir` and `dir/a`.
    """
    if any((word.value or "~").startswith("~") for word in command.words[1:]):
        return None
    values = [word.value for word in command.words[1:]]
    arguments = tuple(value for value in values if value is not None)
    if command.assignments or len(arguments) != len(values) or any(word.has_glob for word in command.words):
        return None
    if command.name == "sed":
        return _sed_targets(arguments)
    grammar = _TABLE.get(command.name)
    parsed = parse_arguments(grammar, arguments) if grammar else None
    if parsed is None or not parsed.words:
        return None
    if command.name not in ("mv", "cp"):
        return tuple(parsed.words)
    if len(parsed.words) < 2:
        return None
    # The target may be a folder: `mv a/x b` changes a/x, b and b/x.
    *sources, target = parsed.words
    return (*sources, target, *(f"{target}/{PurePosixPath(source).name}" for source in sources))


def copied_paths(command: SimpleCommand) -> tuple[str, ...]:
    """Return the paths whose content `mv` or `cp` puts elsewhere."""
    values = tuple(word.value or "" for word in command.words[1:])
    parsed = parse_arguments(_TABLE[command.name], values) if command.name in ("mv", "cp") else None
    return tuple(parsed.words[:-1]) if parsed else ()


def _sed_targets(arguments: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the files that `sed -i` changes, if its script only substitutes or deletes lines."""
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
