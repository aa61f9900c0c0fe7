"""Colour code with Pygments: text becomes lines of tokens, and tokens become escaped HTML with five CSS classes.

    lines = token_lines("x = 1  # one", "python")      # None if the language is unknown or the text is too long
    render_line(lines[0])                              # 'x = <span class="t-number">1</span>  <span class="t-comment">…'

Only the languages listed here are coloured: their lexers are quick on any text, and a lexer that is chosen by a
transcript is code that a stranger chooses. Results are cached by language and text.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from html import escape
from threading import Lock
from typing import TYPE_CHECKING, Any

from clew.view.lexing.code_lines import Line, LineReader, split_lines, token_html
from clew.view.lexing.lexer_rules import combine_rules

if TYPE_CHECKING:
    from pygments.lexer import Lexer

Span = tuple[int, int]  # start and stop of changed text in a line

MAX_CHARACTERS, MAX_LINES, MAX_LINE = 200_000, 2000, 2000  # longer text stays plain
_MAX_SECONDS = 2.0  # of CPU time, so that a busy machine colours the same
_CACHE_CHARACTERS = 2_000_000
_LANGUAGES = {  # Pygments' name: other names and file name endings
    "bash": "sh shell zsh console bashrc profile",
    "c": "h",
    "cpp": "c++ cc cxx hpp hh",
    "csharp": "cs c#",
    "css": "",
    "dart": "",
    "diff": "patch udiff",
    "docker": "dockerfile",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "go": "golang",
    "graphql": "gql",
    "haskell": "hs",
    "html": "htm xhtml vue svelte",
    "ini": "cfg conf properties env editorconfig",
    "java": "",
    "javascript": "js mjs cjs jsx",
    "json": "jsonl json5 jsonc ndjson",
    "julia": "jl",
    "kotlin": "kt kts",
    "lua": "",
    "make": "makefile mk",
    "nginx": "",
    "nix": "",
    "objective-c": "objc m",
    "ocaml": "ml mli",
    "perl": "pl pm",
    "php": "",
    "powershell": "ps1 pwsh",
    "protobuf": "proto",
    "python": "py pyi python3 pyw",
    "r": "",
    "ruby": "rb gemfile rakefile",
    "rust": "rs",
    "scala": "",
    "scss": "sass less",
    "sql": "sqlite postgresql mysql",
    "swift": "",
    "terraform": "tf hcl",
    "toml": "",
    "typescript": "ts tsx mts cts",
    "xml": "svg xsd plist",
    "yaml": "yml",
    "zig": "",
}
_ALIASES = {alias: name for name, aliases in _LANGUAGES.items() for alias in (name, *aliases.split())}
_NAME = re.compile(r"[\w+#.-]{1,20}")


def language_name(info: str) -> str:
    """Return the language that the info string of fenced code names, for a label; "" if it is not a plain word."""
    first = info.strip().split(maxsplit=1)[:1]
    return first[0] if first and _NAME.fullmatch(first[0]) else ""


def file_name(path: str) -> str:
    """Return the last part of a path of any operating system."""
    return re.split(r"[/\\]", path)[-1]


def file_language(path: str) -> str:
    """Return the language of a file by its name; "" if it is not one of those that are coloured."""
    return _ALIASES.get(file_name(path).lower().rpartition(".")[2], "")


def token_lines(text: str, language: str) -> list[Line] | None:
    """Return the tokens of each line; None if the text stays plain. `text` must be sanitized."""
    name = _ALIASES.get(language.lower())
    if name is None or len(text) > MAX_CHARACTERS or text.count("\n") >= MAX_LINES:
        return None
    if len(text) > MAX_LINE and max(map(len, text.split("\n"))) > MAX_LINE:
        return None
    from hashlib import blake2b  # loads OpenSSL, which is needed only if there is something to colour

    key = (name, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest())
    return _CACHE.get(key, name, text)


def plain_lines(text: str) -> list[Line]:
    """Return the lines of a text without colours."""
    return [Line((("", line),)) for line in text.split("\n")]


def colour(text: str, language: str) -> str:
    """Return text as HTML, coloured if that is possible."""
    lines = token_lines(text, language)
    return escape(text) if lines is None else "\n".join([line.html for line in lines])


def render_line(line: Line, changed: Sequence[Span] = ()) -> str:
    """Return a line as HTML; `changed` spans, in order, are marked."""
    if not changed:
        return line.html
    parts: list[str] = []
    start = 0
    for kind, text in line:
        for piece, is_changed in _split_text(text, start, changed):
            html = token_html(kind, piece)
            parts.append(f'<b class="word">{html}</b>' if is_changed else html)
        start += len(text)
    return "".join(parts)


def _split_text(text: str, start: int, changed: Iterable[Span]) -> Iterator[tuple[str, bool]]:
    at, stop = start, start + len(text)
    for first, last in changed:
        first, last = max(first, at), min(last, stop)
        if first < last:
            if at < first:
                yield text[at - start : first - start], False
            yield text[first - start : last - start], True
            at = last
    if at < stop:
        yield text[at - start :], False


class _Cache:
    """The most recently coloured texts."""

    def __init__(self) -> None:
        self._lines: OrderedDict[tuple[str, bytes], tuple[int, list[Line] | None]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: tuple[str, bytes], name: str, text: str) -> list[Line] | None:
        with self._lock:
            if key in self._lines:
                self._lines.move_to_end(key)
                return self._lines[key][1]
        lines = _lex(text, name)
        with self._lock:
            if key not in self._lines:
                self._lines[key] = (len(text), lines)
                self._size += len(text)
            while self._size > _CACHE_CHARACTERS:
                self._size -= self._lines.popitem(last=False)[1][0]
        return lines


_CACHE = _Cache()


def _lex(text: str, name: str) -> list[Line] | None:
    if "\r" in text or text.startswith("\ufeff"):
        return None  # lexers read line breaks of any kind as one, and skip the mark
    return _reader(name)(text, _MAX_SECONDS)


@cache
def _reader(name: str) -> Callable[[str, float], list[Line] | None]:
    """Return what reads code of a language in limited time: line by line if its lexer only follows rules."""
    from pygments.lexers import get_lexer_by_name

    lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    scanner = combine_rules(lexer, _css_class, plain="")
    return LineReader(scanner).read if scanner else partial(_read_whole, lexer)


def _read_whole(lexer: Lexer, text: str, seconds: float) -> list[Line] | None:
    spans: list[tuple[str, int]] = []
    deadline = time.thread_time() + seconds
    at = 0
    for _, kind, value in lexer.get_tokens_unprocessed(text):
        if time.thread_time() > deadline or not text.startswith(value, at):
            return None
        at += len(value)
        css = _css_class(kind)
        if spans and spans[-1][0] == css:
            spans[-1] = css, at
        else:
            spans.append((css, at))
    return split_lines(text, 0, spans) if at == len(text) else None


@cache
def _css_class(kind: Any) -> str:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    classes = (
        (Comment, "comment"),
        (String, "string"),
        (Number, "number"),
        (Operator.Word, "keyword"),
        (Keyword.Constant, "number"),
        (Keyword, "keyword"),
        (Name.Function, "name"),
        (Name.Class, "name"),
        (Name.Tag, "keyword"),
        (Name.Attribute, "name"),
        (Name.Decorator, "name"),
        (Name.Builtin, "name"),
    )
    return next((css for parent, css in classes if kind in parent), "")
