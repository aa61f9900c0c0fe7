"""`clew check --inventory`: what several sessions hold, in one table. Files written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.view.sanitize import columns
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
    blocks = [block.splitlines() for block in out.split("\n\n")]
    assert blocks[0][0].split()[:5] == ["SESSION", "SIZE", "LINES", "TURNS", "CALLS"]
    assert any("stop:null" in head for head, *_ in blocks)
    for head, *lines, last in blocks:
        assert head.startswith("SESSION ") and len(lines) == 2 and last.startswith("Total")
    assert blocks[-1][-1].endswith("Read 1")


@pytest.mark.parametrize("width", [0, 60, 80, 200])
def test_a_table_is_not_wider_than_the_terminal(
    claude: Path, clew: Run, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    else:
        monkeypatch.delenv("COLUMNS", raising=False)
    calls = [use(f"toolu_{n}", f"mcp__server_{n}__tool", n=n) for n in range(30)]
    kinds = [{"type": f"kind-of-line-{n}", "uuid": f"{n}"} for n in range(20)]
    odd = {"type": "一二三四五" * 20, "uuid": "x"}
    write(claude, ONE, user(1, "go", version="2.1.325"), reply(2, *calls, stop="tool_use"), *kinds, odd)
    write(claude, TWO, user(1, "hi"), reply(2, text("ho")))
    code, out, _ = clew("check", "--inventory")
    assert code == 0 and max(map(columns, out.splitlines())) <= (width or 80)
    for name in ("kind-of-line-19", "block:tool_use", "stop:end_turn", "mcp__server_29__tool 1", "2.1.325 1"):
        assert name in out
    heads = [line for line in out.splitlines() if line.startswith("SESSION ")]
    assert len(heads) > 1 and out.count("Total ") == len(heads)


def test_an_inventory_of_one_session_and_of_none(claude: Path, clew: Run) -> None:
    write(claude, ONE, user(1, "go"))
    write(claude, TWO, user(1, "hi"))
    rows = [json.loads(line)["session"] for line in clew("check", ONE, "--inventory", "--json")[1].splitlines()]
    assert rows == [ONE, "Total"]
    assert clew("check", "--inventory", "--project", "tinyledger", "--since", "2001-01-01")[0] == 0
    assert clew("check", "--inventory", "--until", "2001-01-01")[0] == 1
