"""Collect other forms of the words in some texts: without accents, and parts of identifiers in camel case.

A query for `cafe` or `gauge` looks them up to find `café` and `tideGauge`. Long texts are read only at their start,
because most of what tools print repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from stringzilla import find

from clew.index.tokenizer import tokenize
from clew.index.word_forms import ACCENTS, PARTS, fold, humps

Word = TypeVar("Word", bytes, str)
LONGEST = 60  # characters of an identifier
MIN_PART = 3
MAX_PARTS = 8  # a random id has more
CHUNK = 1 << 17  # characters that are read together; larger strings are slower, as each needs new memory
MAX_KNOWN = 50_000  # words that are remembered
_LIMITS = {"input": 4_000, "result": 1_000}  # characters of a text that are read; other fields are read whole
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

    def collect(self, texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, int, str]]:
        """Yield (key, kind, word) for each new word of some (field, text) that can also be found by `key`."""
        starts = [text[: _LIMITS.get(field)] for field, text in texts]
        for is_ascii in (True, False):
            chunk: list[str] = []
            size = 0
            for start in starts:
                if start.isascii() is is_ascii:
                    chunk.append(start)
                    size += len(start)
                    if size >= CHUNK:
                        yield from self._collect("\n".join(chunk))
                        chunk, size = [], 0
            yield from self._collect("\n".join(chunk))

    def _collect(self, text: str) -> Iterator[tuple[str, int, str]]:
        for letters in self._new(_identifiers(text)):
            identifier = letters.decode()
            parts = humps(identifier) if len(identifier) <= LONGEST else []
            for part in parts if len(parts) <= MAX_PARTS else ():
                if len(part) >= MIN_PART:
                    yield part, PARTS, identifier.lower()
        if text.isascii():
            return
        lines = " ".join([line for line in text.split("\n") if not line.isascii()])
        new = self._new({word for word in set(lines.split()) if not word.isascii()})
        for word in tokenize(" ".join(new)) if new else ():
            if len(word) > 1 and (key := fold(word)) != word:
                yield key, ACCENTS, word

    def _new(self, words: set[Word]) -> set[Word]:
        """Return the words that were not looked at before, as far as they are remembered."""
        new = words - self.known
        if len(self.known) > MAX_KNOWN:
            self.known.clear()
        self.known |= new
        return new


def _identifiers(text: str) -> set[bytes]:
    """Return the words in camel case."""
    letters = text.encode("ascii", "replace")
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
