"""Options of commands: a small grammar of which are known to be harmless. What it does not know is not."""

from __future__ import annotations

import re

from msgspec import Struct, field

Words = tuple[str, ...]
_MANY = 1000
_NUMBER = re.compile(r"[0-9]+")


def names(text: str) -> frozenset[str]:
    """The words of a text, for tables."""
    return frozenset(text.split())


class Glob(str):
    """A word that the shell replaces by the names of files, any number of them."""

    __slots__ = ()


class Grammar(Struct, frozen=True):
    """The harmless options of a command, and what its other words are.

    `flags` are single letters, `valued` letters with a value, `long` names without dashes (a value after `=` if it ends
    in `=`). `skip` is how many first words are not paths; `most` how many words there may be.
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    has_paths: bool = True
    skip: int = 0
    most: int = _MANY
    takes_numbers: bool = False  # -5
    pattern_letters: str = ""  # letters whose value stands for the first word (grep -e)
    file_letters: str = ""  # letters whose value is a file that is read (grep -f)
    recursive: str = ""  # letters that make it read whole folders
    options_first: bool = False  # a program that may take an option after the first other word for a file to write
    mixes: bool = False  # every version of the program accepts options after other words
    reads_lists: bool = False  # it replaces the word @FILE by options that it reads from the file
    files_only: bool = False  # given a folder, it reads files in it that are not named


class Taken(Struct):
    """The parts of a command line: the words that are not options, the operands among them (no pattern), the options.

    `paths` are all words that may be read as files: the operands, the values of options, and words after the first operand.
    """

    words: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)  # each with its value, in order

    @property
    def used(self) -> set[str]:
        """The options without dashes, letters and long names alike."""
        return {name for name, _ in self.options}


def take(grammar: Grammar, arguments: Words) -> Taken | None:
    """Sort the arguments of a command; None if there is an option that is not known to be harmless.

    Some systems end the options at the first other word. What stands after it may be a path there, so it counts as one.
    """
    if grammar.reads_lists and any(word.startswith("@") for word in arguments):
        return None
    taken = Taken()
    files: list[str] = []
    at = 0
    first = len(arguments)
    while 0 <= at < len(arguments):
        word = arguments[at]
        at += 1
        is_option = len(word) > 1 and word.startswith("-")
        if is_option and taken.words and grammar.options_first:
            return None
        if word == "--":
            taken.words.extend(arguments[at:])
            break
        if word.startswith("--"):
            at = _take_long(grammar, word[2:], at, taken)
        elif is_option and grammar.takes_numbers and _NUMBER.fullmatch(word[1:]):
            taken.options.append((word[1:], ""))
        elif is_option:
            at = _take_letters(grammar, word[1:], arguments, at, taken, files)
        else:
            first = min(first, at)
            taken.words.append(word)
    if at < 0 or len(taken.words) > grammar.most:
        return None
    skip = 0 if taken.used & set(grammar.pattern_letters) else grammar.skip
    taken.operands = taken.words[skip:] if grammar.has_paths else []
    globs = [word for word in arguments if isinstance(word, Glob)]
    if globs and (grammar.most < _MANY or any(not any(word is glob for word in taken.operands) for glob in globs)):
        return None
    later = arguments[first:] if grammar.has_paths and not grammar.mixes else ()
    taken.paths = [*files, *taken.operands, *later]
    return taken


def _take_long(grammar: Grammar, option: str, at: int, taken: Taken) -> int:
    name, equals, value = option.partition("=")
    taken.options.append((name, value))
    if equals:
        return at if f"{name}=" in grammar.long else -1
    return at if name in grammar.long else -1


def _take_letters(grammar: Grammar, letters: str, arguments: Words, at: int, taken: Taken, files: list[str]) -> int:
    for index, letter in enumerate(letters):
        if letter in grammar.valued:
            value = letters[index + 1 :]
            if not value:
                if at >= len(arguments):
                    return -1
                value = arguments[at]
                at += 1
            if letter in grammar.file_letters:
                files.append(value)
            taken.options.append((letter, value))
            return at
        if letter not in grammar.flags:
            return -1
        taken.options.append((letter, ""))
    return at
