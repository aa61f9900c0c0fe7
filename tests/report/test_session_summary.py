"""Summaries of sessions: what they say, that their money is that of the usage report, and that the store stays right."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import apsw
import pytest

from clew.cli import main
from clew.conversation.load import read
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import bash, edit, talk, task
from clew.facts.prices import load
from clew.report.session_summary import MAX_SPARK, shorten_spark, summarize
from clew.report.summary_store import SummaryStore
from clew.report.usage_summary import cache_folder
from clew.wire.tree_walk import list_transcripts


def store_of(demo: DemoSummary, tmp_path: Path) -> SummaryStore:
    return SummaryStore(str(demo.root), str(tmp_path / "cache"))


def test_a_summary_says_what_a_session_did(tmp_path: Path) -> None:
    child = talk(seed="inner").user("look").reply("seen", call=bash("ls missing")).result("no such file", error=True)
    told = talk(cwd="/home/ada/bakery", branch="main", model="claude-opus-5").user("Fix the rounding of prices")
    told = told.reply("first", call=edit("/home/ada/bakery/pricing.py", "a", "b")).result("done")
    told = told.reply("then", call=bash("make test\nmore")).result("failed", error=True)
    told = told.reply(call=task("look", "look")).agent(0, child).reply("All done.")
    told = told.user("again").reply("half").interrupt().title("Rounding").line({"type": "tag", "tag": "money"})
    summary = summarize(read(told.write(tmp_path)), load())
    assert (summary.project, summary.title, summary.tag) == ("bakery", "Rounding", "money")
    assert (summary.first_prompt, summary.branch, summary.model) == (
        "Fix the rounding of prices",
        "main",
        "claude-opus-5",
    )
    assert (summary.turns, summary.agents, summary.branches, summary.errors) == (2, 1, 1, 2)
    assert summary.is_interrupted and summary.last_reply == "half"
    assert summary.edited == {"/home/ada/bakery/pricing.py": 1}
    assert summary.tools["Bash"] == (2, 2) and summary.tools["Edit"] == (1, 0)
    assert summary.failing == {"make test": 1, "ls missing": 1}
    assert [has_error for _, has_error in summary.spark] == [True, False]
    assert sum(cost for cost, _ in summary.spark) == pytest.approx(summary.cost_micros, abs=2) and summary.cost_micros
    assert 0 < summary.context_tokens <= summary.context_limit
    assert 0 < summary.active_seconds <= summary.ended - summary.started


def test_a_spark_of_many_turns_keeps_the_sum_and_the_errors() -> None:
    points = [(number, number == 500) for number in range(1000)]
    short = shorten_spark(points)
    assert len(short) == MAX_SPARK and sum(cost for cost, _ in short) == sum(range(1000))
    assert (
        sum(error for _, error in short) == 1
        and shorten_spark(()) == ()
        and shorten_spark(points[:3]) == (*points[:3],)
    )


def test_costs_are_those_of_the_usage_report(
    demo: DemoSummary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = talk(seed="copied", model="claude-opus-5").user("one").reply("two")
    told.write(demo.root)
    told.fork().user("three").reply("four").write(demo.root)  # replies in both files count once
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    store = store_of(demo, tmp_path)
    store.refresh()
    assert main(["usage", "session", "--json", "--claude-dir", str(demo.root)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    reported = {row["name"]: row["cost_micros"] for row in rows if row["name"] != "Total"}
    summaries = store.load().values()
    assert len(summaries) > 20 and {each.session for each in summaries} >= reported.keys() - {"(no session)"}
    assert {each.session: each.cost_micros for each in summaries if each.session in reported} == reported
    assert all(not each.cost_micros for each in summaries if each.session not in reported)


def test_only_changed_sessions_are_read_again(demo: DemoSummary, tmp_path: Path) -> None:
    store = store_of(demo, tmp_path)
    assert store.refresh() and not store.refresh() and not store.changed(list_transcripts(str(demo.root)))
    before = store.load()
    path = next(
        Path(file.path)
        for file in list_transcripts(str(demo.root))
        if file.agent and Path(file.path).parent.name == "subagents"
    )
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines(keepends=True)[-1])
    changed = store.changed(list_transcripts(str(demo.root)))
    assert [file.session for file in changed] == [path.parent.parent.name]
    new = talk(seed="new").user("hello").reply("there").write(demo.root)
    assert store.refresh() and store.load().keys() == before.keys() | {str(new)}
    new.unlink()
    assert store.refresh() and store.load().keys() == before.keys()
    (other,) = [SummaryStore(str(demo.root), str(tmp_path / "cache"))]
    assert other.load() == store.load() == other.get_many(list_transcripts(str(demo.root)))


@pytest.mark.parametrize("junk", [b"", b"junk", b"\0" * 4096])
def test_a_damaged_store_is_rebuilt(junk: bytes, demo: DemoSummary, tmp_path: Path) -> None:
    store = store_of(demo, tmp_path)
    store.refresh()
    summaries = store.load()
    store.close()
    path = Path(cache_folder(str(demo.root), str(tmp_path / "cache")), "summaries.db")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3] + junk + data[len(data) // 3 + len(junk) :] if junk else b"")
    again = store_of(demo, tmp_path)
    again.refresh()
    again.load()
    again.refresh()  # what the first look found damaged
    assert again.load() == summaries


def test_a_store_with_other_columns_is_rebuilt(demo: DemoSummary, tmp_path: Path) -> None:
    store = store_of(demo, tmp_path)
    store.refresh()
    summaries = store.load()
    store.close()
    database = apsw.Connection(str(Path(cache_folder(str(demo.root), str(tmp_path / "cache")), "summaries.db")))
    database.execute("DROP TABLE cost; CREATE TABLE cost(session TEXT)")
    database.close()
    again = store_of(demo, tmp_path)
    assert again.load() == {}
    again.refresh()
    assert again.load() == summaries


def test_the_store_is_for_the_user_alone_and_can_be_in_memory(demo: DemoSummary, tmp_path: Path) -> None:
    store_of(demo, tmp_path).refresh()
    for path in (tmp_path / "cache").rglob("summaries.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    memory = SummaryStore(str(demo.root), None)
    assert memory.refresh() and memory.load() == store_of(demo, tmp_path).load()
