"""Tokenize the simple subset of the shell language; anything else is uncertain.

Uncertain input raises `UncertainCommand`, and the user is prompted. Supported are words with quotes, `$NAME`, lists,
pipelines, subshells and redirects to files; not substitutions, here-documents, braces, functions, loops or tests.

Example: `A=1 git log -n5 'a b' 2>/dev/null | wc -l` gives two `SimpleCommand`s: the words `git`, `log`, `-n5`, `a b`
with the assignment `A=1` and one redirect, and the words `wc`, `-l`.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from clew.chat.permission.command_options import split_names

MAX_LENGTH = 10_000
_BLANKS = frozenset(" \t")
_WORD_ENDS = frozenset(" \t\n;&|()<>")
_NAME = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})")
_OPERATOR = re.compile(r"&&|\|\||\|&|;|\||&(?!>)|\n|\(|\)")
_REDIRECT = re.compile(r"(?:[0-9]+)?(?:<<<|>>|>\||>&|<&|<>|<|>)|&>>|&>")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_ODD_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*|\+?=)")
_KEYWORDS = split_names("if then else elif fi for while until do done case esac select function coproc in [[ ]]")
_DOUBLE_QUOTE_ESCAPES = frozenset('"\\$`')
_COMMAND_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+@:/-]*|:")


class UncertainCommand(Exception):
    """The shell may interpret the command in another way than we do. The text states why, for the user."""


class WordSpan(NamedTuple):
    """The byte range of a word in the command."""

    start: int
    end: int


class Word(Struct, frozen=True):
    """One word: its source, and its value after quote removal. The value is None if it depends on variables."""

    source: str
    value: str | None
    has_glob: bool
    span: WordSpan
    variables: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The word in one canonical quoting, so that different quotes compare equal."""
        if self.value is None or self.has_glob:
            return self.source
        return quote(self.value)


class Redirect(Struct, frozen=True):
    """A file that the shell opens for a command."""

    operator: str
    target: Word


class SimpleCommand(Struct, frozen=True):
    """One simple command."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()

    @property
    def name(self) -> str:
        return self.words[0].value or ""

    @property
    def text(self) -> str:
        """The command without assignments and redirects, in canonical quoting."""
        return " ".join(word.shown for word in self.words)

    @property
    def source(self) -> str:
        """The command without assignments and redirects, as it was written."""
        return " ".join(word.source for word in self.words)


class _Draft(Struct):
    words: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)

    def build(self) -> SimpleCommand:
        if not self.words:
            raise UncertainCommand("a variable is set, or a file is opened, for what follows")
        return SimpleCommand(tuple(self.words), tuple(self.assignments), tuple(self.redirects))


def quote(value: str) -> str:
    """Return a word in single quotes, if it needs them."""
    return value if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", value) else "'" + value.replace("'", "'\"'\"'") + "'"


def parse_commands(text: str) -> tuple[SimpleCommand, ...]:
    """Return all simple commands of a line in order. Raises UncertainCommand."""
    _reject_hidden_characters(text)
    commands: list[SimpleCommand] = []
    draft = _Draft()
    position = 0
    depth = 0
    while position < len(text):
        character = text[position]
        if character in _BLANKS:
            position += 1
        elif character == "#":
            position = text.find("\n", position) if "\n" in text[position:] else len(text)
        elif redirect := _REDIRECT.match(text, position):
            position = _read_redirect(text, redirect, draft)
        elif text.startswith("((", position):
            raise UncertainCommand("it contains an arithmetic expression")
        elif operator := _OPERATOR.match(text, position):
            depth = _end_command(operator[0], draft, commands, depth)
            draft = draft if operator[0] == "(" else _Draft()
            position = operator.end()
        else:
            word, position = _read_word(text, position)
            _add_word(word, draft)
    depth = _end_command(";", draft, commands, depth)
    if depth:
        raise UncertainCommand("a parenthesis is not closed")
    return tuple(commands)


def _reject_hidden_characters(text: str) -> None:
    """Raise UncertainCommand for invisible characters, and for those that look like an ASCII character (`；` for
    `;`).
    """
    if len(text) > MAX_LENGTH:
        raise UncertainCommand(f"it is longer than {MAX_LENGTH:,} characters")
    for character in text:
        kind = unicodedata.category(character)
        if (kind[0] in "CZ" and character not in " \t\n") or (kind in ("Mn", "Me") and not character.isascii()):
            raise UncertainCommand(f"it contains the character U+{ord(character):04X}, which is invisible")
        if not character.isascii() and unicodedata.normalize("NFKC", character).isascii():
            raise UncertainCommand(f"it contains {character!r}, which looks like another character")


def _end_command(operator: str, draft: _Draft, commands: list[SimpleCommand], depth: int) -> int:
    """End a command at an operator. Return the depth of parentheses after it."""
    if draft.words or draft.assignments or draft.redirects:
        if operator == "(":
            raise UncertainCommand("a parenthesis follows a word")
        commands.append(draft.build())
    if operator == ")" and depth == 0:
        raise UncertainCommand("a parenthesis is not opened")
    return depth + (operator == "(") - (operator == ")")


def _add_word(word: Word, draft: _Draft) -> None:
    """Add a word to the command: an assignment before the name, the name, or an argument."""
    if draft.words:
        draft.words.append(word)
        return
    if assignment := _ASSIGNMENT.match(word.source):
        value = None if word.value is None else word.value[assignment.end() :]
        draft.assignments.append((assignment[1], replace(word, value=value)))
        return
    if _ODD_ASSIGNMENT.match(word.source):
        raise UncertainCommand(f"{word.source} sets a variable")
    if word.source == "!" and not draft.assignments:
        return
    if word.source in _KEYWORDS:
        raise UncertainCommand(f"{word.source} is a keyword of the shell")
    if word.value is None or word.has_glob or not _COMMAND_NAME.fullmatch(word.value):
        raise UncertainCommand(f"{word.source} is not a plain command name")
    draft.words.append(word)


def _read_redirect(text: str, match: re.Match[str], draft: _Draft) -> int:
    """Read a redirect and its target, add it to the command, and return the position after it."""
    operator = match[0].lstrip("0123456789")
    position = match.end()
    if text.startswith("(", position) or (operator == "<" and text.startswith("<", position)):
        raise UncertainCommand("it contains a here-document or a process substitution")
    while position < len(text) and text[position] in _BLANKS:
        position += 1
    if position == len(text) or text[position] in _WORD_ENDS:
        raise UncertainCommand("a redirect has no target")
    word, position = _read_word(text, position)
    if word.has_glob:
        raise UncertainCommand(f"the redirect to {word.source} depends on the existing files")
    draft.redirects.append(Redirect(operator, word))
    return position


def _read_word(text: str, start: int) -> tuple[Word, int]:
    r"""Read one word that starts here; return it and the position after it.

    `"a b"'c'\ d$X` is one word: the parts `a b`, `c`, ` ` and `d` and the variable X, hence without a value.
    """
    position = start
    parts: list[str] = []
    variables: list[str] = []
    has_glob = False
    while position < len(text) and text[position] not in _WORD_ENDS:
        character = text[position]
        if character == "'":
            end = text.find("'", position + 1)
            if end < 0:
                raise UncertainCommand("a quote is not closed")
            parts.append(text[position + 1 : end])
            position = end + 1
        elif character == '"':
            quoted_text, position = _read_double_quoted(text, position + 1, variables)
            parts.append(quoted_text)
        elif character == "\\":
            parts.append(_escaped_character(text, position))
            position += 2
        elif character == "$":
            position = _read_variable(text, position, variables)
        else:
            if (
                character in "`{}"
                or (position == start and character in "^=")
                or (character == "~" and text[position - 1 : position] in ("=", ":"))
            ):
                raise UncertainCommand(f"an unquoted {character} has a special meaning")
            has_glob = has_glob or character in "*?["
            parts.append(character)
            position += 1
    source = text[start:position]
    span = WordSpan(len(text[:start].encode()), len(text[:position].encode()))
    return Word(source, None if variables else "".join(parts), has_glob, span, tuple(variables)), position


def _read_double_quoted(text: str, position: int, variables: list[str]) -> tuple[str, int]:
    """Return the text within double quotes and the position after the closing quote. Adds its variables."""
    parts: list[str] = []
    while position < len(text):
        character = text[position]
        if character == '"':
            return "".join(parts), position + 1
        if character == "`":
            raise UncertainCommand("it contains a command substitution")
        if character == "\\":
            escaped = _escaped_character(text, position)
            parts.append(escaped if escaped in _DOUBLE_QUOTE_ESCAPES else "\\" + escaped)
            position += 2
        elif character == "$" and not _is_literal_dollar(text, position):
            position = _read_variable(text, position, variables)
        else:
            parts.append(character)
            position += 1
    raise UncertainCommand("a quote is not closed")


def _is_literal_dollar(text: str, at: int) -> bool:
    """Return True if a dollar within double quotes stands for itself: before a space or the closing quote."""
    return text[at + 1 : at + 2] in ('"', " ")


def _escaped_character(text: str, at: int) -> str:
    following = text[at + 1 : at + 2]
    if following in ("", "\n"):
        raise UncertainCommand("a line is continued by a backslash")
    return following


def _read_variable(text: str, at: int, variables: list[str]) -> int:
    match = _NAME.match(text, at)
    if not match:
        raise UncertainCommand(f"{text[at : at + 2]} begins an expansion or a command substitution")
    variables.append(match[0].strip("${}"))
    return match.end()
