"""The list of all sessions: filters, orders, counts and groups."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.browse.filtered_sessions import (
    ListFilters,
    ListRow,
    SessionMarks,
    count_values,
    group_name,
    list_sessions,
    listed_words,
    select_sessions,
)
from clew.browse.summary_thread import SummarySnapshot
from clew.report.session_summary import SessionSummary
from clew.wire.layout import SessionFile
from clew.wire.tree_walk import TranscriptFile

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp()  # a Wednesday


def row(number: int, *, age: float = 0.0, **facts: object) -> ListRow:
    session, ended = f"{number:08d}-0000-4000-8000-000000000000", NOW - age
    path = Path(f"/c/projects/-p/{session}.jsonl")
    summary = SessionSummary(session, str(path), folder="-p", ended=ended, **facts)  # type: ignore[arg-type]
    words = listed_words(summary, path.parent.name)
    return ListRow(session, str(path), SessionFile(path, path.parent, 1, 1), ended, summary, words)


ROWS = [
    row(1, cwd="/home/ada/bakery", title="Fix rounding", models={"claude-opus-5": 3}, tools={"Bash": (2, 1)}, errors=1),
    row(2, age=400, cwd="/home/ada/bakery-old", title="Old", models={"claude-haiku-4": 1}, branches=2, cost_micros=9),
    row(3, age=90_000, cwd="/home/ada/drip", first_prompt="Where is the valve?", agents=2, tag="water", turns=7),
    row(4, age=900_000, cwd="C:\\work\\drip", edited={"/x/src/pump.rs": 2}, is_interrupted=True, unpriced=("m",)),
]
MARKS = SessionMarks({ROWS[1].session}, {ROWS[0].session: ["money"]})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, [1, 2, 3, 4]),
        ({"project": "bakery"}, [1]),
        ({"project": "/home/ada"}, [1, 2, 3]),
        ({"project": "bak"}, [1, 2]),
        ({"project": "drip"}, [3, 4]),
        ({"model": "opus"}, [1]),
        ({"tool": "bash"}, [1]),
        ({"tool": "bas"}, []),
        ({"file": "pump.rs"}, [4]),
        ({"tag": "MONEY"}, [1]),
        ({"tag": "water"}, [3]),
        ({"is": "pinned"}, [2]),
        ({"is": "live"}, [1]),
        ({"is": "interrupted"}, [4]),
        ({"is": "unpriced"}, [4]),
        ({"is": "nonsense"}, []),
        ({"has": "errors"}, [1]),
        ({"has": "agents"}, [3]),
        ({"has": "branches"}, [2]),
        ({"has": "edits"}, [4]),
        ({"since": "2026-11-18"}, [1, 2]),
        ({"until": "2026-11-18"}, [3, 4]),
        ({"q": "VALVE where"}, [3]),
        ({"q": "is:pinned"}, [2]),
        ({"q": 'project:"bakery" fix'}, [1]),
        ({"q": "fix", "project": "drip"}, []),
        ({"order": "oldest"}, [4, 3, 2, 1]),
        ({"order": "cost"}, [2, 1, 3, 4]),
        ({"order": "turns"}, [3, 1, 2, 4]),
        ({"order": "nonsense"}, [1, 2, 3, 4]),
    ],
)
def test_filters_and_orders(given: dict[str, str], expected: list[int]) -> None:
    found = select_sessions(ROWS, ListFilters.parse(given), MARKS, NOW)
    assert [int(each.session[:8]) for each in found] == expected


def test_a_time_that_cannot_be_understood_is_an_error() -> None:
    with pytest.raises(ValueError, match="soonish"):
        select_sessions(ROWS, ListFilters.parse({"since": "soonish"}), MARKS, NOW)


def test_values_are_counted_among_what_the_other_filters_select() -> None:
    counts = count_values(ROWS, ListFilters.parse({"project": "drip", "is": "pinned"}), MARKS, NOW)
    assert counts["project"] == [("bakery-old", 1)] and counts["is"] == [("interrupted", 1), ("unpriced", 1)]
    assert counts["model"] == []
    for name, options in count_values(ROWS, ListFilters(), MARKS, NOW).items():
        for value, number in options:
            assert len(select_sessions(ROWS, ListFilters.parse({name: value}), MARKS, NOW)) == number, (name, value)


def test_a_session_is_listed_once_by_the_time_of_its_content() -> None:
    files = {
        each.path: TranscriptFile(each.path, "-p", each.session, "", 1, number, 1) for number, each in enumerate(ROWS)
    }
    copy = TranscriptFile("/c/projects/-q/copy.jsonl", "-q", ROWS[0].session, "", 1, 99, 2)
    summaries = {each.path: each.summary for each in ROWS if each.summary}
    older = SessionSummary(ROWS[0].session, copy.path, ended=NOW - 10)
    snapshot = SummarySnapshot(1, {copy.path: copy, **files}, {copy.path: older, **summaries})
    assert [each.path for each in list_sessions(snapshot)] == [each.path for each in ROWS]
    partial = snapshot._replace(summaries={}, total=10)
    assert len(list_sessions(partial)) == 4 and not list_sessions(partial._replace(total=0))


def test_rows_that_are_as_before_are_not_made_again() -> None:
    files = {each.path: TranscriptFile(each.path, "-p", each.session, "", 1, 1, 1) for each in ROWS}
    summaries = {each.path: each.summary for each in ROWS if each.summary}
    before = list_sessions(SummarySnapshot(1, files, summaries))
    grown, renamed, *others = (row.path for row in before)
    files[grown] = files[grown]._replace(size=2)
    summaries[renamed] = replace(summaries[renamed], title="Another title")
    snapshot = SummarySnapshot(2, files, summaries)
    after = {row.path: row for row in list_sessions(snapshot, before)}
    assert list(after.values()) == list_sessions(snapshot)
    assert after[grown].file.size == 2 and "another title" in after[renamed].words
    assert all(row is after[row.path] for row in before if row.path in others) and others


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        ("2026-11-18T00:00", "Today"),
        ("2026-11-19T09:00", "Today"),
        ("2026-11-17T23:59", "Yesterday"),
        ("2026-11-16T01:00", "This week"),
        ("2026-11-15T23:00", "Last week"),
        ("2026-11-09T00:00", "Last week"),
        ("2026-11-08T23:00", "November 2026"),
        ("2025-12-31T12:00", "December 2025"),
    ],
)
def test_groups_by_day(moment: str, name: str) -> None:
    assert group_name(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp(), NOW, UTC) == name
