"""Interpret a command line: the meaning of its exit code, and the file that it shows.

This affects only how a result is presented, not whether a command may run.
"""

from __future__ import annotations

import re
import shlex

_HARMLESS_EXIT_1 = {
    "grep": "No matches found",
    "egrep": "No matches found",
    "fgrep": "No matches found",
    "rg": "No matches found",
    "find": "Some directories were inaccessible",
    "diff": "Files differ",
    "test": "Condition is false",
    "[": "Condition is false",
}
_SEPARATORS = set("();<>|&\n")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_PLAIN = re.compile(r"[^|&;<>$`*?\[\](){}\n#~!\\]+")
_VIEWERS = re.compile(r"cat|head|tail")
_PART = re.compile(r"\d+(,\d+)?p")


def _split_command(command: str) -> list[str] | None:
    """Split a command into words, with separators as separate words; None if a quote is not closed."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None


def explain_exit_code(command: str, code: int) -> str:
    """Return what exit code 1 means for commands where it is not a failure (`grep`: no matches); otherwise empty."""
    words = _split_command(command.strip()) if code == 1 else None
    last: list[str] = []
    for word in words or ():
        if word and set(word) <= _SEPARATORS - set("<>"):
            last = []
        elif last or not _ASSIGNED.match(word):
            last.append(word)
    return _HARMLESS_EXIT_1.get(last[0].rpartition("/")[2], "") if last else ""


def is_stopped_when_late(command: str) -> bool:
    """Return True if a command is killed at its timeout instead of continuing in the background: git, sleep,
    unparsable.
    """
    words = _split_command(command.strip())
    first = next((word for word in words or () if not _ASSIGNED.match(word)), "")
    return not first or first.rpartition("/")[2] in ("git", "sleep")


def viewed_file(command: str) -> str:
    """Return the file that a plain command prints (cat, head, tail, sed -n); otherwise empty."""
    if not _PLAIN.fullmatch(command.strip()):
        return ""
    words = _split_command(command.strip()) or [""]
    name, *arguments = words
    if name == "sed" and len(arguments) == 3 and arguments[0] == "-n" and _PART.fullmatch(arguments[1]):
        return arguments[2]
    if not _VIEWERS.fullmatch(name):
        return ""
    if name != "cat" and arguments[:1] in (["-n"], ["-c"]):
        arguments = arguments[2:]
    elif name != "cat" and arguments and re.fullmatch(r"-\d+", arguments[0]):
        arguments = arguments[1:]
    return arguments[0] if len(arguments) == 1 and not arguments[0].startswith("-") else ""
