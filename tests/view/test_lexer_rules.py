"""Combined rules give the tokens that Pygments gives, also for text that no rule fits and for deep nesting."""

from __future__ import annotations

import pytest
from pygments.lexers import get_lexer_by_name

from clew.view.lexing.lexer_rules import combine_rules

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


@pytest.mark.parametrize("name", [*LANGUAGES, "toml", "typescript", "json", "yaml", "cpp"])
def test_the_tokens_are_those_of_the_lexer(name: str) -> None:
    ours = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    theirs = get_lexer_by_name(name, stripnl=False, ensurenl=False)
    combine_rules(ours)
    for text in (CODE, CODE[::-1], "({[" * 300 + "<`${" * 300, "", "\n", "plain words"):
        assert list(ours.get_tokens(text)) == list(theirs.get_tokens(text))


def test_only_lexers_that_follow_rules_are_changed() -> None:
    assert combine_rules(get_lexer_by_name("python")) is not None
    assert combine_rules(get_lexer_by_name("json")) is None
