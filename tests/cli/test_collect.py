"""`clew collect` and `clew restore` as they are typed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from clew.collect.lock import alone
from clew.demo.tree import Summary
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and a cache for each test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


def test_collecting_twice_takes_everything_once(clew: Run, demo: Summary, data: Path) -> None:
    code, out, _ = clew("collect", "--json")
    first = json.loads(out)
    assert (code, first["kind"]) == (0, "collected")
    assert first["lines"] > 500
    assert first["archive"] == str(data / "clew" / "archive" / "archive.db")
    assert json.loads(clew("collect", "--json")[1])["lines"] == 0


def test_a_preview_writes_nothing(clew: Run, demo: Summary, data: Path) -> None:
    code, out, err = clew("collect", "--dry-run")
    assert code == 0
    assert "history.jsonl" in out.splitlines()
    assert "nothing was written" in err
    assert not data.exists()


def test_a_second_collector_is_told_so(clew: Run, demo: Summary, data: Path) -> None:
    clew("collect")
    with alone(str(data / "clew" / "archive" / "archive.lock")):
        code, out, err = clew("collect")
    assert (code, out) == (2, "")
    assert "is in use since" in err
    assert "Another collector is at work" in err


def test_a_deleted_session_is_restored_byte_for_byte(clew: Run, demo: Summary, claude: Path, tmp_path: Path) -> None:
    before = {p.relative_to(claude): p.read_bytes() for p in claude.rglob("*") if p.is_file()}
    session = next(p for p in before if p.suffix == ".jsonl" and (claude / p).with_suffix("").is_dir())
    clew("collect")
    (claude / session).unlink()
    shutil.rmtree((claude / session).with_suffix(""))
    code, out, _ = clew("restore", session.stem[:8])
    assert code == 0
    assert str(claude / session) in out.splitlines()
    assert {p.relative_to(claude): p.read_bytes() for p in claude.rglob("*") if p.is_file()} == before
    code, out, err = clew("restore", session.stem[:8])
    assert (code, out) == (0, "")
    assert "nothing is written over" in err
    assert clew("restore", session.stem[:8], "--to", str(tmp_path / "else"))[0] == 0
    assert (tmp_path / "else" / session).read_bytes() == before[session]
    assert (tmp_path / "else" / session).stat().st_mode & 0o777 == 0o600


def test_an_unknown_session_is_not_found(clew: Run, demo: Summary) -> None:
    code, _, err = clew("restore", "ffff")
    assert code == 2
    assert "make one with: clew collect" in err
    clew("collect")
    assert clew("restore", "ffff")[0] == 1


def test_an_archive_that_is_none_is_left_as_it_is(clew: Run, demo: Summary, tmp_path: Path) -> None:
    other = tmp_path / "notes.db"
    other.write_bytes(b"no database at all, but somebody's notes" * 40)
    code, _, err = clew("collect", "--archive", str(other))
    assert code == 2
    assert "it is no archive" in err
    assert other.read_bytes().startswith(b"no database at all")


def test_a_missing_folder_is_told(clew: Run) -> None:
    code, _, err = clew("collect")
    assert code == 1
    assert "--claude-dir" in err
