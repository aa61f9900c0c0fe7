"""`clew check --inventory`: what several sessions hold, in one table. Files written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, TWO, reply, result, text, thinking, use, user, write


@pytest.mark.req("R352")
def test_one_table_for_all_sessions(claude: Path, clew: Run) -> None:
    asked = reply(2, thinking("hm"), use("toolu_1", "Read", file_path="/a"), stop="tool_use")
    first = write(claude, ONE, user(1, "go"), asked, result(3, "toolu_1", "x"), reply(4, text("done")))
    summary = {"type": "summary", "summary": "Numbers", "leafUuid": "x"}
    write(claude, TWO, summary, user(1, "hi", version="2.0.42"), reply(2, text("ho"), stop=None, version="2.0.42"))
    code, out, _ = clew("check", "--inventory", "--json")
    rows = {row["session"]: row for row in map(json.loads, out.splitlines())}
    assert code == 0 and set(rows) == {ONE, TWO, "Total"}
    one, total = rows[ONE], rows["Total"]
    assert (one["bytes"], one["lines"], one["human_turns"], one["calls"]) == (first.stat().st_size, 4, 1, 1)
    assert one["types"] == {"user": 2, "assistant": 2} and one["stop_reasons"] == {"tool_use": 1, "end_turn": 1}
    assert one["blocks"] == {"thinking": 1, "tool_use": 1, "tool_result": 1, "text": 1} and one["tools"] == {"Read": 1}
    assert rows[TWO]["stop_reasons"] == {"null": 1} and rows[TWO]["types"]["summary"] == 1
    assert (total["sessions"], total["lines"], total["types"]["user"], total["calls"]) == (2, 7, 3, 1)
    assert total["versions"] == {"2.0.50": 4, "2.0.42": 2}
    _, out, _ = clew("check", "--inventory")
    head, *lines, last = out.splitlines()
    assert head.split()[:5] == ["SESSION", "SIZE", "LINES", "TURNS", "CALLS"] and "stop:null" in head
    assert len(lines) == 2 and last.startswith("Total") and "Read 1" in last


def test_an_inventory_of_one_session_and_of_none(claude: Path, clew: Run) -> None:
    write(claude, ONE, user(1, "go"))
    write(claude, TWO, user(1, "hi"))
    rows = [json.loads(line)["session"] for line in clew("check", ONE, "--inventory", "--json")[1].splitlines()]
    assert rows == [ONE, "Total"]
    assert clew("check", "--inventory", "--project", "tinyledger", "--since", "1h")[0] == 0
    assert clew("check", "--inventory", "--until", "2001-01-01")[0] == 1
