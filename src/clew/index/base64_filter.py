"""Remove long base64 runs, which would fill the index with single-use words."""

from __future__ import annotations

import re

from clew.index.tokenizer import WIDE_RANGES, compose

MIN_RUN = 256  # longer than any word or digest
_BASE64_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_WIDE = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in WIDE_RANGES) + "]")
_RUN = re.compile(rf"(data:[^,\s]{{0,80}};base64,)?[A-Za-z0-9+/_-]{{{MIN_RUN},}}={{0,2}}")


def has_run(text: str) -> bool:
    """Return whether MIN_RUN base64 letters stand in a row. Jumps from space to space, one window at a time."""
    start, last = 0, len(text) - MIN_RUN
    while start <= last:
        stop = start + MIN_RUN
        gap = text.rfind(" ", start, stop)
        if gap < 0:
            gap = text.rfind("\n", start, stop)
        if gap < 0:
            gap = start + len(text[start:stop].rstrip(_BASE64_LETTERS)) - 1
            if gap < start:
                return True
        start = gap + 1
    return False


def strip_base64(text: str) -> str:
    return _RUN.sub(" ", text) if len(text) >= MIN_RUN and has_run(text) else text


def prepare_text(text: str) -> str:
    """Return text as it is indexed: composed, without base64 and lone surrogates, wide characters separated by spaces."""
    text = strip_base64(text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        text = text.encode("utf-8", "replace").decode()
    return _WIDE.sub(_pad_with_spaces, compose(text))


def _pad_with_spaces(match: re.Match[str]) -> str:
    return f" {match[0]} "
