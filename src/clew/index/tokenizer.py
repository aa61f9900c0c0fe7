"""Split text into words, in the same way for indexing and for queries.

A word is what SQLite's unicode61 tokenizer makes of it: letters and digits, ignoring case. Scripts without
spaces are split into single characters, and a query for several of them matches their sequence; so any part of a run
is found. So are newer symbols and emoji, because the tables of unicode61 are those of Unicode 6.1 and take them for
letters: `done🟢next` is three words.
"""

from __future__ import annotations

import apsw

TOKENIZER = "unicode61 remove_diacritics 0"
_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"  # soft hyphen, zero-width characters
_ASCII_FOLD = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
WIDE_RANGES = (
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
    (0x20BA, 0x20CF),  # newer currency signs
    (0x23F4, 0x23FF),  # newer technical symbols
    (0x2B4D, 0x2BFF),  # newer arrows
    (0x1F000, 0x1FBEF),  # emoji and other symbols
)
_tokenizer: list[apsw.FTS5Tokenizer] = []


def is_wide(character: str) -> bool:
    """Return whether a character is a word by itself: of a script without spaces, or a newer symbol."""
    code = ord(character)
    return code >= 0x0E00 and any(first <= code <= last for first, last in WIDE_RANGES)


def separate_wide(text: str) -> str:
    """Put spaces around wide characters. Returns other text unchanged."""
    if text.isascii():
        return text
    # "搜索x" becomes " 搜  索 x": three words for unicode61.
    wide = {c for c in set(text) if is_wide(c)}
    return text.translate({ord(c): f" {c} " for c in wide}) if wide else text


def compose(text: str) -> str:
    """Return text with composed accents (NFC) and without invisible characters, which would divide words."""
    from unicodedata import is_normalized, normalize

    if any(mark in text for mark in _INVISIBLE):
        text = text.translate(dict.fromkeys(map(ord, _INVISIBLE)))
    return text if is_normalized("NFC", text) else normalize("NFC", text)


def tokenize(text: str) -> list[str]:
    """Return the words of a text, split and folded by the tokenizer."""
    # "Retry_after(3)" gives ["retry", "after", "3"].
    if text.isascii():
        return text.translate(_ASCII_FOLD).split()
    return [word for _, _, word in _run_tokenizer(separate_wide(compose(text)).encode("utf-8", "replace"))]


def _run_tokenizer(raw: bytes) -> list[tuple[int, int, str]]:
    """Run the FTS5 tokenizer. It is cached, because creating it takes longer than using it."""
    if not _tokenizer:
        name, *arguments = TOKENIZER.split()
        _tokenizer.append(apsw.Connection(":memory:").fts5_tokenizer(name, arguments))
    return _tokenizer[0](raw, apsw.FTS5_TOKENIZE_DOCUMENT, None)  # type: ignore[return-value]
