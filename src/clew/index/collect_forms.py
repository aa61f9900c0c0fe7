"""Collect other forms of the words in a text: without accents, and parts of identifiers in camel case.

A query for `cafe` or `gauge` looks them up to find `café` and `tideGauge`. Long texts are read only at their start,
because most of what tools print repeats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.index.tokenizer import tokenize
from clew.index.word_forms import ACCENTS, PARTS, fold, humps

LONGEST = 60  # characters of an identifier
MIN_PART = 3
_LIMITS = {"input": 4_000, "result": 1_000}  # characters of a text that are read; other fields are read whole
_HUMP = re.compile(r"[a-z0-9][A-Z]")  # found in a fifth of the time, and most texts have none
_CAMEL_CASE = re.compile(r"\b[A-Z]*+[a-z0-9]++[A-Z][A-Za-z0-9]*+")


class FormCollector:
    """Collects the forms of many texts; each word is looked at once."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def collect(self, text: str, field: str) -> Iterator[tuple[str, int, str]]:
        """Yield (key, kind, word) for each new word of a text that can also be found by `key`."""
        text = text[: _LIMITS.get(field)]
        identifiers = set(_CAMEL_CASE.findall(text)) - self._known if _HUMP.search(text) else set()
        self._known |= identifiers
        for identifier in identifiers:
            if len(identifier) <= LONGEST:
                for part in humps(identifier):
                    if len(part) >= MIN_PART:
                        yield part, PARTS, identifier.lower()
        if not text.isascii():
            words = {word for word in text.split() if not word.isascii()} - self._known
            self._known |= words
            for word in tokenize(" ".join(words)):
                if len(word) > 1 and (key := fold(word)) != word:
                    yield key, ACCENTS, word
