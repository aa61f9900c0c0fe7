"""A lake on the command line: fill it, ask it, tidy it up."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.cli import main
from clew.demo.demo_tree import write_demo

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_demo(tmp_path / "claude", NOW)
    return tmp_path


def test_a_lake_is_filled_asked_and_tidied_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = f"delta:{home / 'lake'}"
    options = ["--claude-dir", str(home / "claude")]
    assert main(["collect", "--to", lake, "--to", f"parquet:{home / 'files'}", *options]) == 0
    told = capsys.readouterr().out
    assert f"records went to {lake}" in told and "records went to parquet:" in told
    query = "SELECT count(*) AS sessions, sum(output) AS output FROM sessions"
    assert main(["sql", query, "--store", lake, "--format", "csv"]) == 0
    from_lake = capsys.readouterr().out
    assert main(["sql", query, "--format", "csv"]) == 0
    assert capsys.readouterr().out == from_lake
    assert main(["collect", "compact", "--to", lake, "--json"]) == 0
    tables = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    assert [row["table"] for row in tables] == ["line", "fact_turn", "fact_reply", "fact_call", "fact_git", "fact_file"]
    assert main(["sql", query, "--store", lake, "--format", "csv"]) == 0
    assert capsys.readouterr().out == from_lake


def test_nothing_is_printed_when_the_process_ends(home: Path) -> None:
    """DuckDB reports its objects as leaked if the last search for garbage does not find them."""
    lake = f"delta:{home / 'lake'}"
    assert main(["collect", "--to", lake, "--quiet", "--claude-dir", str(home / "claude")]) == 0
    words = [sys.executable, "-m", "clew", "sql", "SELECT 1 AS one", "--store", lake]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "one\n  1\n", "")


def test_only_a_lake_is_tidied_up(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "compact", "--to", "out.jsonl"]) == 2
    assert "only a lake is tidied up" in capsys.readouterr().err
    assert main(["collect", "compact", "--to", f"delta:{home / 'none'}"]) == 1
    assert "Nothing has been sent" in capsys.readouterr().err
