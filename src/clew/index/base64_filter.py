"""Encoded text: long runs of base64, which nobody looks for and which would fill the index with single-use words."""

from __future__ import annotations

import re

from clew.index.tokenizer import WIDE

LONG = 256  # longer than any word or digest
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_WIDE = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in WIDE) + "]")
_RUN = re.compile(rf"(data:[^,\s]{{0,80}};base64,)?[A-Za-z0-9+/_-]{{{LONG},}}={{0,2}}")


def has_run(text: str) -> bool:
    """Whether so many letters of base64 stand in a row; leaps from space to space, a window at a time."""
    at, last = 0, len(text) - LONG
    while at <= last:
        stop = at + LONG
        gap = text.rfind(" ", at, stop)
        if gap < 0:
            gap = text.rfind("\n", at, stop)
        if gap < 0:
            gap = at + len(text[at:stop].rstrip(_LETTERS)) - 1
            if gap < at:
                return True
        at = gap + 1
    return False


def without_runs(text: str) -> str:
    return _RUN.sub(" ", text) if len(text) >= LONG and has_run(text) else text


def prepared(text: str) -> str:
    """Text as it goes into the index."""
    text = without_runs(text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a character
        text = text.encode("utf-8", "replace").decode()
    return _WIDE.sub(_apart, text)


def _apart(found: re.Match[str]) -> str:
    return f" {found[0]} "
