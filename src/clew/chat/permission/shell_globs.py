"""Patterns for file names: which of them stand for names that can be predicted, and the names that bash puts there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from clew.chat.permission.shell_lexer import Word

MOST = 500
# Only `*` and `?`, without quotes, after a beginning that no option and no list of options has.
_PLAIN = re.compile(r"(?:[A-Za-z0-9_.]|/)[A-Za-z0-9_.,+@%/*?-]*")
_BRACKETS = re.compile(r"\[[^\]]*\]?")


def is_predictable(word: Word) -> bool:
    """Whether bash replaces a word with the names of `expand`, whatever the files are called and its options are."""
    return bool(_PLAIN.fullmatch(word.source)) and "**" not in word.source


def widened(text: str) -> str:
    """A pattern that covers at least what this one does, in terms of `*` and `?` alone."""
    return _BRACKETS.sub("*", text)


def expand(pattern: str, cwd: Path) -> list[str] | None:
    """The pattern itself, which bash leaves if there is no match, and all paths that it may stand for; None if those are
    too many. Names that begin with a dot are always among them."""
    found = ["/" if pattern.startswith("/") else ""]
    for part in pattern.split("/"):
        if "*" in part or "?" in part:
            found = [f"{start}{name}/" for start in found for name in _names(os.path.join(cwd, start), part)]
        elif part:
            found = [f"{start}{part}/" for start in found]
        if len(found) > MOST:
            return None
    return [pattern, *(path if pattern.endswith("/") else path.removesuffix("/") for path in found)]


def _names(folder: str, pattern: str) -> Iterator[str]:
    """The names in a folder that match, whether bash counts in characters or in bytes."""
    text = re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern), re.DOTALL)
    raw = re.compile(os.fsencode(text.pattern), re.DOTALL)
    try:
        names = [*os.listdir(folder), *((".", "..") if pattern.startswith(".") else ())]
    except OSError:
        names = []
    return (name for name in names if text.fullmatch(name) or raw.fullmatch(os.fsencode(name)))
