"""Word pieces: text as the numbers that the embedding model reads, cut into stretches that it can read at once.

The rules are those of the uncased BERT vocabulary: no accents, small letters, every mark and every ideograph a word of its
own, and of an unknown word the longest known beginnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category, normalize

# Pieces of a stretch besides the two that frame them, some 100 words: the length that the model's own tokenizer is set to. A
# longer one blurs: one sentence said over and over had a similarity of 0.36 to a paraphrase in 100 words, 0.24 in 200.
LONGEST = 126
MOST = 24  # stretches of one text; what is longer was pasted, and its beginning tells what it is
_LETTERS = 100  # of a word; a longer one is unknown
_WORD = re.compile(r"\S+")
_IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F))


class Stretch(NamedTuple):
    """A part of a text, and its word pieces with their frame."""

    start: int
    stop: int
    pieces: list[int]


class WordPieces:
    """A vocabulary in use."""

    def __init__(self, vocabulary: list[str]) -> None:
        self.number = {piece: number for number, piece in enumerate(vocabulary)}
        self.unknown, self.first, self.last = (self.number[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self.letters = _Letters()
        self.of_word = lru_cache(1 << 16)(self._of_word)

    def stretches(self, text: str) -> Iterator[Stretch]:
        """The first stretches of a text, cut between words, and between paragraphs once they are half full."""
        count, start, stop = 0, 0, 0
        held: list[int] = []
        for word in _WORD.finditer(text):
            more = self.of_word(word[0])[:LONGEST]
            is_apart = len(held) >= LONGEST // 2 and text.count("\n", stop, word.start()) > 1
            if held and (is_apart or len(held) + len(more) > LONGEST):
                yield Stretch(start, stop, [self.first, *held, self.last])
                count, held = count + 1, []
                if count == MOST:
                    return
            start = start if held else word.start()
            held += more
            stop = word.end()
        if held:
            yield Stretch(start, stop, [self.first, *held, self.last])

    def _of_word(self, word: str) -> list[int]:
        """The pieces of what stands between two spaces."""
        found: list[int] = []
        for part in word.translate(self.letters).split():
            found += self._of_part(part)
        return found

    def _of_part(self, part: str) -> list[int]:
        if len(part) > _LETTERS:
            return [self.unknown]
        found: list[int] = []
        at, size = 0, len(part)
        while at < size:
            before = "##" if at else ""
            stop = next((end for end in range(size, at, -1) if before + part[at:end] in self.number), 0)
            if not stop:
                return [self.unknown]
            found.append(self.number[before + part[at:stop]])
            at = stop
        return found


class _Letters(dict[int, str]):
    """What becomes of each character, found out when it is first met."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter.isspace():
            made = " "
        elif category(letter)[0] == "C" or code == 0xFFFD:
            made = ""
        else:
            bare = "".join(part for part in normalize("NFD", letter) if category(part) != "Mn").lower()
            made = "".join(f" {part} " if _is_mark(part) else part for part in bare)
            if any(first <= code <= last for first, last in _IDEOGRAPHS):
                made = f" {made} "
        self[code] = made
        return made


def _is_mark(letter: str) -> bool:
    return category(letter)[0] == "P" or (letter.isascii() and not letter.isalnum())
