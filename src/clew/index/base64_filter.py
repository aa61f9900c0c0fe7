"""Remove long base64 runs, which would fill the index with single-use words."""

from __future__ import annotations

import re

from clew.index.tokenizer import WIDE_RANGES, compose

MIN_RUN = 256  # longer than any word or digest
_BASE64_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"
_WIDE = re.compile("([" + "".join(f"{chr(first)}-{chr(last)}" for first, last in WIDE_RANGES) + "])")
_FEW = 16  # different wide characters that are replaced one by one, which is faster than a regular expression
# Characters that `compose` leaves as they are, whatever stands beside them: letters with accents, Greek, Cyrillic,
# punctuation, symbols, kana, ideographs, Hangul, emoji. Others are left to `compose`, which looks at the whole text.
COMPOSED = re.compile(
    "[\x80-\xac\xae-\u02ff\u0391-\u03ce\u0400-\u0482\u048a-\u052f\u2010-\u205f\u20a0-\u20cf\u2150-\u2328\u232b-\u2adb"
    "\u2add-\u2bff\u3000-\u3029\u3030-\u3098\u309b-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\ufe0e\ufe0f"
    "\uff00-\uffef\U0001f000-\U0001fbef]*"
)
_ASCII = bytes(range(128))
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


def prepare_text(text: str) -> tuple[str, str]:
    """Return text as it is indexed, and its characters beyond ASCII.

    It is composed, without base64 and lone surrogates, and wide characters are separated by spaces.
    """
    if len(text) >= MIN_RUN and has_run(text):
        text = _RUN.sub(" ", text)
    if text.isascii():
        return text, ""
    try:
        other = _non_ascii(text)
    except UnicodeEncodeError:  # a lone surrogate
        text = text.encode("utf-8", "replace").decode()
        other = _non_ascii(text)
    if not COMPOSED.fullmatch(other):
        text = compose(text)
        other = _non_ascii(text)
    wide = set(_WIDE.findall(other))
    if len(wide) > _FEW:
        return " ".join(_WIDE.split(text)), other
    for character in wide:
        text = text.replace(character, f" {character} ")
    return text, other


def _non_ascii(text: str) -> str:
    """Return the characters beyond ASCII. Most texts have few, so that looking at these alone is faster."""
    return text.encode().translate(None, _ASCII).decode()
