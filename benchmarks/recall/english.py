"""Endings of English words, by rules of its own: what clew folds is not used here."""

from __future__ import annotations

from benchmarks.recall.word_lists import word_lists

VOWELS = "aeiou"
DOUBLED = ("admit", "commit", "submit", "transmit", "permit", "refer", "debug", "cancel", "control", "propel")
PAST = dict(pair.split(":") for pair in word_lists()["past"])  # irregular verbs
AGENTS = frozenset(word_lists()["er"])  # verbs whose -er form is a word
ADVERBS = frozenset(word_lists()["ly"])  # adjectives whose -ly form is a word


def inflect(word: str, ending: str) -> str:
    """Return a word with an ending: s, ing, ed, er or ly; an empty one gives the word."""
    if ending == "s":
        return _with_s(word)
    if ending == "ly":
        return _with_ly(word)
    if ending == "ed" and word in PAST:
        return PAST[word]
    if ending == "er" and word.endswith("ate"):
        return word[:-1] + "or"
    return _with_vowel(word, ending) if ending else word


def forms(word: str, part: str) -> list[str]:
    """Return the forms of a noun, a verb or an adjective (n, v, a) that people use, the plain one first."""
    endings = {"n": ["s"], "v": ["s", "ing"], "a": ["ly"] * (word in ADVERBS)}[part]
    if part == "v":
        endings += ["ed"] * (word not in PAST) + ["er"] * (word in AGENTS)
    return list(dict.fromkeys([word, *(inflect(word, ending) for ending in endings)]))


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _with_ly(word: str) -> str:
    if word.endswith("y") and len(word) > 3:
        return word[:-1] + "ily"
    if word.endswith("le") and word[-3] not in VOWELS:
        return word[:-1] + "y"
    if word.endswith("ic"):
        return word + "ally"
    return word + ("y" if word.endswith("ll") else "ly")


def _with_vowel(word: str, ending: str) -> str:
    """Return a word with -ing, -ed or -er: a silent e goes, y becomes i, a last consonant is doubled."""
    if word.endswith("e"):
        kept = word if ending == "ing" and word.endswith(("ee", "ye", "oe")) else word[:-1]
        return kept + ending
    if word.endswith("y") and word[-2] not in VOWELS and ending != "ing":
        return word[:-1] + "i" + ending
    return word + (word[-1] if _doubles(word) else "") + ending


def _doubles(word: str) -> bool:
    if word in DOUBLED:
        return True
    groups = sum(letter in VOWELS and (not at or word[at - 1] not in VOWELS) for at, letter in enumerate(word))
    closed = len(word) > 2 and word[-1] not in VOWELS + "wxy" and word[-2] in VOWELS and word[-3] not in VOWELS
    return closed and groups == 1
