"""What can be told of a command from its words: what its exit code means, which file it shows.

This decides how a result is told and nothing else; whether a command may run is not asked here.
"""

from __future__ import annotations

import re
import shlex

_NOT_WRONG = {
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
_SHOWS = re.compile(r"cat|head|tail")
_PART = re.compile(r"\d+(,\d+)?p")


def _words(command: str) -> list[str] | None:
    """The words of a command, with separators as words of their own; None if the quotes do not close."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return None


def meaning(command: str, code: int) -> str:
    """What exit code 1 of some commands means, where it is no failure; else empty."""
    words = _words(command.strip()) if code == 1 else None
    last: list[str] = []
    for word in words or ():
        if word and set(word) <= _SEPARATORS - set("<>"):
            last = []
        elif last or not _ASSIGNED.match(word):
            last.append(word)
    return _NOT_WRONG.get(last[0].rpartition("/")[2], "") if last else ""


def is_stopped_when_late(command: str) -> bool:
    """Whether a command that takes too long is stopped, not left to run: waiting, git, and what cannot be understood."""
    words = _words(command.strip())
    first = next((word for word in words or () if not _ASSIGNED.match(word)), "")
    return not first or first.rpartition("/")[2] in ("git", "sleep")


def viewed(command: str) -> str:
    """The file that a plain command shows to whoever runs it (cat, head, tail, sed -n); else empty."""
    if not _PLAIN.fullmatch(command.strip()):
        return ""
    words = _words(command.strip()) or [""]
    name, *rest = words
    if name == "sed" and len(rest) == 3 and rest[0] == "-n" and _PART.fullmatch(rest[1]):
        return rest[2]
    if not _SHOWS.fullmatch(name):
        return ""
    if name != "cat" and rest[:1] in (["-n"], ["-c"]):
        rest = rest[2:]
    elif name != "cat" and rest and re.fullmatch(r"-\d+", rest[0]):
        rest = rest[1:]
    return rest[0] if len(rest) == 1 and not rest[0].startswith("-") else ""
