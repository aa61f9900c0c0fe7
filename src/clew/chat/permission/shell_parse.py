"""Shell commands, read twice: by our strict lexer and by tree-sitter. Where they differ, or either is not sure, there is
a doubt, and a doubt is asked about. For rules that forbid, everything that looks like a command is found, however deep."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.chat.permission import shell_lexer
from clew.chat.permission.command_options import names
from clew.chat.permission.shell_lexer import Doubt, SimpleCommand, WordSpan
from clew.errors import ClewError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_PLAIN_NODES = names(
    "program list pipeline command command_name redirected_statement file_redirect herestring_redirect subshell"
    " negated_command comment word string string_content raw_string concatenation number simple_expansion expansion"
    " variable_name variable_assignment file_descriptor"
)
_WORD_FIELDS = frozenset(("argument", "destination"))
_DESCRIPTOR = re.compile(rb"[0-9]+|-|[0-9]+-")
_ANSI = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_SPLIT = re.compile(r"&&|\|\||[;|&\n`(){}<>]|\$\(")
_SPLIT_OUTSIDE_BRACES = re.compile(r"&&|\|\||[;|&\n`()<>]|\$\(")
_BRACES = re.compile(r"(?<!\$)\{([^{}]*,[^{}]*)\}")
_SEQUENCE = re.compile(r"\{[^{}\s]*\.\.[^{}\s]*\}")
_MOST_WORDS = 200
_TARGET = re.compile(r"[<>]+[&|]?[ \t]*([^ \t\n;&|<>()]+)")


class ParsedShell(Struct, frozen=True):
    """A shell command taken apart. With a doubt, `commands` is empty. For forbidding: `loose` is all that may be run,
    `parsed` the part of it that surely stands where commands do, `targets` all files that redirects may open."""

    text: str
    commands: tuple[SimpleCommand, ...]
    doubt: str
    loose: tuple[tuple[str, ...], ...]
    parsed: tuple[tuple[str, ...], ...]

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(unquoted(found[1]) for found in _TARGET.finditer(self.text))


def parse(text: str) -> ParsedShell:
    """Take a command apart. It never fails: what cannot be read is a doubt."""
    try:
        if len(text) > shell_lexer.LONGEST:
            raise Doubt(f"it is longer than {shell_lexer.LONGEST:,} characters")
        root = _parser().parse(text.encode("utf-8")).root_node
    except UnicodeEncodeError:
        return _unreadable(text, "it is not text")
    except Doubt as doubt:
        return _unreadable(text, str(doubt))
    found = tuple(_loose_commands(root))
    loose = tuple(dict.fromkeys((*found, *_pieces(text), *_unbraced_pieces(text))))
    parsed = (*(loose if root.has_error else found), *_sequences(text))
    try:
        commands = shell_lexer.read(text)
        agree(text, commands)
    except Doubt as doubt:
        return ParsedShell(text, (), str(doubt), loose, parsed)
    return ParsedShell(text, commands, "", loose, parsed)


def _unreadable(text: str, why: str) -> ParsedShell:
    pieces = (*_pieces(text), *_unbraced_pieces(text))
    return ParsedShell(text, (), why, pieces, pieces)


@cache
def _parser() -> Parser:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        raise ClewError(
            "Shell commands cannot be judged: tree-sitter is not installed.",
            hint="Install it with: pip install 'clew[chat]'",
        ) from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def agree(text: str, commands: tuple[SimpleCommand, ...]) -> None:
    """Raise Doubt unless tree-sitter sees the same words in the same places, and nothing else."""
    source = text.encode("utf-8")
    root = _parser().parse(source).root_node
    if root.has_error:
        raise Doubt("it cannot be read in one way only")
    theirs: set[WordSpan] = set()
    for node in _all(root):
        if node.is_named and node.type not in _PLAIN_NODES:
            raise Doubt(f"it holds {_readable(node.type)}")
        theirs.update(_words_of(node))
    ours = {word.span for c in commands for word in c.words}
    ours |= {word.span for c in commands for _, word in c.assignments}
    ours |= {r.target.span for c in commands for r in c.redirects}
    differing = {s for s in ours ^ theirs if not _DESCRIPTOR.fullmatch(source[s.start : s.end])}
    if differing:
        raise Doubt("it can be read in more than one way")


def _readable(kind: str) -> str:
    word = kind.replace("_", " ")
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _words_of(node: Node) -> Iterator[WordSpan]:
    """The words that stand directly in a command or a redirect."""
    if node.type == "herestring_redirect":
        yield from (WordSpan(child.start_byte, child.end_byte) for child in node.named_children)
    if node.type not in ("command", "file_redirect"):
        return
    for index, child in enumerate(node.children):
        if child.type in ("command_name", "variable_assignment") or node.field_name_for_child(index) in _WORD_FIELDS:
            yield WordSpan(child.start_byte, child.end_byte)


def _all(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


# -- for rules that forbid: rather too much than too little


def _loose_commands(root: Node) -> Iterator[tuple[str, ...]]:
    for node in _all(root):
        if node.type in ("command", "declaration_command", "unset_command", "test_command"):
            words = [c for c in node.children if c.type not in ("variable_assignment", "file_redirect")]
            texts = tuple(unquoted((word.text or b"").decode("utf-8", "replace")) for word in words)
            if texts:
                yield texts


def _pieces(text: str) -> Iterator[tuple[str, ...]]:
    """The same by a plain cut at everything that may end a command, so that no misreading hides one."""
    joined = text.replace("\\\n", "").replace("\r", "\n")
    for piece in _SPLIT.split(joined):
        words = piece.split()
        while words and re.match(r"[A-Za-z_][A-Za-z0-9_]*\+?=", words[0]):
            words = words[1:]
        if words:
            yield tuple(unquoted(word) for word in words)


def _unbraced_pieces(text: str) -> Iterator[tuple[str, ...]]:
    """The pieces that hold lists in braces, with those expanded: `{git,} push` is `git push`."""
    for piece in _SPLIT_OUTSIDE_BRACES.split(text.replace("\\\n", "")):
        if _BRACES.search(piece):
            words = [part for word in piece.split() for part in _unbraced(word)][:_MOST_WORDS]
            if words:
                yield tuple(unquoted(word) for word in words)


def _sequences(text: str) -> Iterator[tuple[str, ...]]:
    """The pieces that hold sequences in braces, such as `{a..c}`, which are not expanded here."""
    pieces = _SPLIT_OUTSIDE_BRACES.split(text) if _SEQUENCE.search(text) else ()
    yield from (tuple(piece.split()) for piece in pieces if _SEQUENCE.search(piece))


def _unbraced(word: str) -> list[str]:
    """The words that a word with lists in braces stands for."""
    waiting = [word]
    done: list[str] = []
    while waiting and len(waiting) + len(done) < _MOST_WORDS:
        each = waiting.pop(0)
        found = _BRACES.search(each)
        if found:
            parts = found[1].split(",")
            waiting[:0] = [each[: found.start()] + part + each[found.end() :] for part in parts]
        elif each:
            done.append(each)
    return done


def unquoted(word: str) -> str:
    """A word without its quotes, as far as one can tell without running anything."""
    plain = re.sub(r"\$'((?:\\.|[^'\\])*)'", lambda found: _ANSI.sub(_ansi, found[1]), word)
    return re.sub(r"\\(.)|[\"']", lambda found: found[1] or "", plain, flags=re.DOTALL)


def _ansi(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else ""
    if code[0] in "01234567":
        return chr(int(code, 8))
    return {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "e": "\x1b"}.get(code, code)
