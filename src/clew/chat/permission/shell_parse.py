"""Parse a shell command with two parsers, our strict lexer and tree-sitter; where they differ, the command is
uncertain.

An uncertain command prompts the user. For deny and ask rules, everything that looks like a command is collected, at
any depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from clew.chat.permission import shell_lexer
from clew.chat.permission.command_options import split_names
from clew.chat.permission.shell_lexer import SimpleCommand, UncertainCommand, WordSpan
from clew.errors import ClewError
from clew.system.extras import install_hint

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_PLAIN_NODES = split_names(
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
_MAX_WORDS = 200
_TARGET = re.compile(r"[<>]+[&|]?[ \t]*([^ \t\n;&|<>()]+)")


class ParsedShell(Struct, frozen=True):
    """A parsed shell command. If it is uncertain, `commands` is empty.

    For deny and ask rules: `loose` is everything that may run, `parsed` the part of it that is certainly in
    command position, `targets` all files that redirects may open.
    """

    text: str
    commands: tuple[SimpleCommand, ...]
    doubt: str
    loose: tuple[tuple[str, ...], ...]
    parsed: tuple[tuple[str, ...], ...]

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(unquote(match[1]) for match in _TARGET.finditer(self.text))


def parse(text: str) -> ParsedShell:
    """Parse a command. This never fails: if it cannot be parsed, `uncertainty` states why."""
    try:
        if len(text) > shell_lexer.MAX_LENGTH:
            raise UncertainCommand(f"it is longer than {shell_lexer.MAX_LENGTH:,} characters")
        root = _parser().parse(text.encode("utf-8")).root_node
    except UnicodeEncodeError:
        return _uncertain_result(text, "it is not text")
    except UncertainCommand as doubt:
        return _uncertain_result(text, str(doubt))
    tree_commands = tuple(_loose_commands(root))
    loose = tuple(dict.fromkeys((*tree_commands, *_split_roughly(text), *_split_expanding_braces(text))))
    parsed = (*(loose if root.has_error else tree_commands), *_split_with_sequences(text))
    try:
        commands = shell_lexer.parse_commands(text)
        check_agreement(text, commands)
    except UncertainCommand as doubt:
        return ParsedShell(text, (), str(doubt), loose, parsed)
    return ParsedShell(text, commands, "", loose, parsed)


def _uncertain_result(text: str, reason: str) -> ParsedShell:
    pieces = (*_split_roughly(text), *_split_expanding_braces(text))
    return ParsedShell(text, (), reason, pieces, pieces)


@cache
def _parser() -> Parser:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        raise ClewError(
            "Shell commands cannot be checked: tree-sitter is not installed.",
            hint=install_hint("chat"),
        ) from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def check_agreement(text: str, commands: tuple[SimpleCommand, ...]) -> None:
    """Raise UncertainCommand unless tree-sitter finds the same words at the same positions, and nothing else."""
    source = text.encode("utf-8")
    root = _parser().parse(source).root_node
    if root.has_error:
        raise UncertainCommand("it is ambiguous")
    theirs: set[WordSpan] = set()
    for node in _walk(root):
        if node.is_named and node.type not in _PLAIN_NODES:
            raise UncertainCommand(f"it holds {_with_article(node.type)}")
        theirs.update(_word_spans(node))
    ours = {word.span for c in commands for word in c.words}
    ours |= {word.span for c in commands for _, word in c.assignments}
    ours |= {r.target.span for c in commands for r in c.redirects}
    differing = {s for s in ours ^ theirs if not _DESCRIPTOR.fullmatch(source[s.start : s.end])}
    if differing:
        raise UncertainCommand("it is ambiguous")


def _with_article(kind: str) -> str:
    word = kind.replace("_", " ")
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _word_spans(node: Node) -> Iterator[WordSpan]:
    """Yield the words directly in a command or a redirect."""
    if node.type == "herestring_redirect":
        yield from (WordSpan(child.start_byte, child.end_byte) for child in node.named_children)
    if node.type not in ("command", "file_redirect"):
        return
    for index, child in enumerate(node.children):
        if child.type in ("command_name", "variable_assignment") or node.field_name_for_child(index) in _WORD_FIELDS:
            yield WordSpan(child.start_byte, child.end_byte)


def _walk(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


# -- for deny and ask rules: collect too much rather than too little


def _loose_commands(root: Node) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command node of the tree, also within substitutions, loops and functions."""
    for node in _walk(root):
        if node.type in ("command", "declaration_command", "unset_command", "test_command"):
            words = [c for c in node.children if c.type not in ("variable_assignment", "file_redirect")]
            texts = tuple(unquote((word.text or b"").decode("utf-8", "replace")) for word in words)
            if texts:
                yield texts


def _split_roughly(text: str) -> Iterator[tuple[str, ...]]:
    """Cut the text at everything that may end a command, so that a parser error cannot hide one.

    `if x; then rm y` gives `if x` and `then rm y`.
    """
    joined = text.replace("\\\n", "").replace("\r", "\n")
    for piece in _SPLIT.split(joined):
        words = piece.split()
        while words and re.match(r"[A-Za-z_][A-Za-z0-9_]*\+?=", words[0]):
            words = words[1:]
        if words:
            yield tuple(unquote(word) for word in words)


def _split_expanding_braces(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the pieces that contain brace lists, with the lists expanded: `{git,} push` is `git push`."""
    for piece in _SPLIT_OUTSIDE_BRACES.split(text.replace("\\\n", "")):
        if _BRACES.search(piece):
            words = [part for word in piece.split() for part in _expand_braces(word)][:_MAX_WORDS]
            if words:
                yield tuple(unquote(word) for word in words)


def _split_with_sequences(text: str) -> Iterator[tuple[str, ...]]:
    """Yield the pieces that contain brace sequences such as `{a..c}`, which are not expanded."""
    pieces = _SPLIT_OUTSIDE_BRACES.split(text) if _SEQUENCE.search(text) else ()
    yield from (tuple(piece.split()) for piece in pieces if _SEQUENCE.search(piece))


def _expand_braces(word: str) -> list[str]:
    """Return the words that a word with brace lists expands to: `a{b,c}` gives `ab` and `ac`."""
    pending = [word]
    expanded: list[str] = []
    while pending and len(pending) + len(expanded) < _MAX_WORDS:
        candidate = pending.pop(0)
        match = _BRACES.search(candidate)
        if match:
            parts = match[1].split(",")
            pending[:0] = [candidate[: match.start()] + part + candidate[match.end() :] for part in parts]
        elif candidate:
            expanded.append(candidate)
    return expanded


def unquote(word: str) -> str:
    """Remove the quotes of a word, as far as that is possible without running anything."""
    plain = re.sub(r"\$'((?:\\.|[^'\\])*)'", lambda match: _ANSI.sub(_decode_ansi_escape, match[1]), word)
    return re.sub(r"\\(.)|[\"']", lambda match: match[1] or "", plain, flags=re.DOTALL)


def _decode_ansi_escape(match: re.Match[str]) -> str:
    r"""Return the character of an escape in `$'…'`: `\x41` and `\101` are `A`."""
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else ""
    if code[0] in "01234567":
        return chr(int(code, 8))
    return {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "e": "\x1b"}.get(code, code)
