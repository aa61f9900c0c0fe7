"""Parse command-line options by a grammar of harmless options; an unknown option is not harmless."""

from __future__ import annotations

import re

from msgspec import Struct, field

Words = tuple[str, ...]
_UNLIMITED = 1000
_NUMBER = re.compile(r"[0-9]+")


def split_names(text: str) -> frozenset[str]:
    """Return the space-separated names of a text as a set, for tables."""
    return frozenset(text.split())


class Glob(str):
    """An argument that the shell replaces by file names, any number of them."""

    __slots__ = ()


class Grammar(Struct, frozen=True):
    """The harmless options of a command, and the meaning of its other arguments.

    `flags` are single letters, `valued` letters with a value, `long` names without dashes (a name that ends in `=`
    takes a value). `skip` is the number of leading arguments that are not paths, `most` the maximum number of
    arguments.

    Example: `Grammar("qv", "n", split_names("lines="))` accepts `head -qn5 --lines=5 FILE` and rejects `head --foo`.
    """

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    has_paths: bool = True
    skip: int = 0
    most: int = _UNLIMITED
    takes_numbers: bool = False  # -5
    pattern_letters: str = ""  # letters whose value replaces the first argument (grep -e)
    file_letters: str = ""  # letters whose value is a file that is read (grep -f)
    recursive: str = ""  # letters that make it read folders recursively
    options_first: bool = False  # an option after the first operand could be read as a file to write
    mixes: bool = False  # every version of the program accepts options after operands
    reads_lists: bool = False  # the program replaces an argument @FILE by options read from that file
    files_only: bool = False  # for a folder, the program reads files in it that are not named


class ParsedArguments(Struct):
    """Sorted arguments: those that are not options, the operands among them (without a pattern), and the options.

    `paths` are all arguments that may be read as files: operands, values of options, and everything after the first
    operand.
    """

    words: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    options: list[tuple[str, str]] = field(default_factory=list)  # (name, value) in order

    @property
    def used(self) -> set[str]:
        """The option names without dashes, letters and long names alike."""
        return {name for name, _ in self.options}


def parse_arguments(grammar: Grammar, arguments: Words) -> ParsedArguments | None:
    """Sort the arguments of a command; return None if an option is not known to be harmless.

    BSD tools end the options at the first operand, GNU tools do not: in `wc FILE -l`, `-l` is an option or a file.
    Everything after the first operand therefore counts as a path as well.
    """
    if grammar.reads_lists and any(word.startswith("@") for word in arguments):
        return None
    # Example: `head -20 -n 5 notes.txt` has the options 20 and n=5 and the operand notes.txt.
    parsed = ParsedArguments()
    files: list[str] = []
    index = 0
    first = len(arguments)
    while 0 <= index < len(arguments):
        word = arguments[index]
        index += 1
        is_option = len(word) > 1 and word.startswith("-")
        if is_option and parsed.words and grammar.options_first:
            return None
        if word == "--":
            parsed.words.extend(arguments[index:])
            break
        if word.startswith("--"):
            index = _parse_long(grammar, word[2:], index, parsed)
        elif is_option and grammar.takes_numbers and _NUMBER.fullmatch(word[1:]):
            parsed.options.append((word[1:], ""))
        elif is_option:
            index = _parse_letters(grammar, word[1:], arguments, index, parsed, files)
        else:
            first = min(first, index)
            parsed.words.append(word)
    if index < 0 or len(parsed.words) > grammar.most:
        return None
    skip = 0 if parsed.used & set(grammar.pattern_letters) else grammar.skip
    parsed.operands = parsed.words[skip:] if grammar.has_paths else []
    globs = [word for word in arguments if isinstance(word, Glob)]
    if globs and (
        grammar.most < _UNLIMITED or any(not any(word is glob for word in parsed.operands) for glob in globs)
    ):
        return None
    later = arguments[first:] if grammar.has_paths and not grammar.mixes else ()
    parsed.paths = [*files, *parsed.operands, *later]
    return parsed


def _parse_long(grammar: Grammar, option: str, at: int, parsed: ParsedArguments) -> int:
    """Parse `--name` or `--name=value`. Return the next index, or -1 if the option is not known."""
    name, equals, value = option.partition("=")
    parsed.options.append((name, value))
    if equals:
        return at if f"{name}=" in grammar.long else -1
    return at if name in grammar.long else -1


def _parse_letters(
    grammar: Grammar, letters: str, arguments: Words, at: int, parsed: ParsedArguments, files: list[str]
) -> int:
    """Parse `-abc`, or `-n5` and `-n 5` for a letter with a value. Return the next index, or -1 if a letter is not
    known.
    """
    for position, letter in enumerate(letters):
        if letter in grammar.valued:
            value = letters[position + 1 :]
            if not value:
                if at >= len(arguments):
                    return -1
                value = arguments[at]
                at += 1
            if letter in grammar.file_letters:
                files.append(value)
            parsed.options.append((letter, value))
            return at
        if letter not in grammar.flags:
            return -1
        parsed.options.append((letter, ""))
    return at
