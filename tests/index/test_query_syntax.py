"""The query: literal and safe, and when it cannot be understood it says where and why."""

from __future__ import annotations

import contextlib

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import BadQuery
from clew.index.query_pieces import FILTER_NAMES
from clew.index.query_syntax import Query, parse_query
from clew.index.sql_filters import build_conditions

PARTS = st.sampled_from(
    [
        '"',
        "-",
        "OR",
        "AND",
        "NOT",
        "NEAR",
        "*",
        "(",
        ")",
        "^",
        ":",
        "\\",
        "foo_bar.baz()",
        "日本",
        "in:",
        "since:",
        "7d",
        " ",
    ]
    + [f"{name}:" for name in FILTER_NAMES]
)
ANY = (
    st.text() | st.lists(PARTS | st.text(max_size=5)).map("".join) | st.lists(PARTS | st.text(max_size=5)).map(" ".join)
)


@pytest.fixture(scope="module")
def engine() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute('CREATE VIRTUAL TABLE t USING fts5(x, tokenize="unicode61 remove_diacritics 0")')
    return connection


def understood(text: str, typing: bool = False) -> Query | None:
    try:
        return parse_query(text, typing=typing)
    except BadQuery as error:
        assert 0 <= error.at <= len(text)
        assert error.reason
        return None


@pytest.mark.req("R223")
@given(text=ANY, typing=st.booleans())
def test_any_text_is_a_query_or_a_bad_one(engine: apsw.Connection, text: str, typing: bool) -> None:
    query = understood(text, typing)
    if query and query.clauses:
        engine.execute("SELECT * FROM t WHERE t MATCH ?", (query.match,)).fetchall()
    if query:
        build_conditions(query, lambda: ())


@given(st.text(st.characters(exclude_characters='"', codec="utf-8"), max_size=20))
def test_a_phrase_is_literal(text: str) -> None:
    query = understood(f'"{text}"')
    assert query is None or len(query.clauses) <= 1
    assert query is None or not query.filters


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("retry backoff", '("retry") AND ("backoff")'),
        ('"exact phrase" x', '("exact phrase") AND ("x")'),
        ("foo_bar.baz()", '("foo bar baz")'),
        (r"C:\Users\me", '("c users me")'),
        ("back*", '("back"*)'),
        ("a OR b c", '("a" OR "b") AND ("c")'),
        ("a -b", '(("a")) NOT (("b"))'),
        ('a -"b c" -d', '(("a")) NOT (("b c") OR ("d"))'),
        ("--flag x", '("flag") AND ("x")'),
        ("x = foo(); // y", '("x") AND ("foo") AND ("y")'),
        ("日本語", '("日 本 語")'),
        ("http://a.b", '("http a b")'),
        ("and or not near", '("and") AND ("or") AND ("not") AND ("near")'),
        ('it"s', '("it s")'),
    ],
)
def test_what_is_asked_of_the_engine(text: str, match: str) -> None:
    assert parse_query(text).match == match


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ('a "b', 2),
        ("a OR", 2),
        ("OR a", 0),
        ("a project:", 2),
        ("in:nowhere", 0),
        ("a since:never", 2),
        ("-since:7d a", 0),
        ("-a", 0),
        ("()", 0),
        ("a is:odd", 2),
    ],
)
def test_a_bad_query_says_where(text: str, at: int) -> None:
    with pytest.raises(BadQuery) as caught:
        parse_query(text)
    assert caught.value.at == at


@pytest.mark.parametrize("text", ['a "b', "a OR", "a project:", "a -", "a in:"])
def test_what_is_still_being_typed_is_not_bad_yet(text: str) -> None:
    assert parse_query(text, typing=True).clauses or text.endswith("in:")


def test_the_last_word_is_a_beginning_while_it_is_typed() -> None:
    assert parse_query("retry back", typing=True).match == '("retry") AND ("back"*)'
    assert parse_query("retry back ", typing=True).match == '("retry") AND ("back")'
    assert parse_query('"retry back"', typing=True).match == '("retry back")'
    assert parse_query('"retry ba', typing=True).match == '("retry ba"*)'


def test_fields_take_values_in_quotes_and_lists() -> None:
    query = parse_query('x project:"my site" in:(prompt|reply) tool:Bash tool:Edit -model:haiku')
    assert query.filters == {
        "project": ["my site"],
        "in": ["prompt", "reply"],
        "tool": ["Bash", "Edit"],
        "-model": ["haiku"],
    }
    assert query.fields == ("prompt", "reply")


@pytest.mark.req("R214")
def test_thinking_is_searched_when_asked_for() -> None:
    assert "thinking" not in parse_query("x").fields
    assert parse_query("x in:thinking").fields == ("thinking",)
    assert parse_query("x role:assistant").fields == ("reply", "thinking", "input")
    assert parse_query("x -in:result").fields == ("title", "prompt", "reply", "input", "todo", "plan", "summary")
    assert parse_query("x role:assistant in:reply").fields == ("reply",)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a AND b", '("a") AND ("b")'),
        ("a b OR c", '("a") AND ("b" OR "c")'),
        ("a AND b OR c", '("a") AND ("b" OR "c")'),
        ("(a b) OR c", '("a" OR "c") AND ("b" OR "c")'),
        ("a OR (b c)", '("a" OR "b") AND ("a" OR "c")'),
        ("((a OR b) (c OR d))", '("a" OR "b") AND ("c" OR "d")'),
        ("x (a OR b) OR c", '("x") AND ("a" OR "b" OR "c")'),
        ('("a b" OR c) d', '("a b" OR "c") AND ("d")'),
        ("NOT x y", '(("y")) NOT (("x"))'),
        ("y NOT (a OR b)", '(("y")) NOT (("a") OR ("b"))'),
        ("y -(a OR b)", '(("y")) NOT (("a") OR ("b"))'),
        ("foo() bar", '("foo") AND ("bar")'),
        ("(foo() OR bar) baz", '("foo" OR "bar") AND ("baz")'),
        ("(see above) error", '("see") AND ("above") AND ("error")'),
        ("(never closed", '("never") AND ("closed")'),
        ("a and b or not", '("a") AND ("and") AND ("b") AND ("or") AND ("not")'),
        ('"AND" "a"', '("and") AND ("a")'),
    ],
)
def test_operators_and_brackets(text: str, match: str) -> None:
    assert parse_query(text).match == match


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a OR -b", "OR takes no excluded words"),
        ("NOT (a b) c", "NOT takes one word or words joined by OR"),
        ("a AND", "AND needs a word on both sides"),
        ("AND a", "AND needs a word on both sides"),
        ("a NOT", "NOT needs a word after it"),
        ("a OR project:b", "OR joins words, or values of one filter"),
        ("is:error OR is:agent", "OR joins words, or values of one filter"),
        ("tool:,", "tool: needs a value"),
        (" OR ".join(f"({' '.join(f'w{n}{m}' for m in range(9))})" for n in range(3)), "too many combinations"),
    ],
)
def test_operators_that_cannot_be_understood_are_explained(text: str, reason: str) -> None:
    with pytest.raises(BadQuery, match=reason):
        parse_query(text)


@given(
    st.lists(st.sampled_from(["a", "b", "(", ")", "OR", "AND", "NOT", "-", '"', "-(", "(a", "b)", "in:reply", "x:"]))
)
def test_any_mixture_is_parsed_or_refused(parts: list[str]) -> None:
    for typing in (False, True):
        with contextlib.suppress(BadQuery):
            parse_query(" ".join(parts), typing=typing)


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("x NOT project:a", {"-project": ["a"]}),
        ("x -(project:a)", {"-project": ["a"]}),
        ("x NOT -project:a", {"project": ["a"]}),
        ("project:a AND x", {"project": ["a"]}),
        ("x AND tool:Bash", {"tool": ["Bash"]}),
        ("project:a OR project:b x", {"project": ["a", "b"]}),
        ("(project:a OR project:b) x", {"project": ["a", "b"]}),
        ("tool:Bash,Edit", {"tool": ["Bash", "Edit"]}),
        ('project:"a,b"', {"project": ["a,b"]}),
        ("IN:PROMPT x", {"in": ["prompt"]}),
        ("in:(prompt|reply) x", {"in": ["prompt", "reply"]}),
    ],
)
def test_operators_between_filters_and_lists_of_values(text: str, filters: dict[str, list[str]]) -> None:
    assert parse_query(text).filters == filters


def test_filters_in_any_case_and_names_that_are_not_filters() -> None:
    assert parse_query("Project:cli SINCE:7d x").filters == {"project": ["cli"], "since": ["7d"]}
    assert parse_query("date:2025 agent:x std::vector key:value x").unknown == ["date", "agent"]
