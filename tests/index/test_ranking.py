"""The ranking formula, part by part."""

from __future__ import annotations

from math import log2

import pytest

from clew.index.assemble import fold_repeats, group_by_session, rank_sessions
from clew.index.fts_match import MAX_REPLIES, find_matches
from clew.index.query_syntax import parse_query
from clew.index.ranking import FIELD_WEIGHTS, HALF_LIFE, MAX_MATCHES, passage_score, relevance, session_score
from clew.index.session_index import Index
from tests.index.helper import NOW, Claude, ident, prompt, reply, result

DAY = 86_400


def test_fields_weigh_titles_and_prompts_above_replies_above_tool_text() -> None:
    order = sorted(FIELD_WEIGHTS, key=lambda field: -FIELD_WEIGHTS[field])
    assert order[:3] == ["title", "prompt", "reply"]
    assert max(FIELD_WEIGHTS["input"], FIELD_WEIGHTS["result"]) < FIELD_WEIGHTS["reply"]


def test_relevance_grows_towards_the_weight_of_the_field() -> None:
    assert passage_score("reply", 1.0) == FIELD_WEIGHTS["reply"]
    assert passage_score("reply", 0.2) < passage_score("reply", 0.7) < FIELD_WEIGHTS["reply"]


@pytest.mark.req("R218")
def test_the_formula() -> None:
    expected = 2.0 * (0.4 + 0.6 * 0.5) * (1 + 0.15 * log2(8)) * (1 + 0.05 * log2(64))
    assert session_score(2.0, HALF_LIFE, 7, 63, False) == pytest.approx(expected)
    assert session_score(2.0, HALF_LIFE, 7, 63, True) == pytest.approx(0.6 * expected)


@pytest.mark.req("R218")
def test_newer_denser_and_deeper_is_better() -> None:
    base = session_score(1.0, 30 * DAY, 3, 10, False)
    assert session_score(1.0, 1 * DAY, 3, 10, False) > base
    assert session_score(1.0, 30 * DAY, 9, 10, False) > base
    assert session_score(1.0, 30 * DAY, 3, 99, False) > base
    assert session_score(2.0, 30 * DAY, 3, 10, False) > base


def test_what_is_old_never_vanishes_and_the_future_is_now() -> None:
    assert session_score(1.0, 1e12, 1, 0, False) == pytest.approx(0.4 * 1.15)
    assert session_score(1.0, -1e6, 1, 1, False) == session_score(1.0, 0.0, 1, 1, False)
    assert session_score(1.0, 0.0, MAX_MATCHES, 1, False) == session_score(1.0, 0.0, 9 * MAX_MATCHES, 1, False)


@pytest.mark.req("R218")
def test_a_score_is_what_the_formula_says(claude: Claude) -> None:
    text = "the nightjar sings" + 100 * " on"  # 318 characters, of which 9 binary digits are kept
    claude.write("a", prompt(text, days=30), reply("it does", days=30))
    with claude.refreshed() as index:
        [found] = index.search("nightjar", now=NOW)
    best = passage_score("prompt", relevance(9))
    assert found.score == pytest.approx(session_score(best, 30 * DAY, 1, 2, False), rel=1e-3)


@pytest.mark.req("R218")
def test_of_two_passages_of_a_kind_the_shorter_is_better(claude: Claude) -> None:
    claude.write("long", prompt("the nightjar sings" + 500 * " on"))
    claude.write("short", prompt("the nightjar sings"))
    claude.write("longest", prompt("the nightjar sings" + 5000 * " on"))
    assert claude.search("nightjar") == [ident("short"), ident("long"), ident("longest")]


@pytest.mark.req("R218")
def test_a_score_follows_what_another_process_indexed(claude: Claude) -> None:
    claude.write("a", prompt("the nightjar sings"))
    with claude.refreshed() as index:
        [before] = index.search("nightjar", now=NOW)
        claude.write("a", prompt("the nightjar sings"), *(reply(f"answer {number}") for number in range(30)))
        with claude.refreshed():
            pass
        [after] = index.search("nightjar", now=NOW)
    assert (before.messages, after.messages) == (1, 31)
    assert after.score / before.score == pytest.approx((1 + 0.05 * log2(32)) / (1 + 0.05 * log2(2)))


@pytest.mark.req("R218")
def test_what_tools_repeat_makes_a_session_no_denser(claude: Claude) -> None:
    claude.write("a", prompt("a nightjar"), *(result(f"nightjar {number}", f"t{number}") for number in range(30)))
    claude.write("b", prompt("a nightjar"), *(result(f"nightingale {number}", f"t{number}") for number in range(30)))
    with claude.refreshed() as index:
        one, other = index.search("nightjar", now=NOW)
    assert one.score == pytest.approx(other.score)
    assert {one.matches, other.matches} == {1, 31}


@pytest.mark.req("R218")
def test_an_old_prompt_is_not_drowned_by_newer_replies(claude: Claude) -> None:
    claude.write("old", prompt("where do nightjars nest", days=300))
    for name in "bcdefghi":
        claude.write(name, prompt("go"), *(reply(f"nightjars here {number}") for number in range(MAX_REPLIES // 2)))
    assert ident("old") in claude.search("nightjars")


@pytest.mark.req("R218")
@pytest.mark.parametrize(
    "text", ["the", "a*", '"order" "total"', '"the same"', "fix is:error", "in:reply test", "日本"]
)
def test_the_order_is_that_of_ranking_all_matches(demo: Index, text: str) -> None:
    query = parse_query(text)
    everything = group_by_session(demo.shards, find_matches(demo.shards, query), None).values()
    expected = fold_repeats(demo.shards, rank_sessions(everything, NOW), 50, NOW)
    found = [one for one in demo.search(query, 50, now=NOW) if one.grade == "exact"]
    assert [(one.session, one.score) for one in found] == [(one.session, one.score) for one in expected]
