"""Collect other forms of the words in some texts: without accents, and parts of identifiers in camel case.

A query for `cafe` or `gauge` looks them up to find `café` and `tideGauge`. Long texts are read only at their start,
because most of what tools print repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clew.index.tokenizer import tokenize
from clew.index.word_forms import ACCENTS, PARTS, fold, humps

LONGEST = 60  # characters of an identifier
MIN_PART = 3
MAX_PARTS = 8  # a random id has more
CHUNK = 1 << 17  # characters that are read together; larger strings are slower, as each needs new memory
_LIMITS = {"input": 4_000, "result": 1_000}  # characters of a text that are read; other fields are read whole
# The shape of a text: `a` for small letters and digits, `A` for capitals, spaces for all others. Finding humps in it takes
# a third of the time of a regular expression.
_SHAPE = {code: " " if not chr(code).isalnum() else "A" if chr(code).isupper() else "a" for code in range(128)}
_HUMPS = ("aA", "AAa")


class FormCollector:
    """Collects the forms of many texts; each word is looked at once."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def collect(self, texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, int, str]]:
        """Yield (key, kind, word) for each new word of some (field, text) that can also be found by `key`."""
        chunks: dict[bool, list[str]] = {True: [], False: []}
        sizes = {True: 0, False: 0}
        for field, text in texts:
            start = text[: _LIMITS.get(field)]
            is_ascii = start.isascii()
            chunks[is_ascii].append(start)
            sizes[is_ascii] += len(start)
            if sizes[is_ascii] >= CHUNK:
                yield from self._collect("\n".join(chunks[is_ascii]))
                chunks[is_ascii], sizes[is_ascii] = [], 0
        for chunk in chunks.values():
            yield from self._collect("\n".join(chunk))

    def _collect(self, text: str) -> Iterator[tuple[str, int, str]]:
        for identifier in self._new(_identifiers(text)):
            parts = humps(identifier) if len(identifier) <= LONGEST else []
            for part in parts if len(parts) <= MAX_PARTS else ():
                if len(part) >= MIN_PART:
                    yield part, PARTS, identifier.lower()
        if text.isascii():
            return
        new = self._new({word for word in set(text.split()) if not word.isascii()})
        for word in tokenize(" ".join(new)) if new else ():
            if len(word) > 1 and (key := fold(word)) != word:
                yield key, ACCENTS, word

    def _new(self, words: set[str]) -> set[str]:
        """Return the words that were not looked at before."""
        new = words - self._known
        self._known |= new
        return new


def _identifiers(text: str) -> set[str]:
    """Return the words in camel case."""
    letters = text if text.isascii() else text.encode("ascii", "replace").decode()
    shape = letters.translate(_SHAPE)
    found = set()
    for hump in _HUMPS:
        at = shape.find(hump)
        while at >= 0:
            start, stop = shape.rfind(" ", 0, at) + 1, shape.find(" ", at)
            stop = stop if stop >= 0 else len(shape)
            found.add(letters[start:stop])
            at = shape.find(hump, stop)
    return found
