"""The totals of stats-cache.json beside our own, on a hand-written tree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import PROJECT, SESSION, call, prompt, put, reply, result, text, write_lines


@pytest.fixture
def home(claude: Path) -> Path:
    write_lines(
        claude / "projects" / PROJECT / f"{SESSION}.jsonl",
        prompt(1, None, "Go"),
        reply(2, 1, call("toolu_1", "ls")),
        result(3, 2, "toolu_1", "a"),
        reply(4, 3, text("Done.")),
    )
    return claude


def stats(home: Path, sessions: int, messages: int, calls: int, hours: dict[str, int]) -> None:
    day = {"date": "2026-02-03", "messageCount": messages, "sessionCount": sessions, "toolCallCount": calls}
    value = {"version": 1, "lastComputedDate": "2026-02-03", "dailyActivity": [day], "modelUsage": {}}
    value |= {"totalSessions": sessions, "totalMessages": messages, "hourCounts": hours}
    put(home / "stats-cache.json", json.dumps(value))


@pytest.mark.req("R337")
def test_totals_that_agree_are_shown(clew: Run, home: Path) -> None:
    stats(home, 1, 4, 1, {"10": 1})
    out = clew("usage", "--reconcile", "--tz", "UTC")[1]
    assert out.startswith(
        "stats-cache.json totals: sessions: theirs 1, ours 1.\n"
        "stats-cache.json totals: messages: theirs 4, ours 4.\n"
        "stats-cache.json totals: tool calls: theirs 1, ours 1.\n"
        "stats-cache.json totals: sessions by hour: theirs 10h:1, ours 10h:1.\n"
    )


@pytest.mark.req("R337")
def test_totals_that_differ_say_why(clew: Run, home: Path) -> None:
    stats(home, 9, 80, 0, {"10": 2, "23": 7})
    rows = [json.loads(line) for line in clew("usage", "--reconcile", "--json", "--tz", "UTC")[1].splitlines()]
    totals = {r["what"]: (r["theirs"], r["ours"], r["agree"]) for r in rows if r["source"].endswith("totals")}
    assert totals == {
        "sessions": ("9", "1", False),
        "messages": ("80", "4", False),
        "tool calls": ("0", "1", False),
        "sessions by hour": ("10h:2 23h:7", "10h:1", False),
    }


@pytest.mark.req("R337")
def test_what_came_after_the_last_day_is_not_counted(clew: Run, home: Path) -> None:
    path = home / "projects" / PROJECT / f"{SESSION}.jsonl"
    late = prompt(5, 4, "Later")
    late["timestamp"] = "2026-02-04T09:00:00.000Z"
    with path.open("a") as file:
        file.write(json.dumps(late) + "\n")
    stats(home, 1, 4, 1, {"10": 1})
    assert "messages: theirs 4, ours 4." in clew("usage", "--reconcile", "--tz", "UTC")[1]
    put(home / "stats-cache.json", '{"totalMessages": "many", "hourCounts": [], "lastComputedDate": null}')
    assert "messages: theirs 0, ours 5: it does not include" in clew("usage", "--reconcile", "--tz", "UTC")[1]


@pytest.mark.req("R338")
def test_tokens_that_differ_are_shown_beside_our_own(clew: Run, home: Path) -> None:
    tokens = {"inputTokens": 20, "outputTokens": 99, "cacheReadInputTokens": 0, "cacheCreationInputTokens": 0}
    used = {"claude-opus-4-5-20251101": tokens}
    put(home / "stats-cache.json", json.dumps({"version": 1, "lastComputedDate": "2026-02-03", "modelUsage": used}))
    rows = [json.loads(line) for line in clew("usage", "--reconcile", "--json", "--tz", "UTC")[1].splitlines()]
    found = {r["what"].split()[-1]: (r["theirs"], r["ours"], r["agree"]) for r in rows if " output" in r["what"]}
    assert found == {"output": ("99", "10", False)}
    assert ("20", "20", True) in [(r["theirs"], r["ours"], r["agree"]) for r in rows if " input" in r["what"]]
