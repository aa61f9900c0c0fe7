"""Damage in the archive, as a user meets it: each command names it and does the rest."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from clew.cli import main
from clew.collect.archive.packing import load_zstd
from clew.demo.demo_tree import DemoSummary
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


def damage_archive(data: Path, line: int = 3) -> str:
    """Damage the position of a line that only the largest session contains; return the path of the session."""
    connection = apsw.Connection(str(data / "clew" / "archive" / "archive.db"))
    query = """SELECT f.path, c.id FROM content c JOIN occurrence o ON o.content = c.id
      JOIN file f ON f.generation = o.generation WHERE o.number = ? AND f.kind = 'session'
      AND (SELECT count(*) FROM occurrence p WHERE p.content = c.id) = 1 ORDER BY f.size DESC LIMIT 1"""
    rows: list[Any] = connection.execute(query, (line,)).fetchall()
    [(path, id)] = rows
    connection.execute("UPDATE content SET start = start + 1 WHERE id = ?", (id,))
    connection.close()
    return str(path)


def test_verify_names_the_line_and_a_scrub_repairs_it(clew: Run, demo: DemoSummary, data: Path) -> None:
    clew("collect")
    code, out, _ = clew("collect", "verify")
    assert code == 0 and out.endswith("verified: everything is sound.\n")
    path = damage_archive(data)
    code, out, err = clew("collect", "verify")
    assert code == 2 and f"{path}, line 3: its content differs from its hash; the file still exists" in out
    assert "clew collect --scrub" in err
    code, out, _ = clew("collect", "verify", "--json")
    damaged, summary = map(json.loads, out.splitlines())
    assert code == 2 and (damaged["path"], damaged["line"], damaged["on_disk"]) == (path, 3, True)
    assert (summary["damaged"], summary["ok"], summary["problems"]) == (1, False, [])
    code, out, err = clew("collect", "--scrub")
    assert code == 0 and f"{path} is repaired in the archive" in err
    assert clew("collect", "verify")[0] == 0


def test_verify_looks_for_files_where_they_were_read(
    clew: Run, demo: DemoSummary, data: Path, claude: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It looked in the folder of this user, and called files of another one missing."""
    clew("collect")
    path = damage_archive(data)
    assert main(["collect", "verify"]) == 2
    found = f"{path}, line 3: its content differs from its hash; the file still exists"
    assert found in capsys.readouterr().out
    (claude / path).unlink()
    assert main(["collect", "verify"]) == 2
    assert "; the file no longer exists" in capsys.readouterr().out


@pytest.mark.skipif(load_zstd() is None, reason="this Python has no zstd")
def test_a_missing_zstd_is_named_once(
    clew: Run, demo: DemoSummary, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clew("collect")
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    code, _, err = clew("collect", "--to", f"landing:{tmp_path / 'zone'}")
    assert code == 2 and err.count("which this Python cannot unpack") == 1
    assert "pip install backports.zstd" in err


def test_restore_refuses_only_the_damaged_file(clew: Run, demo: DemoSummary, data: Path, claude: Path) -> None:
    clew("collect")
    path = damage_archive(data)
    whole = (claude / path).read_bytes().splitlines(keepends=True)
    (claude / path).unlink()
    id = Path(path).stem
    code, _, err = clew("restore", id)
    assert code == 2 and "is damaged in the archive" in err and "--skip-damaged" in err
    assert not (claude / path).exists()
    code, _, err = clew("restore", id, "--skip-damaged")
    assert code == 0 and "lacks 1 line" in err
    assert (claude / path).read_bytes() == b"".join(whole[:2] + whole[3:])


def test_sql_collect_and_the_lists_leave_a_damaged_line_out(
    clew: Run, demo: DemoSummary, data: Path, claude: Path
) -> None:
    clew("collect")
    path = damage_archive(data)
    (claude / path).unlink()
    code, _, err = clew("sql", "SELECT count(*) FROM sessions")
    assert code == 0 and f"Left out: line 3 of {path}, damaged in the archive" in err
    assert "Left out" in clew("sql", "SELECT count(*) FROM sessions")[2], "each time"
    code, _, err = clew("collect")
    assert code == 0 and f"{path} is damaged in the archive" in err
    assert clew("show", Path(path).stem)[0] == 0


def test_what_a_killed_restore_left_is_removed(clew: Run, demo: DemoSummary, claude: Path, tmp_path: Path) -> None:
    clew("collect")
    session = next(claude.glob("projects/*/*.jsonl"))
    target = tmp_path / "to" / session.relative_to(claude)
    target.parent.mkdir(parents=True)
    left = target.with_name(f".{target.name}.0123456789ab.draft")
    left.write_bytes(b"half")
    assert clew("restore", session.stem, "--to", str(tmp_path / "to"))[0] == 0
    assert target.read_bytes() == session.read_bytes() and not left.exists()
