"""The vocabulary files beside this module."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from benchmarks.recall.english import forms
from benchmarks.recall.word_lists import read_lines, word_lists

STOP = frozenset(word_lists()["stop"])


@dataclass(frozen=True, slots=True)
class Topic:
    """One project: its vocabulary, or its sentences if they are not English."""

    project: str
    ending: str
    nouns: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    adjectives: tuple[str, ...] = ()
    error: str = ""
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Common:
    """The words of software work, the common ones first."""

    nouns: list[str] = field(default_factory=list)
    verbs: list[str] = field(default_factory=list)
    adjectives: list[str] = field(default_factory=list)


@cache
def topics() -> list[Topic]:
    """Return the English topics, then those of other languages."""
    return [_english(line) for line in read_lines("topics.txt")] + [
        _foreign(line) for line in read_lines("foreign.txt")
    ]


@cache
def common() -> Common:
    return Common(*(word_lists()[part] for part in "nva"))


@cache
def synonyms() -> dict[str, list[str]]:
    """Return the words that people take for each word."""
    table: dict[str, list[str]] = {}
    for line in read_lines("synonyms.txt"):
        one, other = line.split()
        table.setdefault(one, []).append(other)
        table.setdefault(other, []).append(one)
    return table


@cache
def paraphrases() -> dict[str, list[str]]:
    """Return sentences in other words by the first digits of the session that they mean."""
    table: dict[str, list[str]] = {}
    for line in read_lines("paraphrases.txt"):
        session, sentence = line.split(" | ")
        table.setdefault(session, []).append(sentence)
    return table


@cache
def phrases() -> dict[str, list[str]]:
    """Return the sentences with slots, by section."""
    table: dict[str, list[str]] = {}
    section: list[str] = []
    for line in read_lines("phrases.txt"):
        if line.startswith("["):
            section = table.setdefault(line.strip("[]"), [])
        else:
            section.append(line)
    return table


@cache
def form_table() -> dict[str, list[str]]:
    """Return, for each form of each known word, all forms of that word."""
    known = [(word, "n") for word in common().nouns] + [(word, "v") for word in common().verbs]
    known += [(word, "a") for word in common().adjectives]
    for topic in topics():
        known += [(word, "n") for word in topic.nouns] + [(word, "v") for word in topic.verbs]
        known += [(word, "a") for word in topic.adjectives]
    table: dict[str, list[str]] = {}
    for word, part in dict.fromkeys(known):
        every = forms(word, part)
        for form in every:
            several = table.setdefault(form, [])
            several += [other for other in every if other not in several]
    return table


@cache
def inflectable() -> frozenset[str]:
    """Return the words that have another form."""
    return frozenset(word for word, forms in form_table().items() if len(forms) > 1)


def _english(line: str) -> Topic:
    project, ending, nouns, verbs, adjectives, error = line.split(" | ")
    return Topic(project, ending, tuple(nouns.split()), tuple(verbs.split()), tuple(adjectives.split()), error)


def _foreign(line: str) -> Topic:
    _, project, ending, *sentences = line.split(" | ")
    return Topic(project, ending, sentences=tuple(sentences))
