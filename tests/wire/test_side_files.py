"""Side files: every shape that was seen, and nothing that can make reading them fail."""

from __future__ import annotations

import os
import stat
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.wire.json_codec import decode, encode
from clew.wire.layout import Project, SessionFile, session_at
from clew.wire.side_files import (
    AgentMeta,
    CleanupSettings,
    IndexEntry,
    SessionsIndex,
    Stats,
    TaskFile,
    Todo,
    build_index,
    compare_index,
    is_bare_name,
    is_fresh,
    read_index,
    read_meta,
    read_settings,
    read_stats,
    read_task,
    read_todos,
    write_index,
)

ONE = "11111111-aaaa-4bbb-8ccc-000000000001"
TWO = "11112222-aaaa-4bbb-8ccc-000000000002"
THREE = "99999999-aaaa-4bbb-8ccc-000000000003"

ROW = {
    "sessionId": ONE,
    "fullPath": f"/home/u/.claude/projects/-p/{ONE}.jsonl",
    "fileMtime": 1768263841305,
    "firstPrompt": "Why is this coming for the DMGs…",
    "summary": "DMG questions",
    "messageCount": 14,
    "created": "2026-01-13T00:20:06.190Z",
    "modified": "2026-01-13T00:24:01.280Z",
    "gitBranch": "main",
    "projectPath": "/p",
    "isSidechain": False,
}


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value if isinstance(value, bytes) else encode(value))
    return path


def index_of(folder: Path, value: Any) -> SessionsIndex | None:
    return read_index(put(folder / "sessions-index.json", value))


def session(folder: Path, id: str, milliseconds: int = 1768263841305) -> SessionFile:
    path = put(folder / f"{id}.jsonl", {"type": "user"})
    os.utime(path, ns=(0, milliseconds * 1_000_000))
    return session_at(path)


# -- sessions-index.json


@pytest.mark.req("R035")
@pytest.mark.req("R036")
@pytest.mark.req("R040")
def test_an_index_with_all_its_fields(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"version": 1, "entries": [ROW], "originalPath": "/p"})
    assert index is not None
    assert (index.version, index.original_path) == (1, "/p")
    assert index.entries == (
        IndexEntry(
            session_id=ONE,
            full_path=f"/home/u/.claude/projects/-p/{ONE}.jsonl",
            file_mtime=1768263841305,
            first_prompt="Why is this coming for the DMGs…",
            summary="DMG questions",
            message_count=14,
            created=datetime(2026, 1, 13, 0, 20, 6, 190000, tzinfo=UTC),
            modified=datetime(2026, 1, 13, 0, 24, 1, 280000, tzinfo=UTC),
            git_branch="main",
            project_path="/p",
            is_sidechain=False,
        ),
    )


@pytest.mark.req("R037")
def test_summary_and_original_path_may_be_missing(tmp_path: Path) -> None:
    row = {key: value for key, value in ROW.items() if key != "summary"}
    index = index_of(tmp_path, {"version": 1, "entries": [row]})
    assert index is not None
    assert index.original_path is None
    assert index.entries[0].summary is None


@pytest.mark.req("R044")
def test_sidechain_entries_are_marked(tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "sessionId": TWO, "isSidechain": True}]
    index = index_of(tmp_path, {"version": 1, "entries": rows})
    assert index is not None
    assert [e.is_sidechain for e in index.entries] == [False, True]


@pytest.mark.req("R039")
def test_times_are_compared_as_instants(tmp_path: Path) -> None:
    forms = ["2026-01-13T00:20:06.190Z", "2026-01-13T00:20:06.190+00:00", "2026-01-13T01:20:06.190+01:00"]
    rows = [{**ROW, "created": form} for form in forms]
    index = index_of(tmp_path, {"version": 1, "entries": rows})
    assert index is not None
    assert len({e.created for e in index.entries}) == 1


@pytest.mark.req("R041")
@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        {"version": 2, "entries": []},
        {"version": "1", "entries": []},
        {"entries": []},
        {"version": 1},
        {"version": 1, "entries": {}},
        b"[" * 100_000,
    ],
)
def test_a_useless_index_is_none(tmp_path: Path, value: Any) -> None:
    assert index_of(tmp_path, value) is None


@pytest.mark.req("R041")
def test_a_missing_index_is_none_and_the_files_are_listed(tmp_path: Path) -> None:
    assert read_index(tmp_path / "sessions-index.json") is None
    assert read_index(tmp_path) is None
    session(tmp_path, ONE)
    put(tmp_path / "sessions-index.json", b"not json")
    assert [file.id for file in Project(tmp_path).sessions()] == [ONE]


def test_wrongly_typed_rows_lose_only_what_is_wrong(tmp_path: Path) -> None:
    rows = [7, {"sessionId": 7}, {**ROW, "messageCount": "x", "created": [], "fileMtime": None, "new": 1}]
    index = index_of(tmp_path, {"version": 1, "entries": rows, "originalPath": 5})
    assert index is not None
    assert [e.session_id for e in index.entries] == [ONE]
    entry = index.entries[0]
    assert (entry.message_count, entry.created, entry.file_mtime, entry.git_branch) == (0, None, 0, "main")


@pytest.mark.req("R038")
def test_freshness_goes_by_the_time_of_the_file_in_milliseconds(tmp_path: Path) -> None:
    entry = IndexEntry(session_id=ONE, file_mtime=1768263841305)
    assert is_fresh(entry, session(tmp_path, ONE, 1768263841305))
    assert not is_fresh(entry, session(tmp_path, ONE, 1768263841307))
    path = tmp_path / f"{ONE}.jsonl"
    os.utime(path, ns=(0, 1768263841305_900_000))
    assert is_fresh(entry, session_at(path))
    assert not is_fresh(IndexEntry(session_id=ONE, file_mtime=float("inf")), session_at(path))


@pytest.mark.req("R038")
@pytest.mark.req("R042")
def test_an_index_held_against_the_files(tmp_path: Path) -> None:
    fresh, stale, gone = (IndexEntry(session_id=id, file_mtime=1768263841305) for id in (ONE, TWO.upper(), "gone"))
    files = [session(tmp_path, ONE), session(tmp_path, TWO, 1768999999999), session(tmp_path, THREE)]
    found = compare_index(SessionsIndex(entries=(fresh, stale, gone)), files)
    assert (found.fresh, found.stale, found.missing) == ((fresh,), (stale,), (gone,))
    assert found.unlisted == (files[2],)
    assert compare_index(None, files).unlisted == tuple(files)


@pytest.mark.req("R043")
def test_an_index_is_written_as_the_program_does(tmp_path: Path) -> None:
    text = build_index(
        [IndexEntry(session_id=ONE, first_prompt="größer", created=datetime(2026, 1, 2, tzinfo=UTC))], "/p"
    )
    assert text.startswith(b'{\n  "version": 1,\n  "entries": [\n    {\n      "sessionId": "')
    assert text.endswith(b'],\n  "originalPath": "/p"\n}')
    assert '"firstPrompt": "größer"'.encode() in text
    assert b'"created": "2026-01-02T00:00:00.000Z"' in text
    assert b"summary" not in text
    assert b"originalPath" not in build_index([], None)


@pytest.mark.req("R043")
def test_an_index_comes_back_as_it_was_written(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"version": 1, "entries": [ROW, {**ROW, "sessionId": TWO}], "originalPath": "/p"})
    assert index is not None
    write_index(tmp_path, index)
    assert read_index(tmp_path / "sessions-index.json") == index
    assert decode((tmp_path / "sessions-index.json").read_bytes())["entries"][0] == ROW


@pytest.mark.req("R043")
@pytest.mark.req("R349")
def test_the_old_index_is_kept(tmp_path: Path) -> None:
    index = SessionsIndex(entries=(IndexEntry(session_id=ONE),))
    assert write_index(tmp_path, index) is None
    path = put(tmp_path / "sessions-index.json", b"first")
    first = write_index(tmp_path, index)
    path.write_bytes(b"second")
    second = write_index(tmp_path, index)
    assert first == tmp_path / "sessions-index.json.bak-1"
    assert second == tmp_path / "sessions-index.json.bak-2"
    assert (first.read_bytes(), second.read_bytes()) == (b"first", b"second")
    assert read_index(path) == index
    assert sorted(p.name for p in tmp_path.iterdir()) == [path.name, first.name, second.name]
    if os.name == "posix":
        assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()} == {0o600}


# -- stats-cache.json

STATS = {
    "version": 2,
    "lastComputedDate": "2026-02-20",
    "dailyActivity": [
        {"date": "2026-02-19", "messageCount": 10, "sessionCount": 2, "toolCallCount": 5},
        {"date": "2026-02-20", "messageCount": 1, "sessionCount": 1, "toolCallCount": 2},
    ],
    "dailyModelTokens": [{"date": "2026-02-20", "tokensByModel": {"claude-a": 150, "claude-b": 7}}],
    "modelUsage": {
        "claude-a": {
            "inputTokens": 100,
            "outputTokens": 50,
            "cacheReadInputTokens": 3,
            "cacheCreationInputTokens": 4,
            "webSearchRequests": 1,
            "costUSD": 0.75,
            "contextWindow": 0,
        }
    },
    "totalSessions": 3,
    "totalMessages": 11,
    "longestSession": {"sessionId": ONE, "duration": 5000, "messageCount": 8, "timestamp": "2026-02-19T10:00:00.000Z"},
    "firstSessionDate": "2026-02-19T10:00:00.000Z",
    "hourCounts": {"9": 2, "14": 1},
    "totalSpeculationTimeSavedMs": 0,
}


@pytest.mark.req("R337")
@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_stats_of_every_version(tmp_path: Path, version: int) -> None:
    stats = read_stats(put(tmp_path / "stats-cache.json", {**STATS, "version": version}))
    assert stats is not None
    assert (stats.version, stats.total_sessions, stats.total_messages, stats.total_tool_calls) == (version, 3, 11, 7)
    assert stats.last_computed == date(2026, 2, 20)
    assert stats.first_session == datetime(2026, 2, 19, 10, tzinfo=UTC)
    assert [(d.day, d.messages, d.sessions, d.tool_calls) for d in stats.days] == [
        (date(2026, 2, 19), 10, 2, 5),
        (date(2026, 2, 20), 1, 1, 2),
    ]
    assert [(d.day, d.tokens) for d in stats.day_tokens] == [(date(2026, 2, 20), {"claude-a": 150, "claude-b": 7})]
    assert stats.hours == {9: 2, 14: 1}
    model = stats.models["claude-a"]
    assert (model.input_tokens, model.output_tokens, model.cache_read, model.cache_creation) == (100, 50, 3, 4)
    assert (model.web_searches, model.cost) == (1, 0.75)
    assert stats.longest_session is not None
    assert (stats.longest_session.session_id, stats.longest_session.duration) == (ONE, 5000)
    assert stats.longest_session.time == stats.first_session


@pytest.mark.req("R337")
@pytest.mark.parametrize("missing", sorted(STATS))
def test_any_key_of_the_stats_may_be_missing(tmp_path: Path, missing: str) -> None:
    kept = {key: value for key, value in STATS.items() if key != missing}
    assert read_stats(put(tmp_path / "stats-cache.json", kept)) is not None


@pytest.mark.req("R337")
@pytest.mark.parametrize("wrong", [None, 7, "x", [], [7], {"a": 7}, [{"date": "never"}], {"99": 1}, True])
def test_any_key_of_the_stats_may_be_wrong(tmp_path: Path, wrong: Any) -> None:
    stats = read_stats(put(tmp_path / "stats-cache.json", dict.fromkeys(STATS, wrong)))
    assert stats is not None
    assert (stats.days, stats.day_tokens, stats.hours, stats.models) == ((), (), {}, {})


@pytest.mark.req("R337")
def test_no_stats(tmp_path: Path) -> None:
    assert read_stats(tmp_path / "stats-cache.json") is None
    assert read_stats(put(tmp_path / "stats-cache.json", b"{}")) == Stats()


# -- the small ones


def test_agent_meta_of_every_era(tmp_path: Path) -> None:
    old = read_meta(put(tmp_path / "a.meta.json", {"agentType": "Explore", "description": "Look"}))
    assert old == AgentMeta(agent_type="Explore", description="Look")
    new = {
        "agentType": "general-purpose",
        "isBuiltIn": True,
        "description": "Look around",
        "toolUseId": "toolu_1",
        "parentAgentId": "abff96be3ae5a72f5",
        "spawnDepth": 2,
        "requestShape": "foreground",
        "finished": True,
    }
    meta = read_meta(put(tmp_path / "b.meta.json", new))
    assert meta is not None
    assert (meta.tool_use_id, meta.parent_agent, meta.spawn_depth) == ("toolu_1", "abff96be3ae5a72f5", 2)
    assert (meta.is_built_in, meta.request_shape, meta.finished) == (True, "foreground", True)


@pytest.mark.req("R013")
def test_todos_of_every_shape(tmp_path: Path) -> None:
    items = [
        {"content": "a", "status": "completed", "activeForm": "Doing a"},
        {"content": "b", "status": "pending", "priority": "high", "id": "1"},
        {"content": "c", "status": "in_progress", "activeForm": "Doing c", "id": 3, "priority": "low"},
        "d",
        None,
    ]
    expected = (
        Todo("a", "completed", "Doing a"),
        Todo("b", "pending", id="1", priority="high"),
        Todo("c", "in_progress", "Doing c", 3, "low"),
        Todo("d"),
    )
    assert read_todos(put(tmp_path / "t.json", items)) == expected
    assert read_todos(put(tmp_path / "t.json", {"todos": items})) == expected
    assert read_todos(put(tmp_path / "t.json", [])) == ()


def test_a_task(tmp_path: Path) -> None:
    value = {
        "id": "1",
        "subject": "First",
        "description": "Do it",
        "activeForm": "Doing it",
        "status": "pending",
        "blocks": ["2"],
        "blockedBy": [],
    }
    assert read_task(put(tmp_path / "1.json", value)) == TaskFile(
        "1", "First", "Do it", "pending", "Doing it", blocks=["2"]
    )
    assert read_task(tmp_path / "2.json") is None


@pytest.mark.req("R013")
def test_settings(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "settings.json") == CleanupSettings()
    path = put(tmp_path / "settings.json", {"cleanupPeriodDays": 99999, "hooks": {}})
    assert read_settings(path).cleanup_period_days == 99999
    path = put(tmp_path / "settings.json", b"\xef\xbb\xbf" + encode({"cleanupPeriodDays": "7"}))
    assert read_settings(path).cleanup_period_days is None


def test_a_bare_name_leads_to_no_other_folder() -> None:
    assert not any(map(is_bare_name, ("", ".", "..", "a/b", "a\\b", "C:x", "a\0")))


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from([*STATS, *ROW, "entries", "todos"]) | st.text(), inner)
        ),
    )
)
def test_no_json_can_break_a_reader(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = put(tmp_path_factory.getbasetemp() / "any.json", value)
    read_stats(path)
    read_meta(path)
    read_task(path)
    read_todos(path)
    read_settings(path)
    read_index(put(path, {"version": 1, "entries": [value, {**ROW, "created": value}], "originalPath": value}))


SAMPLES = Path(__file__).parents[3] / "shared" / "oracle" / "samples"


@pytest.mark.shared
@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
@pytest.mark.req("R035")
@pytest.mark.req("R043")
def test_side_files_written_by_the_real_program() -> None:
    indexes = sorted(SAMPLES.glob("2*/*/.claude/projects/*/sessions-index.json"))
    for path in indexes:
        index = read_index(path)
        assert index is not None
        assert build_index(index.entries, index.original_path) == path.read_bytes()
    metas = [read_meta(path) for path in SAMPLES.glob("2*/*/.claude/projects/*/*/subagents/*.meta.json")]
    assert indexes
    assert metas
    assert all(meta and meta.tool_use_id for meta in metas)
