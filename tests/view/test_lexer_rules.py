"""Combined rules give the tokens that Pygments gives, also for text that no rule fits and for deep nesting."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any, ClassVar

import pytest
from pygments.lexer import RegexLexer, bygroups
from pygments.lexers import get_lexer_by_name
from pygments.token import Name, Text

from clew.view.lexing.lexer_rules import TextChangedError, _read_sets_at_once, combine_rules

CODE = """\
import { a as b } from "./c"; // a comment
const re = /x[/]y/g, s = `t ${a + `${b}`} u`; /* open
still open */ @dec class A<T> extends B { async *f(x: number = 0x1F): void { return x ? 'y\\'' : "z\\n" } }
def f(x: int = 1) -> "str":  # comment
    return f"{x!r:>{10}} {{}}" + r'\\d' + b"\\x00"
fn main() { let s: &'static str = r#"raw "x" "#; println!("{}", s); }
if [ "$x" = 'y' ]; then cat <<EOF | grep -v "z$(ls)"; fi
EOF
<a href="x">b &amp; c</a> [section] key = value  # note
SELECT * FROM t WHERE a = 'b''c' -- done
\t \x7f \u2028 \U0001f600 §§§ ) ] } ( [ { " ' ` $ \\
"""
LANGUAGES = (
    "bash",
    "css",
    "diff",
    "go",
    "html",
    "ini",
    "java",
    "javascript",
    "kotlin",
    "perl",
    "python",
    "rust",
    "sql",
)


def joined(tokens: Iterable[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Tokens of one kind that follow each other as one."""
    return [(kind, "".join(value for _, value in run)) for kind, run in groupby(tokens, key=lambda token: token[0])]


@pytest.mark.parametrize("name", [*LANGUAGES, "toml", "typescript", "json", "yaml", "cpp"])
def test_the_tokens_are_those_of_the_lexer(name: str) -> None:
    ours = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    theirs = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    combine_rules(ours, str)
    for text in (CODE, CODE[::-1], "({[" * 300 + "<`${" * 300, "", "\n", "plain words"):
        assert joined(ours.get_tokens(text)) == joined(theirs.get_tokens(text))


def test_only_lexers_that_follow_rules_are_changed() -> None:
    assert combine_rules(get_lexer_by_name("python"), str) is not None
    assert combine_rules(get_lexer_by_name("json"), str) is None


def test_a_lexer_that_leaves_out_text_is_noticed() -> None:
    class Short(RegexLexer):  # type: ignore[misc]
        tokens: ClassVar = {"root": [(r"(a)(.)", bygroups(Name, None)), (".", Text)]}

    scanner = combine_rules(Short(), str)
    assert scanner is not None
    assert [value for _, _, value in scanner.scan("xyz")] == ["xyz"]
    with pytest.raises(TextChangedError):
        list(scanner.scan("xab"))


@pytest.mark.parametrize(
    "text", ["aé$1_", r"a\u00e9b", r"a\u00e", r"\u0041", r"名\u0041名\u0042", "x" * 50 + "\\", r"@a\u0041.b"]
)
def test_names_of_javascript_are_read_at_once(text: str) -> None:
    for rules in get_lexer_by_name("typescript")._tokens.values():
        for rule in rules:
            theirs = rule[0].__self__
            ours = re.compile(_read_sets_at_once(theirs.pattern), theirs.flags)
            for at in range(len(text)):
                found, expected = ours.match(text, at), theirs.match(text, at)
                assert (found and found.span()) == (expected and expected.span())
