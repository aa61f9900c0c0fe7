"""The files of a session: which were tracked at each message, with which saved state."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from clew.conversation.file_history import FileState, backups_to_restore, file_states
from clew.conversation.session import Session
from clew.demo.talk import talk
from clew.wire.entry import entries, read
from clew.wire.entry_types import Backup
from clew.wire.json_codec import encode

TIME = "2026-01-05T09:00:00.000Z"


def saved(version: int, name: str | None = "f") -> dict[str, Any]:
    return {"backupFileName": name and f"{name}@v{version}", "version": version, "backupTime": TIME}


def snapshot(message: str, tracked: Any, *, by: str | None = None) -> dict[str, Any]:
    """The files at a message; as an update that another message made, if `by` names one."""
    body = {"messageId": message, "trackedFileBackups": tracked, "timestamp": TIME}
    kind = "file-history-snapshot"
    return {"type": kind, "messageId": by or message, "snapshot": body, "isSnapshotUpdate": by is not None}


def delta(message: str, path: str, backup: Any, *, by: str) -> dict[str, Any]:
    kind = "file-history-delta"
    line = {"type": kind, "messageId": by, "snapshotMessageId": message, "trackingPath": path, "backup": backup}
    return {**line, "timestamp": TIME}


def states(*lines: dict[str, Any]) -> dict[str, FileState]:
    return file_states(entries(read(b"\n".join(map(encode, lines)))))


def versions(found: dict[str, FileState]) -> dict[str, dict[str, int | None]]:
    return {message: {path: b.version for path, b in state.backups.items()} for message, state in found.items()}


@pytest.mark.req("R073")
def test_each_message_has_its_files_versions_and_times() -> None:
    found = states(
        snapshot("p1", {}), snapshot("p2", {"a": saved(1)}), snapshot("p3", {"a": saved(2), "b": saved(1, None)})
    )
    assert versions(found) == {"p1": {}, "p2": {"a": 1}, "p3": {"a": 2, "b": 1}}
    assert found["p3"].backups["a"] == Backup("f@v2", 2, TIME)
    assert found["p3"].backups["b"].name is None
    assert found["p3"].time == datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.mark.req("R073")
def test_an_update_takes_the_place_of_the_snapshot_it_is_for() -> None:
    found = states(
        snapshot("p1", {}),
        snapshot("p1", {"a": saved(1)}, by="t1"),
        snapshot("p1", {"a": saved(1), "b": saved(1)}, by="t2"),
        snapshot("p2", {"a": saved(2), "b": saved(1)}),
    )
    assert versions(found) == {"p1": {"a": 1, "b": 1}, "p2": {"a": 2, "b": 1}}
    assert found["p1"].changed_by == ("t1", "t2")
    assert found["p2"].changed_by == ()


@pytest.mark.req("R073")
def test_a_delta_adds_its_file_to_the_snapshot_it_names() -> None:
    found = states(
        snapshot("p1", {"a": saved(1)}),
        snapshot("p2", {"a": saved(2)}),
        delta("p1", "b", saved(1), by="t1"),
        delta("p3", "c", None, by="t2"),
    )
    assert versions(found) == {"p1": {"a": 1, "b": 1}, "p2": {"a": 2}, "p3": {"c": None}}
    assert (found["p1"].changed_by, found["p3"].changed_by) == (("t1",), ("t2",))


def test_a_snapshot_written_again_counts_as_it_is_the_last_time() -> None:
    found = states(
        snapshot("p1", {"a": saved(1)}), snapshot("p1", {"b": saved(1)}, by="t"), snapshot("p1", {"c": saved(3)})
    )
    assert versions(found) == {"p1": {"c": 3}}
    assert found["p1"].changed_by == ()


@pytest.mark.req("R070")
def test_an_older_form_keeps_the_content() -> None:
    assert states(snapshot("p1", {"a": "print(1)\n"}))["p1"].backups["a"].content == "print(1)\n"


@pytest.mark.parametrize("odd", [{}, {"messageId": None}, {"snapshot": None}, {"snapshot": 5, "messageId": 7}])
def test_a_snapshot_of_no_message_is_passed_over(odd: dict[str, Any]) -> None:
    assert states({"type": "file-history-snapshot", **odd}, {"type": "file-history-delta", **odd}) == {}


@pytest.mark.req("R073")
def test_going_back_restores_the_files_of_then_and_the_first_state_of_later_ones() -> None:
    found = states(
        snapshot("p1", {}),
        snapshot("p1", {"a": saved(1)}, by="t1"),
        snapshot("p2", {"a": saved(2)}),
        delta("p2", "new", saved(1, None), by="t2"),
        snapshot("p3", {"a": saved(3), "new": saved(2)}),
    )
    assert {p: b.version for p, b in backups_to_restore(found, "p1").items()} == {"a": 1, "new": 1}
    assert backups_to_restore(found, "p1")["new"].name is None  # it was not there: it would be deleted
    assert {p: b.version for p, b in backups_to_restore(found, "p2").items()} == {"a": 2, "new": 1}
    assert {p: b.version for p, b in backups_to_restore(found, "p3").items()} == {"a": 3, "new": 2}
    assert backups_to_restore(found, "elsewhere") == {}


@pytest.mark.req("R073")
def test_a_whole_session_lists_its_files_by_prompt() -> None:
    said = talk().snapshot({}).user("one").reply("ok")
    first = said.at(0).leaf or ""
    said = said.snapshot_delta("a.py", "old\n", of=first).snapshot({"a.py": "new\n"}, version=2).user("two").reply("ok")
    session = Session(said.bytes())
    found = file_states(session.entries)
    assert list(found) == [prompt.uuid for prompt in session.prompts]
    assert list(versions(found).values()) == [{"a.py": 1}, {"a.py": 2}]


@pytest.mark.shared
@pytest.mark.req("R073")
def test_the_files_of_a_real_session(shared: Path) -> None:
    (path,) = shared.glob("corpus/PackmindHub__context-evaluator/@entire_checkpoints_v1/1a/*/0/full.jsonl")
    found = file_states(Session(path).entries)
    name = "frontend/src/components/Summary.tsx"
    assert [{p: (b.name, b.version) for p, b in state.backups.items()} for state in found.values()] == [
        {},
        {name: ("3dfda6a17ea33c6c@v1", 1)},
        {name: ("3dfda6a17ea33c6c@v2", 2)},
    ]
    assert [len(state.changed_by) for state in found.values()] == [0, 1, 0]
