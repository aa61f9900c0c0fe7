"""Collect other forms of the words in some texts: without accents, and parts of identifiers in camel case.

A query for `cafe` or `gauge` looks them up to find `café` and `tideGauge`. Long texts are read only at their start,
because most of what tools print repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from stringzilla import find

from clew.index.query_syntax import SEARCH_FIELDS
from clew.index.tokenizer import is_wide, tokenize
from clew.index.word_forms import ACCENTS, PARTS, fold, humps

Word = TypeVar("Word", bytes, str)
LONGEST = 60  # characters of an identifier
MIN_PART = 3
MAX_PARTS = 8  # a random id has more
CHUNK = 1 << 17  # bytes that are read together; larger ones are slower, as each needs new memory
MAX_KNOWN = 50_000  # words that are remembered
_LIMITS = [
    {"input": 4_000, "result": 1_000}.get(field) for field in SEARCH_FIELDS
]  # characters of a text that are read
# The shape of a text: `a` for small letters and digits, `A` for capitals, spaces for all others. Finding humps in it takes
# a third of the time of a regular expression.
_SHAPE = bytes(
    ord(" " if code > 127 or not chr(code).isalnum() else "A" if chr(code).isupper() else "a") for code in range(256)
)
_HUMPS = (b"aA", b"AAa")


class FormCollector:
    """Collects the forms of many texts; a word is looked at when it is first seen."""

    def __init__(self) -> None:
        self.known: set[bytes | str] = set()
        self._plain: set[str] = set()  # characters beyond ASCII without other forms
        self._others: set[str] = set()  # characters beyond ASCII that may have other forms
        self._accented: list[str] = []  # texts with such characters

    def add_accented(self, field: int, text: str, characters: str) -> None:
        """Add a text that has some characters beyond ASCII, for the next `collect`."""
        distinct = set(characters)
        if not distinct <= self._plain and self._have_forms(distinct):
            self._accented.append(text[: _LIMITS[field]])

    def collect(self, fields: Sequence[int], texts: Sequence[str]) -> set[tuple[str, int, str]]:
        """Return (key, kind, word) for each new word that can also be found by `key`.

        These are parts of identifiers in texts as they are indexed, with their fields as numbers in SEARCH_FIELDS, and
        words without accents of the texts that were added before.
        """
        forms: set[tuple[str, int, str]] = set()
        lines: list[bytes] = []
        size = 0
        for field, text in zip(fields, texts, strict=True):
            line = text[: _LIMITS[field]].encode()
            lines.append(line)
            size += len(line)
            if size >= CHUNK:
                forms.update(self._identifier_forms(lines))
                lines.clear()
                size = 0
        forms.update(self._identifier_forms(lines))
        forms.update(self._accent_forms())
        return forms

    def _identifier_forms(self, lines: list[bytes]) -> Iterator[tuple[str, int, str]]:
        for word in self._new(_identifiers(b"\n".join(lines))):
            identifier = word.decode()
            parts = humps(identifier) if len(identifier) <= LONGEST else []
            for part in parts if len(parts) <= MAX_PARTS else ():
                if len(part) >= MIN_PART:
                    yield part, PARTS, identifier.lower()

    def _accent_forms(self) -> Iterator[tuple[str, int, str]]:
        new = self._new({word for word in set(" ".join(self._accented).split()) if not word.isascii()})
        self._accented.clear()
        for word in tokenize(" ".join(new)) if new else ():
            if len(word) > 1 and (key := fold(word)) != word:
                yield key, ACCENTS, word

    def _have_forms(self, characters: set[str]) -> bool:
        """Return whether a word with one of these characters may have another form."""
        for character in characters - self._plain - self._others:
            (self._plain if _is_plain(character) else self._others).add(character)
        return not characters <= self._plain

    def _new(self, words: set[Word]) -> set[Word]:
        """Return the words that were not looked at before, as far as they are remembered."""
        new = words - self.known
        if len(self.known) > MAX_KNOWN:
            self.known.clear()
        self.known |= new
        return new


def _is_plain(character: str) -> bool:
    """Return whether folding leaves a character as it is, in any word: it is wide, and so a word by itself, or without
    accents, other forms and capitals.
    """
    from unicodedata import combining

    if is_wide(character):
        return True
    return not combining(character) and all(fold(form) == form for form in (character, *tokenize(character)))


def _identifiers(letters: bytes) -> set[bytes]:
    """Return the words in camel case of some lines."""
    shape = letters.translate(_SHAPE) + b" "
    end_of_word, start_of_word = shape.find, shape.rfind
    found = set()
    for hump in _HUMPS:
        at = find(shape, hump)
        while at >= 0:
            stop = end_of_word(b" ", at)
            found.add(letters[start_of_word(b" ", 0, at) + 1 : stop])
            at = find(shape, hump, stop)
    return found
