"""The lexer: reads the plain part of the shell's language, and nothing else.

Whatever it does not know for certain is a `Doubt`, and a doubt is asked about. It knows words with quotes, `$NAME`, lists,
pipelines, subshells and redirects to files; no substitutions, here-documents, braces, functions, loops or tests.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from clew.chat.permission.command_options import names

LONGEST = 10_000
_BETWEEN = frozenset(" \t")
_ENDS = frozenset(" \t\n;&|()<>")
_NAME = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})")
_OPERATOR = re.compile(r"&&|\|\||\|&|;|\||&(?!>)|\n|\(|\)")
_REDIRECT = re.compile(r"(?:[0-9]+)?(?:<<<|>>|>\||>&|<&|<>|<|>)|&>>|&>")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_ODD_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[.*|\+?=)")
_KEYWORDS = names("if then else elif fi for while until do done case esac select function coproc in [[ ]]")
_PLAIN_ESCAPES = frozenset('"\\$`')
_COMMAND_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.+@:/-]*|:")


class Doubt(Exception):
    """Something that the shell may understand otherwise than we do. Its text says what, for the person."""


class WordSpan(NamedTuple):
    """Where a word stands in the command, in bytes, and what it is there."""

    start: int
    end: int


class Word(Struct, frozen=True):
    """One word: its source, and what the shell makes of it. A value that depends on variables is None."""

    source: str
    value: str | None
    has_glob: bool
    span: WordSpan
    variables: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The word in the one way that we write it, so that different quotes compare equal."""
        if self.value is None or self.has_glob:
            return self.source
        return quoted(self.value)


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
        """The command without its assignments and redirects, in the one way that we write it."""
        return " ".join(word.shown for word in self.words)

    @property
    def source(self) -> str:
        """The same, as it was written."""
        return " ".join(word.source for word in self.words)


class _Draft(Struct):
    words: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)

    def done(self) -> SimpleCommand:
        if not self.words:
            raise Doubt("a variable is set, or a file is opened, for what follows")
        return SimpleCommand(tuple(self.words), tuple(self.assignments), tuple(self.redirects))


def quoted(value: str) -> str:
    """A word in single quotes, if it needs them."""
    return value if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", value) else "'" + value.replace("'", "'\"'\"'") + "'"


def read(text: str) -> tuple[SimpleCommand, ...]:
    """All simple commands of a line, in order. Raises Doubt."""
    _look_for_odd_characters(text)
    commands: list[SimpleCommand] = []
    draft = _Draft()
    at = 0
    depth = 0
    while at < len(text):
        here = text[at]
        if here in _BETWEEN:
            at += 1
        elif here == "#":
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif redirect := _REDIRECT.match(text, at):
            at = _read_redirect(text, redirect, draft)
        elif text.startswith("((", at):
            raise Doubt("something is calculated")
        elif operator := _OPERATOR.match(text, at):
            depth = _close(operator[0], draft, commands, depth)
            draft = draft if operator[0] == "(" else _Draft()
            at = operator.end()
        else:
            word, at = _read_word(text, at)
            _take(word, draft)
    depth = _close(";", draft, commands, depth)
    if depth:
        raise Doubt("a bracket is not closed")
    return tuple(commands)


def _look_for_odd_characters(text: str) -> None:
    if len(text) > LONGEST:
        raise Doubt(f"it is longer than {LONGEST:,} characters")
    for character in text:
        kind = unicodedata.category(character)
        if (kind[0] in "CZ" and character not in " \t\n") or (kind in ("Mn", "Me") and not character.isascii()):
            raise Doubt(f"it holds the character U+{ord(character):04X}, which cannot be seen")
        if not character.isascii() and unicodedata.normalize("NFKC", character).isascii():
            raise Doubt(f"it holds {character!r}, which looks like another character")


def _close(operator: str, draft: _Draft, commands: list[SimpleCommand], depth: int) -> int:
    """End a command at an operator. The depth of brackets after it."""
    if draft.words or draft.assignments or draft.redirects:
        if operator == "(":
            raise Doubt("a bracket stands behind a word")
        commands.append(draft.done())
    if operator == ")" and depth == 0:
        raise Doubt("a bracket is not opened")
    return depth + (operator == "(") - (operator == ")")


def _take(word: Word, draft: _Draft) -> None:
    if draft.words:
        draft.words.append(word)
        return
    if assignment := _ASSIGNMENT.match(word.source):
        value = None if word.value is None else word.value[assignment.end() :]
        draft.assignments.append((assignment[1], replace(word, value=value)))
        return
    if _ODD_ASSIGNMENT.match(word.source):
        raise Doubt(f"{word.source} sets a variable")
    if word.source == "!" and not draft.assignments:
        return
    if word.source in _KEYWORDS:
        raise Doubt(f"{word.source} is a word of the shell's own")
    if word.value is None or word.has_glob or not _COMMAND_NAME.fullmatch(word.value):
        raise Doubt(f"{word.source} is not the plain name of a command")
    draft.words.append(word)


def _read_redirect(text: str, found: re.Match[str], draft: _Draft) -> int:
    operator = found[0].lstrip("0123456789")
    at = found.end()
    if text.startswith("(", at) or (operator == "<" and text.startswith("<", at)):
        raise Doubt("a here-document or the output of another command is passed on")
    while at < len(text) and text[at] in _BETWEEN:
        at += 1
    if at == len(text) or text[at] in _ENDS:
        raise Doubt("a redirect leads nowhere")
    word, at = _read_word(text, at)
    if word.has_glob:
        raise Doubt(f"the redirect to {word.source} depends on what files there are")
    draft.redirects.append(Redirect(operator, word))
    return at


def _read_word(text: str, start: int) -> tuple[Word, int]:
    at = start
    parts: list[str] = []
    variables: list[str] = []
    has_glob = False
    while at < len(text) and text[at] not in _ENDS:
        here = text[at]
        if here == "'":
            end = text.find("'", at + 1)
            if end < 0:
                raise Doubt("a quote is not closed")
            parts.append(text[at + 1 : end])
            at = end + 1
        elif here == '"':
            inside, at = _read_double(text, at + 1, variables)
            parts.append(inside)
        elif here == "\\":
            parts.append(_escaped(text, at))
            at += 2
        elif here == "$":
            at = _read_variable(text, at, variables)
        else:
            if here in "`{}" or (at == start and here in "^=") or (here == "~" and text[at - 1 : at] in ("=", ":")):
                raise Doubt(f"an unquoted {here} has a meaning of its own")
            has_glob = has_glob or here in "*?["
            parts.append(here)
            at += 1
    source = text[start:at]
    span = WordSpan(len(text[:start].encode()), len(text[:at].encode()))
    return Word(source, None if variables else "".join(parts), has_glob, span, tuple(variables)), at


def _read_double(text: str, at: int, variables: list[str]) -> tuple[str, int]:
    """The text within double quotes, and where the word continues. Adds the variables in it."""
    parts: list[str] = []
    while at < len(text):
        here = text[at]
        if here == '"':
            return "".join(parts), at + 1
        if here == "`":
            raise Doubt("a command stands within the command")
        if here == "\\":
            escaped = _escaped(text, at)
            parts.append(escaped if escaped in _PLAIN_ESCAPES else "\\" + escaped)
            at += 2
        elif here == "$" and not _is_lone(text, at):
            at = _read_variable(text, at, variables)
        else:
            parts.append(here)
            at += 1
    raise Doubt("a quote is not closed")


def _is_lone(text: str, at: int) -> bool:
    """Whether a dollar within double quotes is just that: before a blank or the closing quote."""
    return text[at + 1 : at + 2] in ('"', " ")


def _escaped(text: str, at: int) -> str:
    following = text[at + 1 : at + 2]
    if following in ("", "\n"):
        raise Doubt("a line is continued by a backslash")
    return following


def _read_variable(text: str, at: int, variables: list[str]) -> int:
    found = _NAME.match(text, at)
    if not found:
        raise Doubt(f"{text[at : at + 2]} begins an expansion or a command within the command")
    variables.append(found[0].strip("${}"))
    return found.end()
