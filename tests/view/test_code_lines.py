"""Lines of tokens are those of the whole text, whatever was read before: a line is reused only where it must be the same."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from itertools import groupby

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pygments.lexer import RegexLexer
from pygments.lexers import get_lexer_by_name

from clew.view import syntax
from clew.view.lexing import code_lines, plain_runs
from clew.view.lexing.code_lines import Line, LineReader
from clew.view.lexing.lexer_rules import State, combine_rules
from clew.view.lexing.regex_reach import reach_text
from clew.view.lexing.regex_start import start_set
from clew.view.lexing.regex_text import UnknownExpressionError, expression_text
from clew.view.lexing.regex_tree import parse
from clew.view.syntax import _LANGUAGES, _css_class, _lex, _reader
from tests.view.test_lexer_rules import CODE

# Lines whose meaning depends on others: each opens or closes something, or looks like something else inside of it.
LINES = [
    *CODE.split("\n"),
    *(
        '"""',
        "'''",
        "/*",
        "*/",
        "/* a */ b",
        "// a \\",
        "# a",
        "`",
        "` ${",
        "}`",
        "<!--",
        "-->",
        "<script>",
        "</script>",
    ),
    *(
        "cat <<EOF",
        "EOF",
        "=begin",
        "=end",
        "{-",
        "-}",
        "(*",
        "*)",
        "--[[",
        "]]",
        "@@ -1 +1 @@",
        "+x",
        "-x",
        "'a",
        '"b',
    ),
    *("", "", "  ", "\tx = 1", "    return x", "x =", "  : y", "a\\", "$(", ")", "#if 0", "#endif", "r#'", "%w(", "q{"),
    *("label:", "key", ": value", "super", "(x)", "module", "a.b", "function f() {", "f", "() {", "}", "/re[/]", "/ 2"),
    *("größe = ñ", "ñ", "名前 = 1", "名前"),
]


CODE_LINES = [
    *LINES,
    "x = a.b(c, [d]) + {e: f};",
    "if (a === undefined) { throw new Error(`b ${c.d(e)} f`); }",
    "a = b / c; d = (/e/g); f = /g",
    "export const a = async (b: string, c?: number): Promise<D[]> => { return b; }",
    "    def f(self, a=1, *b, **c): return [d for d in self.e if d is not None]",
    "for i in range(10): print(i, end='') ; a, b = b, a",
    "let mut v: Vec<u8> = vec![1, 2]; match v.len() { 0 => (), _ => {} }",
    "func f(a int) (b string, err error) { return a.b, nil }",
    "a  b\tc ;  ",
    "x-y_z.w,v",
]


def whole_lines(text: str, name: str) -> list[tuple[tuple[str, str], ...]] | None:
    """The lines as Pygments reads them, the whole text at once; None if it changes the text, as a few lexers do."""
    lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    tokens = [(_css_class(kind), value) for _, kind, value in lexer.get_tokens_unprocessed(text)]
    if "".join(value for _, value in tokens) != text:
        return None
    merged = [(css, "".join(value for _, value in run)) for css, run in groupby(tokens, key=lambda token: token[0])]
    lines: list[list[tuple[str, str]]] = [[]]
    for css, value in merged:
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
            if part:
                lines[-1].append((css, part))
    return [tuple(line) for line in lines]


@settings(max_examples=40)
@pytest.mark.parametrize("name", sorted(_LANGUAGES))
@given(texts=st.lists(st.lists(st.sampled_from(LINES), max_size=12), min_size=1, max_size=3))
def test_lines_are_those_of_the_whole_text(name: str, texts: list[list[str]]) -> None:
    for lines in texts:
        text = "\n".join(lines)
        found = _lex(text, name)
        assert (None if found is None else [tuple(line) for line in found]) == whole_lines(text, name)


@pytest.fixture
def plain_runs_at_once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plain tokens are read at once from the first on, with readers that know nothing yet."""
    monkeypatch.setattr(plain_runs, "MIN_VISITS", 0)
    monkeypatch.setattr(syntax, "_MAX_SECONDS", 60.0)  # a busy machine may take long to prepare the expressions
    _reader.cache_clear()
    yield
    _reader.cache_clear()


@pytest.mark.usefixtures("plain_runs_at_once")
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", sorted(_LANGUAGES))
@given(texts=st.lists(st.lists(st.sampled_from(CODE_LINES), max_size=12), min_size=1, max_size=3))
def test_plain_tokens_that_are_read_at_once_are_the_same(name: str, texts: list[list[str]]) -> None:
    for lines in texts:
        text = "\n".join(lines)
        found = _lex(text, name)
        assert (None if found is None else [tuple(line) for line in found]) == whole_lines(text, name)


@pytest.mark.usefixtures("plain_runs_at_once")
def test_plain_tokens_are_read_at_once() -> None:
    scanner = combine_rules(get_lexer_by_name("typescript"), _css_class, plain="")
    assert scanner is not None and scanner._runs is not None
    run, text = scanner._runs["root"], "a.b(c, [d]) + const x"
    assert run is not None and run(text, 0, len(text)).end() == text.index("const")


@pytest.mark.parametrize("name", sorted(_LANGUAGES))
def test_an_expression_that_is_written_again_matches_the_same(name: str) -> None:
    lexer = get_lexer_by_name(name)
    if not isinstance(lexer, RegexLexer):
        return
    for rules in list(lexer._tokens.values())[:6]:
        for each in {rule[0].__self__ for rule in rules}:
            if each.flags & re.IGNORECASE and not each.pattern.isascii():
                continue
            try:
                written = re.compile(expression_text(parse(each)), each.flags & ~re.VERBOSE & ~re.UNICODE)
            except UnknownExpressionError:
                continue
            for line in (line for line in CODE_LINES if line.isascii()):
                for at in range(len(line)):
                    ours, theirs = written.match(line, at), each.match(line, at)
                    assert (ours and ours.end()) == (theirs and theirs.end()), (each.pattern, line[at:])


@pytest.mark.parametrize("name", ["typescript", "python", "rust", "bash", "go"])
def test_a_line_that_was_read_is_reused(name: str) -> None:
    first, second = (_lex(f"{start}\nx = (y);\nz = (2);\n", name) for start in ("a = 1", "b = 2"))
    assert first is not None and second is not None
    assert first[2] is second[2]


def test_the_html_of_a_line_is_escaped() -> None:
    assert Line((("", "a<"), ("string", '"&"'))).html == 'a&lt;<span class="t-string">&quot;&amp;&quot;</span>'


@pytest.mark.parametrize(
    ("expression", "text", "may_reach"),
    [
        (r"//.*", "// a", False),
        (r"(?s)//.*?$", "// a", True),
        (r"(?ms)//.*?$", "// a", False),
        (r"/[*](.|\n)*?[*]/", "/* a */ b", False),
        (r"/[*](.|\n)*?[*]/", "/* a", True),
        (r"/[*](.|\n)*?[*]/(?=x)", "/* a */ b", True),  # if no x follows, it goes on
        (r'"([^"\\]|\\.)*"', '"a"', False),
        (r'"([^"\\]|\\.)*"', '"a', True),
        (r"\s+", "  x", False),
        (r"(?i)([a-z]+)(\s*)(:|=)", "Ab ", True),
        (r"(?i)([a-z]+)(\s*)(:|=)", "Ab (", False),
        (r"[a-z]+(?=[^a-z]*;)", "ab()", True),
        (r"(?<=ab)c", "cd", True),
        (r"\s+", "  ", True),
        (r"\w+(?=\s*:)", "abc", True),
        (r"\w+(?=\s*:)", "abc)", False),
        (r"\w+(?!\n\n)", "abc", True),
        (r"abc$", "abc", True),  # the end of the text, or before its last line break
        (r"(?m)abc$", "abc", False),
        (r"(a|b\n)c", "b", True),
        (r"(a)\1", "a", True),
        (r"(?<=ab)c", "c", True),  # what stands before a line is not known, but for a character
        (r"(?<=a)c", "c", False),
        (r"[\x00-\x20]x", "", True),
    ],
)
def test_what_may_read_past_a_line(expression: str, text: str, may_reach: bool) -> None:
    reach = reach_text(parse(re.compile(expression)))
    assert (reach is not None and re.match(reach, text) is not None) is may_reach


@pytest.mark.parametrize("name", ["typescript", "python", "bash", "css", "powershell"])
def test_an_expression_that_is_left_out_cannot_match(name: str) -> None:
    lexer = get_lexer_by_name(name)
    for rules in list(lexer._tokens.values())[:4]:
        expressions = [rule[0].__self__ for rule in rules]
        starts = [start_set(parse(each)) for each in expressions]
        for character in ("\n", "\t", *map(chr, range(32, 127))):
            for start, each in zip(starts, expressions, strict=True):
                assert start >> ord(character) & 1 or not any(each.match(character + line) for line in LINES)


def test_what_was_read_is_dropped_without_a_collection_of_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """An export switches the collection off: the memory for its colours grew with the session."""
    scanner = combine_rules(get_lexer_by_name("javascript", stripnl=False, ensurenl=False), _css_class, plain="")
    assert scanner is not None
    reader = LineReader(scanner)
    monkeypatch.setattr(code_lines, "_MAX_KEPT", 2000)

    def count() -> int:
        return sum(len(each.pieces) for each in gc.get_objects() if isinstance(each, State))

    gc.collect()
    gc.disable()
    try:
        before = count()
        for number in range(100):
            text = "".join(f"f(`{number} ${{ {{a: [{number}]}} }}`, /* {line} */ x{line})\n" for line in range(20))
            assert reader.read(text, 10.0) is not None
        assert count() - before < 200, "of 2,000 lines"
    finally:
        gc.enable()
