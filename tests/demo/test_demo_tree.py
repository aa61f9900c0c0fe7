"""The demo tree: that it has each thing it is there to show, that it is sound, and always the same."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from clew.demo import home_files
from clew.demo.demo_tree import DemoSummary, write_demo
from clew.errors import Refused
from clew.wire.entry import Damaged, Entry, entries, read
from clew.wire.project_slug import slug
from clew.wire.prompt_history import HistoryPrompt, read_history
from clew.wire.side_files import read_index, read_stats, read_todos

NOW = datetime(2026, 5, 1, 17, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSummary:
    return write_demo(tmp_path_factory.mktemp("demo") / "claude", NOW)


def paths(summary: DemoSummary, pattern: str = "*") -> list[Path]:
    return sorted(path for path in summary.root.rglob(pattern) if path.is_file())


def main_files(summary: DemoSummary) -> list[Path]:
    return sorted(summary.root.glob("projects/*/????????-*.jsonl"))


def transcripts(summary: DemoSummary) -> list[Path]:
    return [path for path in paths(summary, "*.jsonl") if path.name not in ("history.jsonl", "journal.jsonl")]


def path_of(summary: DemoSummary, key: str) -> Path:
    return next(summary.root.glob(f"projects/*/{summary.sessions[key]}.jsonl"))


def said(summary: DemoSummary, key: str) -> list[Entry]:
    return list(entries(read(path_of(summary, key))))


def everything(summary: DemoSummary) -> list[dict[str, Any]]:
    return [entry.data for path in transcripts(summary) for entry in entries(read(path))]


# -- the whole


def test_the_size_is_that_of_a_demo(demo: DemoSummary) -> None:
    found = paths(demo)
    assert demo.files == len(found)
    assert demo.size == sum(path.stat().st_size for path in found)
    assert 300_000 <= demo.size <= 800_000
    assert demo.projects == len(list((demo.root / "projects").iterdir())) == 5
    assert 15 <= len(main_files(demo)) <= 25
    assert demo.agents == len([path for path in transcripts(demo) if path.name.startswith("agent-")]) >= 8


def test_the_same_now_gives_the_same_bytes(demo: DemoSummary, tmp_path: Path) -> None:
    again = write_demo(tmp_path / "again", NOW)
    first = {path.relative_to(demo.root): path for path in paths(demo)}
    second = {path.relative_to(again.root): path for path in paths(again)}
    assert first.keys() == second.keys()
    for name, path in first.items():
        assert path.read_bytes() == second[name].read_bytes(), name
        assert path.stat().st_mtime == second[name].stat().st_mtime, name


def test_another_now_gives_the_same_sessions_at_other_times(demo: DemoSummary, tmp_path: Path) -> None:
    later = write_demo(tmp_path / "later", NOW + timedelta(days=100))
    assert later.sessions == demo.sessions
    before = [entry.time for entry in said(demo, "rounding") if entry.time]
    after = [entry.time for entry in said(later, "rounding") if entry.time]
    assert after == [time + timedelta(days=100) for time in before]


def test_a_folder_with_something_in_it_is_refused(demo: DemoSummary, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in paths(demo)}
    with pytest.raises(Refused, match="not an empty folder"):
        write_demo(demo.root, NOW)
    assert {path: path.read_bytes() for path in paths(demo)} == before
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Refused):
        write_demo(tmp_path / "file", NOW)
    with pytest.raises(ValueError, match="time zone"):
        write_demo(tmp_path / "new", NOW.replace(tzinfo=None))
    assert write_demo(tmp_path / "new", NOW).files == demo.files


def test_the_sessions_are_spread_over_sixty_days(demo: DemoSummary) -> None:
    times = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in main_files(demo)]
    assert NOW - timedelta(days=60) < min(times) < NOW - timedelta(days=50)
    assert NOW - timedelta(days=1) < max(times) <= NOW
    for path in transcripts(demo):
        moments = [entry.time for entry in entries(read(path)) if entry.time]
        if moments:
            assert path.stat().st_mtime == max(moments).timestamp()


def test_every_session_lies_in_the_folder_of_its_cwd(demo: DemoSummary) -> None:
    for path in main_files(demo):
        first = next((entry for entry in entries(read(path)) if entry.cwd), None)
        if first and first.cwd:
            assert path.parent.name == slug(first.cwd)
        assert {entry.session_id for entry in entries(read(path)) if entry.session_id} <= {path.stem}


def test_every_transcript_is_sound(demo: DemoSummary) -> None:
    for path in transcripts(demo):
        found = list(entries(read(path)))
        uuids = Counter(entry.uuid for entry in found if entry.uuid)
        assert max(uuids.values(), default=1) == 1, path
        assert all(entry.parent in {None, *uuids} for entry in found), path
        uses = sorted(str(block.id) for entry in found for block in entry.uses)
        assert uses == sorted(str(block.tool_use_id) for entry in found for block in entry.results), path
        times = [entry.time for entry in found if entry.time]
        assert all(a < b for a, b in pairwise(times)), path


def test_only_the_damaged_session_is_damaged(demo: DemoSummary) -> None:
    for path in transcripts(demo):
        damage = [item for item in read(path) if isinstance(item, Damaged)]
        assert bool(damage) == (path == path_of(demo, "damaged")), path


def test_ids_are_shared_by_forks_alone(demo: DemoSummary) -> None:
    owners: dict[str, set[str]] = {}
    for path in transcripts(demo):
        for entry in entries(read(path)):
            if entry.uuid:
                owners.setdefault(entry.uuid, set()).add(path.stem)
    shared = {frozenset(files) for files in owners.values() if len(files) > 1}
    assert shared == {frozenset({demo.sessions["menu-import"], demo.sessions["menu-import-fork"]})}


def test_the_edits_are_real(demo: DemoSummary) -> None:
    edits = [e["toolUseResult"] for e in everything(demo) if "oldString" in (e.get("toolUseResult") or {})]
    assert len(edits) >= 12
    for edit in edits:
        after = edit["originalFile"].replace(edit["oldString"], edit["newString"], 1)
        added = [line[1:] for hunk in edit["structuredPatch"] for line in hunk["lines"] if line[0] == "+"]
        assert edit["oldString"] in edit["originalFile"]
        assert set(added) <= set(after.splitlines())


def test_nobody_could_mistake_it_for_a_leak() -> None:
    """No file of the package holds anything that looks like a key: the demo's are put together when it is written."""
    pattern = re.compile(r"sk_live_\w{8}|ghp_\w{20}|AKIA[0-9A-Z]{12}|-----BEGIN")
    for path in Path(home_files.__file__).parent.glob("*.py"):
        assert not pattern.search(path.read_text(encoding="utf-8")), path


# -- each feature


def test_versions(demo: DemoSummary) -> None:
    found = {str(entry.get("version")) for entry in everything(demo)}
    assert {"1.0.117", "2.0.76", "2.1.29", "2.1.45", "2.1.232", "2.1.325"} <= found
    assert {entry.version for entry in said(demo, "moved") if entry.version} == {"2.1.29", "2.1.232"}


def test_systems(demo: DemoSummary) -> None:
    names = {path.name for path in (demo.root / "projects").iterdir()}
    assert {name[:2] for name in names} >= {"-h", "-U", "C-", "-s"}


def test_a_bug_is_fixed(demo: DemoSummary) -> None:
    found = said(demo, "rounding")
    assert [block.name for entry in found for block in entry.uses].count("Edit") == 3
    assert any(entry.failed(block) for entry in found for block in entry.results)
    assert any(entry.type == "pr-link" for entry in found)
    assert sum(entry.type == "attachment" and b"hook_success" in entry.raw for entry in found) == 2


def test_branches(demo: DemoSummary) -> None:
    prompts = [entry for entry in said(demo, "opening-hours") if entry.type == "user" and not entry.results]
    parents = Counter(entry.parent for entry in prompts)
    assert sorted(parents.values()) == [1, 1, 3]


def test_agents(demo: DemoSummary) -> None:
    folder = path_of(demo, "agents").with_suffix("") / "subagents"
    metas = [json.loads(path.read_text()) for path in sorted(folder.glob("*.meta.json"))]
    assert sorted(meta["spawnDepth"] for meta in metas) == [1, 1, 2]
    assert [meta["parentAgentId"] for meta in metas if meta["spawnDepth"] == 2]
    assert any(b"async_launched" in entry.raw for entry in said(demo, "agents"))
    assert any(entry.text.startswith("<task-notification>") for entry in said(demo, "agents"))


def test_a_workflow(demo: DemoSummary) -> None:
    folder = path_of(demo, "workflow").with_suffix("")
    runs = list((folder / "subagents" / "workflows").iterdir())
    assert len(runs) == 1
    assert len(list(runs[0].glob("agent-*.jsonl"))) == 4
    assert len((runs[0] / "journal.jsonl").read_bytes().splitlines()) == 8
    assert (folder / "workflows" / f"{runs[0].name}.json").exists()


def test_older_agents(demo: DemoSummary) -> None:
    folder = path_of(demo, "sensor").parent
    stubs = [path for path in folder.glob("agent-*.jsonl") if path.read_bytes().count(b"\n") == 1]
    assert [next(iter(entries(read(path)))).text for path in stubs] == ["Warmup"]
    assert len(list(folder.glob("agent-*.jsonl"))) == 2
    assert sum(entry.is_sidechain for entry in said(demo, "long-ago")) == 2


def test_compactions(demo: DemoSummary) -> None:
    boundaries = [e for e in everything(demo) if e.get("subtype") == "compact_boundary"]
    assert sorted(e["compactMetadata"]["trigger"] for e in boundaries) == ["auto", "manual"]
    kept = [e for e in boundaries if "preservedMessages" in e["compactMetadata"]]
    assert len(kept) == 1
    uuids = {entry.uuid for entry in said(demo, "compacted")}
    assert set(kept[0]["compactMetadata"]["preservedMessages"]["uuids"]) < uuids
    assert sum(bool(e.get("isCompactSummary")) for e in everything(demo)) == 2


def test_a_long_session(demo: DemoSummary) -> None:
    prompts = [e for e in said(demo, "stations") if e.type == "user" and not e.results]
    assert len(prompts) >= 150


def test_every_kind_of_damage(demo: DemoSummary) -> None:
    damage = [item for item in read(path_of(demo, "damaged")) if isinstance(item, Damaged)]
    assert [item.kind for item in damage] == ["joined", "spliced", "nul", "unreadable", "torn"]
    assert [len(item.salvaged) for item in damage] == [2, 1, 1, 0, 0]
    assert not damage[-1].line.is_terminated


def test_scripts_of_the_east(demo: DemoSummary) -> None:
    prompts = [entry.text for entry in said(demo, "languages") if entry.type == "user" and not entry.results]
    assert any(re.search("[ぁ-ん]", text) for text in prompts)
    assert any(re.search("[一-龥]", text) and not re.search("[ぁ-ん]", text) for text in prompts)


def results(summary: DemoSummary, key: str) -> list[Any]:
    """The contents of all tool results of a session."""
    return [entry.data["message"]["content"][0]["content"] for entry in said(summary, key) if entry.results]


def test_pictures(demo: DemoSummary) -> None:
    pasted = [block for entry in said(demo, "images") for block in entry.blocks if block.type == "image"]
    shown = [content[0] for content in results(demo, "images") if isinstance(content, list)]
    assert len(pasted) == len(shown) == 1
    assert shown[0]["source"]["data"].startswith("iVBORw0KGgo")


def test_made_up_secrets(demo: DemoSummary) -> None:
    raw = path_of(demo, "secrets").read_bytes()
    for mark in (b"sk_" + b"live_", b"gh" + b"p_", b"AK" + b"IA", b"postgres://baker:"):
        assert mark in raw


def test_a_bad_day(demo: DemoSummary) -> None:
    found = said(demo, "bad-day")
    assert sum(entry.subtype == "api_error" for entry in found) == 2
    assert sum(entry.is_api_error for entry in found) == 1
    assert sum(entry.text.startswith("[Request interrupted") for entry in found) == 2
    assert sum(b'"User rejected tool use"' in entry.raw for entry in found) == 1
    assert Counter(entry.type for entry in found)["progress"] == 4


@pytest.mark.parametrize(
    "name", ["ExitPlanMode", "TodoWrite", "WebSearch", "WebFetch", "mcp__notes__search", "Agent", "Task"]
)
def test_tools(demo: DemoSummary, name: str) -> None:
    used = {block.name for path in transcripts(demo) for entry in entries(read(path)) for block in entry.uses}
    assert name in used


def test_a_queued_message(demo: DemoSummary) -> None:
    found = said(demo, "research")
    assert [e.data["operation"] for e in found if e.type == "queue-operation"] == ["enqueue", "remove"]
    assert any(e.type == "attachment" and e.data["attachment"]["type"] == "queued_command" for e in found)


def test_titles(demo: DemoSummary) -> None:
    assert [e.data["customTitle"] for e in said(demo, "titled") if e.type == "custom-title"] == ["feed escaping"]
    folder = path_of(demo, "titled").with_suffix("")
    assert json.loads((folder / "custom-title.json").read_text()) == {"customTitle": "feed escaping"}
    assert sum(e.get("type") == "ai-title" for e in everything(demo)) >= 4
    assert sum(e.get("type") == "summary" for e in everything(demo)) == 1


def test_an_empty_file(demo: DemoSummary) -> None:
    assert path_of(demo, "empty").stat().st_size == 0


def test_a_session_without_a_person(demo: DemoSummary) -> None:
    assert {entry.entrypoint for entry in said(demo, "scripted") if entry.uuid} == {"sdk-cli"}


# -- around the sessions


def test_the_index_is_stale(demo: DemoSummary) -> None:
    folder = path_of(demo, "rounding").parent
    index = read_index(folder / "sessions-index.json")
    assert index is not None
    listed = {entry.session_id for entry in index.entries}
    there = {path.stem for path in folder.glob("*.jsonl")}
    assert listed - there == {home_files.DELETED}
    assert len(there - listed) == 5


def test_the_history_has_prompts_of_a_session_that_is_gone(demo: DemoSummary) -> None:
    rows = [row for row in read_history(demo.root / "history.jsonl") if isinstance(row, HistoryPrompt)]
    times = [row.time for row in rows if row.time]
    assert times == sorted(times)
    assert len(rows) > 200
    gone = [row for row in rows if row.session_id == home_files.DELETED]
    assert len(gone) == 4
    assert any("move 12" in row.text for row in gone)
    assert {row.session_id for row in rows} - {home_files.DELETED, None} <= set(demo.sessions.values())
    assert any(row.session_id is None for row in rows)


def test_statistics(demo: DemoSummary) -> None:
    stats = read_stats(demo.root / "stats-cache.json")
    raw = json.loads((demo.root / "stats-cache.json").read_text())
    assert stats is not None
    assert 10 < raw["totalSessions"] < len(main_files(demo))
    assert raw["totalMessages"] == sum(day["messageCount"] for day in raw["dailyActivity"])


def test_todos_tasks_and_plans(demo: DemoSummary) -> None:
    lists = [read_todos(path) for path in sorted((demo.root / "todos").iterdir())]
    assert any(lists) and not all(lists)
    assert len(list((demo.root / "tasks" / demo.sessions["planned"]).iterdir())) == 3
    assert len(list((demo.root / "plans").glob("*.md"))) == 1


def test_backups_are_the_files_before_the_edit(demo: DemoSummary) -> None:
    named = 0
    for entry in everything(demo):
        if entry.get("type") != "file-history-snapshot":
            continue
        for backup in entry["snapshot"]["trackedFileBackups"].values():
            found = list((demo.root / "file-history").glob(f"*/{backup['backupFileName']}"))
            assert len(found) == 1
            named += 1
    assert named == len([path for path in paths(demo) if "file-history" in path.parts]) == 4
    originals = {
        e["toolUseResult"].get("originalFile") for e in everything(demo) if isinstance(e.get("toolUseResult"), dict)
    }
    saved = {path.read_text() for path in paths(demo) if "file-history" in path.parts}
    assert saved <= originals


def test_output_too_long_to_keep(demo: DemoSummary) -> None:
    folder = path_of(demo, "overflow").with_suffix("") / "tool-results"
    assert [path.stat().st_size > 20_000 for path in folder.iterdir()] == [True]
    assert any(str(content).startswith("<persisted-output>") for content in results(demo, "overflow"))


def test_memory(demo: DemoSummary) -> None:
    assert (path_of(demo, "overflow").parent / "memory" / "MEMORY.md").read_text().startswith("# Tide gauges")


@pytest.mark.skipif(os.name == "nt", reason="modes of files are not kept there")
def test_sessions_are_private(demo: DemoSummary) -> None:
    assert {path.stat().st_mode & 0o777 for path in main_files(demo)} == {0o600}
