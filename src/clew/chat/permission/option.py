"""Options of commands: a small grammar of which are known to be harmless. What it does not know is not."""

from __future__ import annotations

from msgspec import Struct, field

Words = tuple[str, ...]


def names(text: str) -> frozenset[str]:
    """The words of a text, for tables."""
    return frozenset(text.split())


class Grammar(Struct, frozen=True):
    """The harmless options of a command, and what its other words are.

    `flags` are single letters, `valued` letters with a value, `long` names without dashes (a value behind `=` if it ends
    in `=`, in the next word as well). `skip` is how many first words are no paths; `most` how many words there may be.
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    has_paths: bool = True
    skip: int = 0
    most: int = 1000
    takes_numbers: bool = False  # -5
    takes_plus: bool = False  # +5
    pattern_letters: str = ""  # letters whose value stands for the first word (grep -e)
    file_letters: str = ""  # letters whose value is a file that is read (grep -f)
    recursive: str = ""  # letters that make it read whole folders
    any_words: bool = False  # words may hold variables: they are only printed


class Taken(Struct):
    """What a command line came to: the words that are no options, those of them that are paths, the letters used."""

    words: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    letters: set[str] = field(default_factory=set)


def take(grammar: Grammar, arguments: Words) -> Taken | None:
    """Sort the arguments of a command; None if there is an option that is not known to be harmless."""
    taken = Taken()
    files: list[str] = []
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word == "--":
            taken.words.extend(arguments[at:])
            break
        if word.startswith("--"):
            at = _take_long(grammar, word[2:], at)
        elif word.startswith("-") and len(word) > 1 and not (grammar.takes_numbers and word[1:].isdigit()):
            at = _take_letters(grammar, word[1:], arguments, at, taken, files)
        elif grammar.takes_plus and word.startswith("+") and word[1:].isdigit():
            continue
        elif not (grammar.takes_numbers and word.startswith("-") and len(word) > 1):
            taken.words.append(word)
        if at < 0:
            return None
    skip = 0 if taken.letters & set(grammar.pattern_letters) else grammar.skip
    if len(taken.words) > grammar.most:
        return None
    taken.paths = files + (taken.words[skip:] if grammar.has_paths else [])
    return taken


def _take_long(grammar: Grammar, option: str, at: int) -> int:
    name, equals, _ = option.partition("=")
    if equals:
        return at if f"{name}=" in grammar.long else -1
    if name in grammar.long:
        return at
    return at + 1 if f"{name}=" in grammar.long else -1


def _take_letters(grammar: Grammar, letters: str, arguments: Words, at: int, taken: Taken, files: list[str]) -> int:
    for index, letter in enumerate(letters):
        taken.letters.add(letter)
        if letter in grammar.valued:
            value = letters[index + 1 :]
            if not value:
                if at >= len(arguments):
                    return -1
                value = arguments[at]
                at += 1
            if letter in grammar.file_letters:
                files.append(value)
            return at
        if letter not in grammar.flags:
            return -1
    return at
