"""Split text into BERT word pieces, grouped into stretches that fit the embedding model.

The rules are those of the uncased BERT vocabulary: no accents, lower case, every punctuation mark and ideograph a
separate word, and unknown words split into the longest known prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, normalize

# Word pieces of a stretch without [CLS] and [SEP], about 100 words: the limit of the model's own tokenizer. A
# longer one blurs: a repeated sentence had a similarity of 0.36 to a paraphrase in 100 words, 0.24 in 200.
MAX_PIECES = 126
MAX_STRETCHES = 24  # of one text; longer ones were pasted, and their beginning is typical
_MAX_LETTERS = 100  # longer words are unknown
_WORD = re.compile(r"\S+")
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F))


class Stretch(NamedTuple):
    """A part of a text, and its word pieces with [CLS] and [SEP]."""

    start: int
    stop: int
    pieces: list[int]


class WordPieces:
    """A tokenizer with a vocabulary."""

    def __init__(self, vocabulary: list[str]) -> None:
        self.number = {piece: number for number, piece in enumerate(vocabulary)}
        self.unknown, self.first, self.last = (self.number[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self.letters = _LetterTable()
        self.of_word = lru_cache(1 << 16)(self._of_word)

    def stretches(self, text: str) -> Iterator[Stretch]:
        """Yield the first stretches of a text, split between words, and between paragraphs once half full."""
        count, start, stop = 0, 0, 0
        pieces: list[int] = []
        for word in _WORD.finditer(text):
            word_pieces = self.of_word(word[0])[:MAX_PIECES]
            is_apart = len(pieces) >= MAX_PIECES // 2 and text.count("\n", stop, word.start()) > 1
            if pieces and (is_apart or len(pieces) + len(word_pieces) > MAX_PIECES):
                yield Stretch(start, stop, [self.first, *pieces, self.last])
                count, pieces = count + 1, []
                if count == MAX_STRETCHES:
                    return
            start = start if pieces else word.start()
            pieces += word_pieces
            stop = word.end()
        if pieces:
            yield Stretch(start, stop, [self.first, *pieces, self.last])

    def _of_word(self, word: str) -> list[int]:
        """Return the pieces of a run between two spaces."""
        pieces: list[int] = []
        for part in word.translate(self.letters).split():
            pieces += self._of_part(part)
        return pieces

    def _of_part(self, part: str) -> list[int]:
        if len(part) > _MAX_LETTERS:
            return [self.unknown]
        pieces: list[int] = []
        start, size = 0, len(part)
        while start < size:
            prefix = "##" if start else ""
            stop = next((end for end in range(size, start, -1) if prefix + part[start:end] in self.number), 0)
            if not stop:
                return [self.unknown]
            pieces.append(self.number[prefix + part[start:stop]])
            start = stop
        return pieces


class _LetterTable(dict[int, str]):
    """Translation table that computes the replacement of a character when it first occurs."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter.isspace():
            replacement = " "
        elif category(letter)[0] == "C" or code == 0xFFFD:
            replacement = ""
        else:
            bare = "".join(part for part in normalize("NFD", letter) if category(part) != "Mn").lower()
            replacement = "".join(f" {part} " if _is_punctuation(part) else part for part in bare)
            if any(first <= code <= last for first, last in _IDEOGRAPHS):
                replacement = f" {replacement} "
        self[code] = replacement
        return replacement


def _is_punctuation(letter: str) -> bool:
    return category(letter)[0] == "P" or (letter.isascii() and not letter.isalnum())
