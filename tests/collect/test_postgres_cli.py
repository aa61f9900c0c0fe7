"""A team store as it is used from the command line: set up, sent to, asked."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.cli import main
from clew.collect.config import SinkConfig
from clew.collect.job import CollectJob, open_collector
from clew.collect.sinks.address import deliveries
from clew.demo.talk import bash, talk
from clew.system.extras import install_hint
from tests.collect.postgres import PASSWORD, Cluster, Store

Run = Callable[..., tuple[int, str, str]]
OTHER = "5e551011-aaaa-4bbb-8ccc-000000000009"
SECRET = "sk-ant-api03-" + "Zq7" * 12


@pytest.fixture
def clew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Type a command, with a home and a password file of its own."""
    for name in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    (tmp_path / "password").write_text(f"{PASSWORD}\n")

    def typed(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--token-file", str(tmp_path / "password")])
        return code, *capsys.readouterr()

    return typed


def test_from_setup_to_an_answer(clew: Run, cluster: Cluster, standing: Store, tmp_path: Path) -> None:
    cluster.ask("CREATE DATABASE typed")
    owner = f"postgresql://postgres@/typed?host={cluster.folder}&port={cluster.port}"
    assert "CREATE SCHEMA IF NOT EXISTS clew" in clew("collect", "setup", "--to", owner, "--dry-run")[1]
    code, out, err = clew("collect", "setup", "--to", owner)
    assert (code, "has the tables of clew" in out, "IN ROLE clew_writer" in err) == (0, True, True)
    store = Store(cluster, "typed")
    talk().user(f"Use {SECRET}").reply("Yes", call=bash("make")).result("no rule", error=True).write(
        tmp_path / "claude"
    )
    code, out, _ = clew("collect", "--to", store.address("ada"))
    assert code == 0
    assert f"4 records went to postgresql://127.0.0.1:{cluster.port}/typed" in out
    query = "SELECT prompt FROM turns"
    code, out, err = clew("sql", query, "--store", store.address("rio"), "--json")
    [row] = [json.loads(line)["row"] for line in out.splitlines()]
    assert row["prompt"].startswith("Use [REDACTED:anthropic-key:")
    code, out, _ = clew(
        "sql", "SELECT tool, failed, error FROM calls", "--store", store.address("rio"), "--format", "csv"
    )
    assert (code, out) == (0, "tool,failed,error\nBash,1,no rule\n")
    assert clew("sql", "DROP TABLE fact_turn", "--store", store.address("rio"))[0] == 2
    assert clew("collect", "--to", store.address("ada"))[1].count("records went") == 0


def test_a_store_that_does_not_let_us_in_stops_nothing(clew: Run, standing: Store, tmp_path: Path) -> None:
    talk().user("Hi").reply("Hello").write(tmp_path / "claude")
    code, out, err = clew("collect", "--to", standing.address("eve"))
    assert code == 2
    assert "2 lines" in out and "rejected this user" in err
    assert PASSWORD not in out + err
    code, _, err = clew("sql", "SELECT 1", "--store", standing.address("eve"))
    assert code == 2 and "~/.pgpass" in err


def test_only_a_database_is_set_up(clew: Run) -> None:
    code, _, err = clew("collect", "setup", "--to", "out.jsonl")
    assert code == 2 and "postgresql://" in err


def test_the_extra_that_is_missing_is_named(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None; from clew.cli import main;"
        "raise SystemExit(main(['sql', 'SELECT 1', '--store', 'postgresql://x/y']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert install_hint("stores") in done.stderr


def test_a_day_that_is_dropped_under_a_sender_loses_no_line(clew: Run, store: Store, tmp_path: Path) -> None:
    """The owner drops a day while a collector watches: the next lines of that day are accepted."""
    talk().user("One").reply("Two").write(tmp_path / "claude")
    password = tmp_path / "password"
    job = CollectJob(str(tmp_path / "claude"), str(tmp_path / "archive.db"))
    sink = SinkConfig(store.address("ada"), token_file=str(password))
    with open_collector(job) as collector, deliveries(collector, [sink]) as waiting:
        collector.poll()
        lines = waiting[0]
        assert (lines.run(0.0) or pytest.fail()).sent == 2
        [(day,)] = store.ask("SELECT DISTINCT day FROM clew.line")
        store.ask(f"DROP TABLE clew.line_{day.replace('-', '_')}")
        talk(OTHER).user("Three").reply("Four").write(tmp_path / "claude")
        collector.poll()
        outcome = lines.run(0.0)
        assert outcome is not None and (outcome.sent, outcome.rejected, outcome.error) == (2, 0, None)
    assert store.ask("SELECT count(*) FROM clew.line") == [(2,)]


def test_a_store_is_tried_before_anything_is_sent(clew: Run, store: Store) -> None:
    code, out, _ = clew("collect", "test", "--to", store.address("ada"))
    assert (code, "may be written to" in out) == (0, True)
    code, out, err = clew("collect", "test", "--to", store.address("rio"))
    assert code == 2 and "does not allow this user to write" in out and "GRANT clew_writer" in err
