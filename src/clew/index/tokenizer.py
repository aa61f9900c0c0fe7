"""Text for the index: how words are cut, the same for what is stored and for what is asked.

A word is what SQLite's unicode61 tokenizer makes of it: letters and digits, without regard to case. Scripts that are written
without spaces are cut into single characters, and a query for several of them asks for their sequence; so any part of such
a run is found.
"""

from __future__ import annotations

import apsw

TOKENIZER = "unicode61 remove_diacritics 0"
_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
WIDE = (
    (0x1100, 0x11FF),  # Hangul letters
    (0x2E80, 0x303F),  # radicals, marks
    (0x3040, 0x30FF),  # kana
    (0x3130, 0x318F),
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),  # the common ideographs
    (0xA960, 0xA97F),
    (0xAC00, 0xD7FF),  # Hangul
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),  # half-width kana and Hangul
    (0x1B000, 0x1B16F),
    (0x20000, 0x3134F),
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
)
_held: list[apsw.FTS5Tokenizer] = []


def is_wide(character: str) -> bool:
    """Whether a character belongs to a script that is written without spaces."""
    code = ord(character)
    return code >= 0x0E00 and any(first <= code <= last for first, last in WIDE)


def spaced(text: str) -> str:
    """Text with such characters set apart; other text comes back as it is, at once."""
    if text.isascii():
        return text
    wide = {c for c in set(text) if is_wide(c)}
    return text.translate({ord(c): f" {c} " for c in wide}) if wide else text


def tokens(text: str) -> list[str]:
    """The words of a text, as the tokenizer cuts and folds them."""
    if text.isascii():
        return text.translate(_ASCII).split()
    return [word for _, _, word in _cut(spaced(text).encode("utf-8", "replace"))]


def _cut(raw: bytes) -> list[tuple[int, int, str]]:
    """The tokenizer itself; making it takes longer than using it, so it is kept."""
    if not _held:
        name, *arguments = TOKENIZER.split()
        _held.append(apsw.Connection(":memory:").fts5_tokenizer(name, arguments))
    return _held[0](raw, apsw.FTS5_TOKENIZE_DOCUMENT, None)  # type: ignore[return-value]
