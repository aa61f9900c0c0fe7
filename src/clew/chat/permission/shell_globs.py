"""Predict which file names bash substitutes for a glob pattern."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from clew.chat.permission.shell_lexer import Word

MAX_MATCHES = 500
# Only `*` and `?`, unquoted; the first character rules out options (`-x`) and option files (`@x`).
_PLAIN = re.compile(r"(?:[A-Za-z0-9_.]|/)[A-Za-z0-9_.,+@%/*?-]*")
_BRACKETS = re.compile(r"\[[^\]]*\]?")


def is_predictable(word: Word) -> bool:
    """Return True if bash replaces a word by the names of `expand`, whatever the file names and shell options are."""
    return bool(_PLAIN.fullmatch(word.source)) and "**" not in word.source


def widen(text: str) -> str:
    """Return a pattern of `*` and `?` alone that covers at least the same names: `[ab]*.py` becomes `**.py`."""
    return _BRACKETS.sub("*", text)


def expand(pattern: str, cwd: Path) -> list[str] | None:
    """Return the pattern itself, which bash keeps if nothing matches, and all paths that it may match; None if there
    are too many.

    Names that begin with a dot are always included, because shell options may include them.
    """
    paths = ["/" if pattern.startswith("/") else ""]
    for part in pattern.split("/"):
        if "*" in part or "?" in part:
            paths = [f"{start}{name}/" for start in paths for name in _matching_names(os.path.join(cwd, start), part)]
        elif part:
            paths = [f"{start}{part}/" for start in paths]
        if len(paths) > MAX_MATCHES:
            return None
    return [pattern, *(path if pattern.endswith("/") else path.removesuffix("/") for path in paths)]


def _matching_names(folder: str, pattern: str) -> Iterator[str]:
    """Return the names in a folder that match, whether bash counts characters or bytes."""
    text = re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern), re.DOTALL)
    raw = re.compile(os.fsencode(text.pattern), re.DOTALL)
    try:
        names = [*os.listdir(folder), *((".", "..") if pattern.startswith(".") else ())]
    except OSError:
        names = []
    return (name for name in names if text.fullmatch(name) or raw.fullmatch(os.fsencode(name)))
