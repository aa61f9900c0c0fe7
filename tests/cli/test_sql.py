"""`clew sql` as it is typed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import talk
from tests.cli.conftest import Run

SECRET = "sk-ant-api03-" + "Zq7" * 12


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


@pytest.fixture
def kept(clew: Run, demo: DemoSummary) -> None:
    clew("collect")


def test_a_table(clew: Run, kept: None) -> None:
    code, out, err = clew("sql", "SELECT tool, count(*) AS calls FROM calls GROUP BY tool ORDER BY calls DESC LIMIT 2")
    assert (code, out, err) == (0, "tool  calls\nBash     74\nEdit     15\n", "")


def test_nothing_found_is_told_by_the_exit_code(clew: Run, kept: None) -> None:
    assert clew("sql", "SELECT tool FROM calls WHERE 1 = 0")[:2] == (1, "tool\n")


def test_json_lines(clew: Run, kept: None) -> None:
    query = "SELECT kind, count(*) AS turns FROM turns GROUP BY kind ORDER BY kind LIMIT 1"
    rows = [json.loads(line) for line in clew("sql", query, "--json")[1].splitlines()]
    assert rows == [
        {"clew": 1, "kind": "row", "row": {"kind": rows[0]["row"]["kind"], "turns": rows[0]["row"]["turns"]}}
    ]
    assert clew("sql", query, "--format", "json")[1] == clew("sql", query, "--json")[1]


def test_csv_that_no_spreadsheet_runs(clew: Run, claude: Path) -> None:
    talk().user('=HYPERLINK("http://x","y"), and\nmore').reply("ok").write(claude)
    clew("collect")
    code, out, _ = clew("sql", "SELECT prompt, turn FROM turns", "--format", "csv")
    assert code == 0
    assert list(csv.reader(io.StringIO(out))) == [["prompt", "turn"], ['\'=HYPERLINK("http://x","y"), and\nmore', "1"]]


def test_a_terminal_is_safe_from_what_was_said(clew: Run, claude: Path) -> None:
    talk().user("red \x1b[31m and \x1b]0;title\x07 done").reply("ok").write(claude)
    clew("collect")
    out = clew("sql", "SELECT prompt FROM turns")[1]
    assert "\x1b" not in out and "red and done" in " ".join(out.split())


def test_secrets_are_masked_unless_they_are_asked_for(clew: Run, claude: Path) -> None:
    talk().user(f"the key is {SECRET}").reply("ok").write(claude)
    clew("collect")
    for form in ("table", "csv", "json"):
        assert SECRET not in clew("sql", "SELECT prompt FROM turns", "--format", form)[1]
    assert SECRET in clew("sql", "SELECT prompt FROM turns", "--format", "csv", "--reveal")[1]


def test_a_parquet_file(clew: Run, kept: None, tmp_path: Path) -> None:
    import polars

    path = tmp_path / "out.parquet"
    query = "SELECT day, sum(output) AS output FROM usage_daily GROUP BY day ORDER BY day"
    code, out, err = clew("sql", query, "--format", "parquet", "--output", str(path))
    assert (code, out) == (0, "") and "written to" in err
    assert path.stat().st_mode & 0o777 == 0o600
    shown = [json.loads(line)["row"] for line in clew("sql", query, "--json")[1].splitlines()]
    assert polars.read_parquet(path).to_dicts() == shown
    assert clew("sql", query, "--format", "parquet", "--output", str(path))[0] == 2  # nothing is written over
    assert "name a file with --output" in clew("sql", query, "--format", "parquet")[2]


def test_a_query_that_fails_leaves_no_file(clew: Run, kept: None, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    code, _, err = clew("sql", "SELECT absent FROM turns", "--format", "csv", "--output", str(path))
    assert (code, path.exists()) == (2, False)
    assert err.startswith("clew: no such column: absent.\n  SELECT absent FROM turns\n         ^\n")


def test_a_query_from_stdin(clew: Run, kept: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 1 AS one;\n"))
    assert clew("sql")[:2] == (0, "one\n  1\n")
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))
    assert clew("sql", "-")[0] == 2


def test_the_views_are_listed(clew: Run, kept: None) -> None:
    code, out, _ = clew("sql", "--views")
    assert code == 0
    assert [line.split(":")[0] for line in out.splitlines()] == [
        "turns",
        "replies",
        "calls",
        "file_changes",
        "commits",
        "pull_requests",
        "sessions",
        "agents",
        "usage_daily",
        "waits_daily",
    ]
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    columns = {name for line in out.splitlines() for name in line.split(": ")[1].split(", ")}
    assert [name for name in sorted(columns) if f"`{name}`" not in page] == []


def test_without_an_archive(clew: Run) -> None:
    code, _, err = clew("sql", "SELECT 1")
    assert code == 2 and "clew collect" in err
