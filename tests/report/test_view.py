"""Views of a session: how its window filled, what each turn cost, what was wasted, and what Claude Code says itself."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.demo.demo_tree import write_demo
from clew.demo.talk import bash, read, talk, task
from clew.facts.prices import load
from clew.report.collect_buckets import collect_buckets
from clew.report.context_history import KINDS, context_points
from clew.report.cost_by_turn import ELSEWHERE, cost_by_turn
from clew.report.reconcile import compare_agents, compare_cost_state, compare_stats
from clew.report.timezone import Zone
from clew.report.waste import find_waste
from clew.wire.side_files import read_stats
from tests.cli.conftest import NOW

PRICES = load()


def used(**tokens: int) -> dict[str, Any]:
    names = {"given": "input_tokens", "output": "output_tokens", "read": "cache_read_input_tokens"}
    names |= {"write": "cache_creation_input_tokens"}
    none = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
    return {**none, "cache_creation": None, **{names[key]: number for key, number in tokens.items()}}


# -- context


def test_the_window_is_what_the_last_reply_of_a_turn_says(tmp_path: Path) -> None:
    told = (
        talk()
        .user("x" * 400)
        .reply("I look.", call=bash("ls"), usage=used(given=900, output=100))
        .result("y" * 4000)
        .reply("z" * 40, usage=used(given=100, read=1900, output=50))
        .user("More.")
        .reply("Yes.", usage=used(read=3000))
    )
    points = context_points(clew.read(told.write(tmp_path)))
    assert [(p.number, p.tokens, p.is_compacted) for p in points] == [(1, 2050, False), (2, 3000, False)]
    first = points[0].parts
    assert first["prompts"] == 100 and first["tool result"] == 1000 and first["tool input"] > 0
    for point in points:
        assert tuple(point.parts) == KINDS
        assert sum(point.parts.values()) == point.tokens


def test_an_estimate_above_the_window_is_cut_to_it(tmp_path: Path) -> None:
    told = talk().user("x" * 4000).reply("y", usage=used(given=100))
    (point,) = context_points(clew.read(told.write(tmp_path)))
    assert point.tokens == sum(point.parts.values()) == 100


def test_thinking_of_earlier_turns_is_not_in_the_window(tmp_path: Path) -> None:
    told = (
        talk()
        .user("a")
        .reply("b", thinking="h" * 400, usage=used(given=500))
        .user("c")
        .reply("d", usage=used(given=500))
    )
    first, second = context_points(clew.read(told.write(tmp_path)))
    assert (first.parts["thinking"], second.parts["thinking"]) == (100, 0)


def test_a_compaction_is_marked_and_empties_the_window(tmp_path: Path) -> None:
    told = (
        talk()
        .user("x" * 4000)
        .reply("a", usage=used(given=2000))
        .compact("short")
        .user("go")
        .reply("b", usage=used(given=300))
    )
    points = context_points(clew.read(told.write(tmp_path)))
    assert (points[0].tokens, points[-1].tokens) == (2000, 300)
    assert [point.is_compacted for point in points].count(True) == 1
    assert points[-1].parts["prompts"] < 300


# -- turns


def test_agents_are_rolled_up_to_the_turn_that_began_them(tmp_path: Path) -> None:
    errand = talk().user("Look.").reply("Seen.", usage=used(output=1000))
    told = (
        talk()
        .user("one")
        .reply("1", usage=used(output=1))
        .user("two")
        .reply(call=task("Look", "Look."), usage=used(output=10))
        .agent(0, errand)
        .reply("done", usage=used(output=100))
    )
    found = cost_by_turn(clew.read(told.write(tmp_path)), PRICES)
    assert [(row.name.split(), row.output) for row in found.rows] == [(["1", "one"], 1), (["2", "two"], 1110)]
    assert found.total.output == 1111


def test_a_branch_that_was_left_counts_once_and_apart(tmp_path: Path) -> None:
    told = talk().user("one").reply("1", usage=used(output=1)).user("two").reply("2", usage=used(output=2))
    told = told.rewind(to=2).user("three").reply("3", usage=used(output=4))
    found = cost_by_turn(clew.read(told.write(tmp_path)), PRICES)
    assert [(row.name.split()[-1], row.output) for row in found.rows] == [
        ("one", 1),
        ("three", 4),
        (ELSEWHERE.split()[-1], 2),
    ]
    assert found.total.output == 7


def test_the_turns_of_every_session_add_up_to_its_usage(tmp_path: Path) -> None:
    write_demo(tmp_path, NOW)
    for session in clew.sessions(claude=tmp_path):
        found = cost_by_turn(session, PRICES)
        assert sum(row.output for row in found.rows) == found.total.output == clew.usage(session).total.output
        assert sum(row.cost for row in found.rows) == found.total.cost


# -- waste


def wasted(path: Path) -> dict[str, tuple[int, int]]:
    return {each.kind: (each.times, each.tokens) for each in find_waste([clew.read(path)], PRICES) if each.times}


def test_a_reply_whose_calls_all_failed_is_wasted(tmp_path: Path) -> None:
    told = (
        talk()
        .user("go")
        .reply(calls=[bash("a"), bash("b")], usage=used(output=5))
        .result("no", for_=0, error=True)
        .result("no", for_=1, error=True)
        .reply(calls=[bash("c"), bash("d")], usage=used(output=7))
        .result("no", for_=0, error=True)
        .result("yes", for_=1)
        .reply("done", usage=used(output=1))
    )
    assert wasted(told.write(tmp_path)) == {"failed": (1, 5)}


def test_reading_the_same_again_is_wasted(tmp_path: Path) -> None:
    told = talk().user("go")
    for content in ("a" * 400, "a" * 400, "b" * 400):
        told = told.reply(call=read("/x.py"), usage=used(output=1)).result(content)
    found = wasted(told.reply("done", usage=used(output=1)).write(tmp_path))
    assert found["repeated"][0] == 1 and found["repeated"][1] >= 100


def test_a_cache_that_was_lost_is_paid_for_again(tmp_path: Path) -> None:
    told = (
        talk()
        .user("go")
        .reply("a", usage=used(write=10_000))
        .user("and")
        .reply("b", usage=used(read=10_000, write=100))
        .pause(minutes=90)
        .user("later")
        .reply("c", usage=used(write=10_200))
    )
    path = told.write(tmp_path)
    assert wasted(path) == {"expired": (1, 10_100)}
    (expired,) = (each for each in find_waste([clew.read(path)], PRICES) if each.times)
    assert expired.cost == 10_100 * (6_250_000 - 500_000)


def test_a_compaction_is_paid_for_too(tmp_path: Path) -> None:
    told = (
        talk()
        .user("go")
        .reply("a", usage=used(write=10_000))
        .compact("short")
        .user("on")
        .reply("b", usage=used(write=3_000))
    )
    assert wasted(told.write(tmp_path)) == {"compacted": (1, 3_000)}


def test_requests_that_failed_are_counted(tmp_path: Path) -> None:
    told = talk().user("go").system("api_error", level="error", retryAttempt=1).reply("ok", usage=used(output=1))
    assert wasted(told.write(tmp_path)) == {"retried": (1, 0)}


# -- what Claude Code says itself


@pytest.mark.req("R338")
def test_our_numbers_beside_those_of_stats_cache(tmp_path: Path) -> None:
    talk(start=datetime(2026, 1, 5, 10, tzinfo=UTC)).user("a").reply("b", usage=used(given=10, output=5)).write(
        tmp_path
    )
    (tmp_path / "stats-cache.json").write_text(
        '{"lastComputedDate":"2026-01-06","modelUsage":{"claude-opus-5":{"inputTokens":10,"outputTokens":9,'
        '"cacheReadInputTokens":0,"cacheCreationInputTokens":0},"claude-gone-1":{"inputTokens":3}}}'
    )
    stats = read_stats(tmp_path / "stats-cache.json")
    assert stats is not None
    buckets = collect_buckets(str(tmp_path), None, per_reply=False).buckets
    found = {each.what: each for each in compare_stats(stats, buckets, Zone("UTC"))}
    assert found["claude-opus-5 input"].why == ""
    assert (found["claude-opus-5 output"].theirs, found["claude-opus-5 output"].ours) == ("9", "5")
    assert "once for each line" in found["claude-opus-5 output"].why
    assert "deleted" in found["claude-gone-1 input"].why


@pytest.mark.req("R338")
def test_what_came_after_the_day_of_the_statistics_is_left_out(tmp_path: Path) -> None:
    told = talk(start=datetime(2026, 1, 5, 10, tzinfo=UTC)).user("a").reply("b", usage=used(output=5))
    told.pause(days=3).user("c").reply("d", usage=used(output=7)).write(tmp_path)
    (tmp_path / "stats-cache.json").write_text(
        '{"lastComputedDate":"2026-01-05","modelUsage":{"claude-opus-5":{"outputTokens":5}}}'
    )
    stats = read_stats(tmp_path / "stats-cache.json")
    assert stats is not None
    buckets = collect_buckets(str(tmp_path), None, per_reply=False).buckets
    assert [each.why for each in compare_stats(stats, buckets, Zone("UTC"))] == ["", "", "", ""]


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"totalCostUSD": 25.0}, ""),
        ({"totalCostUSD": 30.0}, "without a reply in the file"),
        ({"totalCostUSD": 30.0, "hasUnknownModelCost": True}, "did not know the price"),
        ({"totalCostUSD": 5.0}, "resumed"),
    ],
)
def test_the_cost_that_the_program_wrote_down(tmp_path: Path, state: dict[str, Any], why: str) -> None:
    told = talk().user("a").reply("b", usage=used(output=10**6)).line({"type": "cost-state", **state})
    (found,) = compare_cost_state(clew.read(told.write(tmp_path)), PRICES)
    assert (found.why == "") is (why == "") and why in found.why
    assert found.ours == "$25.00"


def test_a_session_that_says_nothing_has_nothing_to_compare(tmp_path: Path) -> None:
    session = clew.read(talk().user("a").reply("b").write(tmp_path))
    assert not list(compare_cost_state(session, PRICES)) and not list(compare_agents(session))


def test_the_total_of_an_agent_is_its_window(tmp_path: Path) -> None:
    write_demo(tmp_path, NOW)
    found = [each for session in clew.sessions(claude=tmp_path) for each in compare_agents(session)]
    assert found and [each for each in found if each.why] == []
