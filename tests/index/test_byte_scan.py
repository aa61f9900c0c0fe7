"""Substrings and expressions: what words cannot find, in the text that counts alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import BadQuery
from clew.facts.searchable_text import words
from clew.index.byte_scan import _required_literal, compile_pattern
from clew.index.session_index import Index
from clew.wire.entry import entries, read
from tests.index.helper import Claude, call, custom, ident, prompt, reply, result, touch


def found(claude: Claude, pattern: str, **more: object) -> list[str]:
    with claude.refreshed() as index:
        return [r.session for r in index.grep(pattern, **more)]  # type: ignore[arg-type]


@pytest.mark.req("R223")
@pytest.mark.parametrize(
    "pattern",
    ["Bar.baz", "oBar", 'say "hi', "\\dir\\", "two\nlines", "\ttab", "本語で", "/slash/", "→", "}{", '"', "é", "ends"],
)
def test_any_substring_is_found_through_the_escapes(claude: Claude, pattern: str) -> None:
    claude.write("a", prompt('fooBar.baz() say "hi" C:\\dir\\x two\nlines \ttab 日本語です /slash/ → }{ é 本語で ends'))
    escaped = rb'{"type":"user","message":{"content":"fooBar.baz say \"hi \\dir\\ two\nlines \ttab '
    escaped += rb'\/slash\/ \u672c\u8a9e\u3067 \u2192 }{ \u00e9 ends"}}'
    claude.write("b", escaped + b"\n")
    claude.write("c", prompt("nothing of it"))
    assert set(found(claude, pattern)) == {ident("a"), ident("b")}


def test_case_matters_when_there_is_a_capital(claude: Claude) -> None:
    claude.write("a", prompt("fooBar"))
    claude.write("b", prompt("FOOBAR"))
    assert set(found(claude, "oba")) == {ident("a"), ident("b")}
    assert found(claude, "oBa") == [ident("a")]
    assert set(found(claude, r"\wba\w", regex=True)) == {ident("a"), ident("b")}


def test_expressions(claude: Claude) -> None:
    claude.write("a", prompt("error 404 at line 12"))
    claude.write("b", prompt("error at line"))
    assert found(claude, r"error \d+ at", regex=True) == [ident("a")]
    assert set(found(claude, r"error( \d+)? at", regex=True)) == {ident("a"), ident("b")}
    assert found(claude, r"line$", regex=True) == [ident("b")]
    with pytest.raises(BadQuery) as caught:
        found(claude, "a(b", regex=True)
    assert caught.value.at == 1


def test_only_text_that_counts_is_found(claude: Claude) -> None:
    claude.write("a", prompt("hello", cwd="/xyzzy", toolUseResult="xyzzy"), b'{"type":"progress","data":"xyzzy"}\n')
    assert found(claude, "xyzzy") == []


def test_filters_and_passages(claude: Claude) -> None:
    claude.write("a", prompt("go"), call("Bash", "t1", command="run fooBar"), result("fooBar broke", "t1", failed=True))
    claude.write("b", reply("fooBar"), project="-work-other")
    claude.put(claude.agent_path("b", "x1"), reply("fooBar in an agent"))
    with claude.refreshed() as index:
        [one] = index.grep("oBa", filters="tool:Bash is:error")
        assert one.session == ident("a")
        assert [(p.tool, p.failed, p.text) for p in one.passages] == [("Bash", True, "fooBar broke")]
        assert [p.text[a:b] for p in one.passages for a, b in p.marks] == ["oBa"]
        [two] = index.grep("oBa", filters="in:reply")
        assert (two.session, two.agents, two.matches) == (ident("b"), {"x1"}, 2)
        assert [r.session for r in index.grep("oBa", without=ident("b"))] == [ident("a")]


def test_titles_are_found(claude: Claude) -> None:
    claude.write("one", prompt("an apple"), custom("Fix the tideGauge rounding"))
    with claude.refreshed() as index:
        (found,) = index.grep("eGauge rou")
        assert [(passage.field, passage.offset) for passage in found.passages] == [("title", -1)]
        assert not list(index.grep("eGauge rou", filters="in:prompt")) and list(index.grep("^Fix", regex=True))


def test_newest_first_and_not_more_than_asked_for(claude: Claude) -> None:
    for number in range(6):
        touch(claude.write(f"s{number}", prompt("fooBar")), days=number)
    with claude.refreshed() as index:
        several = index.grep("oBa")
        assert [next(several).session for _ in range(3)] == [ident(f"s{n}") for n in range(3)]


@given(
    st.text(st.sampled_from("ab1 .*+?{}2,\\dwx$^é-"), min_size=1, max_size=12),
    st.text(st.sampled_from("ab12 é-x."), max_size=20),
)
def test_what_a_match_must_hold_it_holds(expression: str, text: str) -> None:
    try:
        pattern = re.compile(expression)
    except re.error:
        return
    if match := pattern.search(text):
        assert _required_literal(expression) in text, (expression, match)


@pytest.mark.parametrize("pattern", ["er", "tion", "('", "/src/", "oo", "\\n", "le s"])
def test_it_agrees_with_a_plain_reading(demo: Index, pattern: str) -> None:
    wanted = compile_pattern(pattern, False).pattern
    rows = [
        row for shard in demo.shards for row in shard.execute("SELECT path, session, agent FROM file WHERE side=''")
    ]
    expected: dict[str, int] = {}
    agents: dict[str, set[str]] = {}
    for path, session, agent in rows:
        for entry in entries(read(path, finished=True)):
            for said in words(entry):
                if said.field in ("prompt", "reply", "input", "result", "summary") and wanted.search(said.text):
                    expected[session] = expected.get(session, 0) + 1
                    agents.setdefault(session, set()).update({agent} - {""})
        for output in () if agent else Path(path).with_suffix("").glob("tool-results/*"):
            assert output.stat().st_size < 64 << 10  # one piece
            if wanted.search(output.read_text()):
                expected[session] = expected.get(session, 0) + 1
                agents.setdefault(session, set())
    got = {one.session: one for one in demo.grep(pattern, filters="-in:todo,plan,title")}
    assert {session: one.matches for session, one in got.items()} == expected
    assert {session: one.agents for session, one in got.items()} == agents


@pytest.mark.parametrize("pattern", ["^import ", r"\.tsx?$", "^import zebra$"])
def test_the_anchors_of_an_expression_are_those_of_a_line(claude: Claude, pattern: str) -> None:
    claude.write("a", prompt("look at\nimport zebra\nfrom app.ts\nplease"))
    claude.write("b", prompt("an import zebra here, app.ts too"))
    with claude.refreshed() as index:
        assert [one.session for one in index.grep(pattern, regex=True)] == [ident("a")]
