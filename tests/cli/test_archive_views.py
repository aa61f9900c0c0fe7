"""What is in the archive is always visible, whatever happened to the cache, and to other archives."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def claude(archived_demo: Path) -> Path:
    return archived_demo


def archived(clew: Run) -> dict[str, str]:
    """The sessions that are only in the archive, each with how it is kept."""
    rows = [json.loads(line) for line in clew("ls", "--archived", "--json")[1].splitlines()]
    return {row["id"]: row["kept"] for row in rows}


def project_of(claude: Path) -> Path:
    return claude / "projects" / "-home-ada-work-bakery-orders"


def test_a_deleted_session_is_visible_at_once_and_a_restored_one_is_not_listed_twice(clew: Run, claude: Path) -> None:
    before = archived(clew)
    path = next(path for path in sorted(project_of(claude).glob("*.jsonl")) if path.stat().st_size)
    data = path.read_bytes()
    path.unlink()
    assert archived(clew) == {**before, path.stem: "archived"}
    assert clew("show", path.stem)[0] == 0
    listed = [json.loads(line)["id"] for line in clew("ls", "--json", "--quiet")[1].splitlines()]
    assert listed.count(path.stem) == 1
    assert clew("restore", path.stem)[0] == 0 and path.read_bytes() == data
    assert archived(clew) == before


def test_an_empty_cache_hides_nothing(clew: Run, claude: Path) -> None:
    shutil.rmtree(project_of(claude))
    expected = archived(clew)
    assert list(expected.values()).count("archived") > 3
    id = next(id for id, kept in expected.items() if kept == "archived")
    shown = clew("show", id)
    for command in (
        ("ls", "--archived", "--json"),
        ("show", id),
        ("search", "order", "--archived"),
        ("search", "order"),
    ):
        shutil.rmtree(claude.parent / "cache")
        code, out, _ = clew(*command)
        assert (code == 0 and id[:8] in out) or (command[0] == "show" and out == shown[1])
    assert archived(clew) == expected


def test_another_archive_does_not_change_what_is_seen(clew: Run, claude: Path, tmp_path: Path) -> None:
    shutil.rmtree(project_of(claude))
    expected = archived(clew)
    id = next(id for id, kept in expected.items() if kept == "archived")
    shown = clew("show", id, "--json")
    assert clew("collect", "--quiet", "--archive", str(tmp_path / "other.db"))[0] == 0
    assert archived(clew) == expected and clew("show", id, "--json") == shown


def test_a_session_on_the_disk_is_never_shown_as_reconstructed(clew: Run, claude: Path) -> None:
    reconstructed = next(id for id, kept in archived(clew).items() if kept == "reconstructed")
    other = next(path for path in sorted(project_of(claude).glob("*.jsonl")) if path.stat().st_size)
    other.with_name(f"{reconstructed}.jsonl").write_bytes(other.read_bytes())
    (claude.parent / "cache" / "clew" / "attic").rename(claude.parent / "cache" / "gone")
    assert reconstructed not in archived(clew)


def rows(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def test_everything_that_is_missing_is_restored(clew: Run, claude: Path) -> None:
    before = {path: path.read_bytes() for path in project_of(claude).rglob("*") if path.is_file()}
    others = {path: path.read_bytes() for path in (claude / "projects").rglob("*.jsonl") if path not in before}
    shutil.rmtree(claude / "projects")
    code, out, _ = clew("restore", "--project", "bakery-orders", "--json")
    assert code == 0 and all(row["written"] or row["was_there"] for row in rows(out))
    restored = set((claude / "projects").rglob("*.jsonl"))
    assert restored == {path for path in before if path.suffix == ".jsonl"}
    code, out, err = clew("restore", "--all")
    assert code == 0 and "sessions" in err
    for path, data in {**before, **others}.items():
        if data and path.name != "sessions-index.json" and "memory" not in path.parts:
            assert path.read_bytes() == data, path
            assert time.time() - path.stat().st_mtime < 600  # Claude Code deletes files with old times
    code, _, err = clew("restore", "--all")
    assert code == 1 and "Nothing is missing" in err


def test_restore_needs_to_know_what(clew: Run, claude: Path) -> None:
    assert clew("restore")[0] == 2
    id = next(path.stem for path in project_of(claude).glob("*.jsonl") if path.stat().st_size)
    assert clew("restore", id, "--all")[0] == 2
    assert clew("restore", "--project", "nowhere")[0] == 1
