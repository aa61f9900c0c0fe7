"""Extract the most informative sentences of a text without a model; the result is deterministic.

The first and the last sentence count most, then those that name files, decide something, or report errors and
numbers. Code blocks are left out unless there is nothing else.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_MARKUP = re.compile(r"^\s*(?:(?:[#>*+|-]+|\d+[.)])\s+)+")
_INFORMATIVE: tuple[tuple[re.Pattern[str], int], ...] = (
    (re.compile(r"`[^`\n]+`|\w-*(?:[./\\]-+)*\.[A-Za-z]\w{0,4}\b"), 3),  # a symbol, or the end of the path of a file
    (re.compile(r"\b(?:error|fail|exception|traceback|bug|broke|crash|wrong|missing|refus|denied)", re.IGNORECASE), 3),
    (re.compile(r"\b(?:decid|because|instead|so that|therefore|must|chose|agreed|rather than)", re.IGNORECASE), 3),
    (re.compile(r"\b(?:fix|add|remov|renam|replac|chang|creat|wrote|pass|done|merged|test)", re.IGNORECASE), 2),
    (re.compile(r"\d"), 1),
)
_FIRST, _LAST = 5, 4
_LONG = 240  # characters; a longer sentence displaces several others


def extract_sentences(text: str, limit: int) -> str:
    """Return at most `limit` characters of a text, in whole sentences where they fit; a short text unchanged."""
    text = text.strip()
    if len(text) <= limit:
        return text
    sentences = _sentences(_FENCE.sub("\n", text)) or _sentences(text)
    chosen: set[int] = set()
    room = limit
    for index in sorted(range(len(sentences)), key=lambda i: (-_score(sentences, i), i)):
        if len(sentences[index]) + 1 <= room:
            chosen.add(index)
            room -= len(sentences[index]) + 1
    if not chosen:
        return shorten_line(sentences[0] if sentences else text, limit)
    return " ".join(sentences[index] for index in sorted(chosen))


def shorten_line(text: str, limit: int) -> str:
    """Return a text on one line, cut between words."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: max(limit - 1, 0)]
    return (cut[: cut.rfind(" ")] if " " in cut[limit // 2 :] else cut).rstrip() + "…"


def _sentences(text: str) -> list[str]:
    parts = (" ".join(_MARKUP.sub("", part).split()) for part in _END.split(text))
    return list(dict.fromkeys(part for part in parts if part))


def _score(sentences: list[str], index: int) -> float:
    sentence = sentences[index]
    score = sum(weight for pattern, weight in _INFORMATIVE if pattern.search(sentence))
    score += _FIRST if index == 0 else _LAST if index == len(sentences) - 1 else 0
    return score - len(sentence) / _LONG
