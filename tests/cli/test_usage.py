"""`clew usage`, as it is typed."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clew.cli.cost.usage import ALIASES
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import bash, talk
from clew.report.usage_table import BY
from tests.cli.conftest import Run

pytestmark = pytest.mark.usefixtures("utc", "kept")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def told(clew: Run, *words: str) -> list[dict[str, Any]]:
    code, out, _ = clew("usage", *words, "--json")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["clew"] for row in rows} == {1}
    return rows


@pytest.mark.req("R124")
def test_by_day(demo: DemoSummary, clew: Run) -> None:
    code, out, err = clew("usage")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["DAY", "REPLIES", "INPUT", "OUTPUT", "WRITE", "READ", "COST"]
    assert lines[1].startswith("2026-04-03") and lines[1].endswith("$0.13")
    assert "Total" in out and "Final numbers: 95.3 % of 338 replies." in out and "Prices of 20" in out


@pytest.mark.parametrize(
    "by", ["hourly", "daily", "weekly", "monthly", "model", "project", "session", "tool", "agent", "branch"]
)
def test_every_way_gives_the_same_total(demo: DemoSummary, clew: Run, by: str) -> None:
    *rows, total = told(clew, by)
    assert total["kind"] == "total" and total["replies"] == 338 and total["output"] == 12224
    assert sum(row["output"] for row in rows) == total["output"]
    assert sum(row["cache_read"] for row in rows) == total["cache_read"] == 5104912
    assert abs(sum(row["cost_micros"] for row in rows) - total["cost_micros"]) <= len(rows)


def test_the_second_time_says_the_same(demo: DemoSummary, clew: Run) -> None:
    assert clew("usage") == clew("usage")
    assert clew("usage", "session") == clew("usage", "session")


def test_filters(demo: DemoSummary, clew: Run) -> None:
    everything = told(clew)[-1]
    some = told(clew, "--project", "drip")[-1]
    assert 0 < some["output"] < everything["output"]
    assert {row["label"] for row in told(clew, "project", "--project", "drip")[:-1]} == {"/home/ada/src/drip"}
    assert told(clew, "--model", "sonnet-4-5")[-1]["output"] == 5550
    assert told(clew, "branch", "--branch", "main")[-1]["output"] < everything["output"]
    assert {row["name"] for row in told(clew, "tool", "--tool", "Bash")[:-1]} == {
        "Bash",
        "Read",
    }  # called together once
    row = told(clew, "session")[0]
    assert row["label"].startswith(row["name"][:8])
    assert len(told(clew, "session", "--session", row["name"][:8])) == 2


def test_times(demo: DemoSummary, clew: Run) -> None:
    days = [row["name"] for row in told(clew)[:-1]]
    assert [row["name"] for row in told(clew, "--since", days[-2])[:-1]] == days[-2:]
    assert [row["name"] for row in told(clew, "--until", days[1])[:-1]] == days[:1]
    assert [row["name"] for row in told(clew, "--limit", "3")[:-1]] == days[-3:]
    assert told(clew, "--since", f"{days[-1]}T04:07:00")[-1]["replies"] < told(clew, "--since", days[-1])[-1]["replies"]


def test_a_time_zone(claude: Path, clew: Run) -> None:
    talk().user("a").reply("b", timestamp="2026-03-01T23:30:00.000Z").write(claude)
    assert told(clew)[0]["name"] == "2026-03-01"
    assert told(clew, "--tz", "Asia/Tokyo")[0]["name"] == "2026-03-02"
    code, _, err = clew("usage", "--tz", "Nowhere/Land")
    assert code == 2 and "is not a time zone" in err


def test_comma_separated_values(demo: DemoSummary, clew: Run) -> None:
    code, out, _ = clew("usage", "model", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0 and len(rows) == 6
    assert sum(int(row["output"]) for row in rows) == 12224


def test_a_line_for_each_model(demo: DemoSummary, clew: Run) -> None:
    _, out, _ = clew("usage", "monthly", "--breakdown")
    assert "\n  claude-opus-5 " in out
    assert {part["name"] for part in told(clew, "monthly", "--breakdown")[0]["models"]} >= {"claude-opus-5"}


@pytest.mark.req("R125")
def test_thinking_that_was_removed_makes_usage_inaccurate(claude: Path, clew: Run) -> None:
    details = {"output_tokens": 90, "output_tokens_details": {"thinking_tokens": 60}}
    talk().user("hi").reply("ho", usage=details).reply("bye").write(claude)
    _, _, err = clew("usage", "turns")
    (row, total) = told(clew, "turns")
    (reply,) = row["replies_without_thinking"]
    assert (
        err == f"1 reply counts thinking that is not in the file: tokens and text do not agree, in turn 1 ({reply}).\n"
    )
    assert (total["without_thinking"], total["replies_without_thinking"]) == (1, [reply])
    assert clew("usage", "turns", "--quiet")[2] == ""


def test_how_far_the_numbers_can_be_trusted(claude: Path, clew: Run) -> None:
    stub = talk(version="2.1.29").user("go").reply("A long answer. " * 40)
    stub.reply("Another.", call=bash("ls"), usage={"output_tokens": 90}).write(claude)
    (row, total) = told(clew)
    assert (row["placeholder_replies"], row["placeholder_output"]) == (1, 2)
    assert total["estimated_missing_output"] > 100 and total["estimated_missing_micros"] > 0
    _, out, _ = clew("usage")
    assert "Final numbers: 50.0 % of 2 replies. 1 holds a placeholder of 2 output tokens" in out
    assert told(clew, "--estimate")[-1]["output"] == total["output"] + total["estimated_missing_output"]


def test_models_without_a_price_are_named(claude: Path, clew: Run) -> None:
    talk().user("a").reply("b", model="house-model").reply("c").write(claude)
    _, out, _ = clew("usage", "model")
    assert "$0.00*" in out and "* Without a price, and not in the cost: house-model" in out


def test_prices_of_ones_own(claude: Path, tmp_path: Path, clew: Run) -> None:
    talk().user("a").reply("b", model="house-model", usage={"output_tokens": 10**6}).write(claude)
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"date": "2027-01-01", "models": {"house-model": {"input": 0, "output": 7}}}))
    assert told(clew, "--prices", str(own))[-1]["cost_micros"] == 7_000_000
    assert told(clew)[-1]["cost_micros"] == 0
    settings = tmp_path / "config" / "clew" / "prices.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(own.read_text())
    assert told(clew)[-1]["cost_micros"] == 7_000_000
    for nonsense in ('{"models": 5}', "{", "[]"):
        settings.write_text(nonsense)
        code, _, err = clew("usage")
        assert code == 2 and "is not a price table" in err


def test_nothing_there(claude: Path, clew: Run) -> None:
    claude.mkdir()
    code, out, err = clew("usage")
    assert (code, out) == (1, "") and "No usage in " in err
    assert clew("usage", "--quiet") == (1, "", "")


def test_names_cannot_drive_a_terminal(claude: Path, clew: Run) -> None:
    talk(branch="\x1b[31mred\x07").user("a").reply("b", model="m\x1b[2J").write(claude)
    for by in ("model", "branch", "session"):
        assert "\x1b" not in clew("usage", by)[1] and "\x07" not in clew("usage", by)[1]


def test_secrets_in_titles_are_masked(claude: Path, clew: Run) -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    talk().user(f"use {key}").reply("b").write(claude)
    for words in (["session"], ["turns"], ["context"]):
        assert key not in clew("usage", *words)[1]
        assert key not in clew("usage", *words, "--json")[1]


# -- views


def test_blocks(demo: DemoSummary, clew: Run) -> None:
    rows = told(clew, "blocks")
    assert {row["kind"] for row in rows} == {"block"}
    assert sum(row["output"] for row in rows) == 12224
    assert all(row["end"] - row["start"] == 5 * 3600 for row in rows)
    _, out, _ = clew("usage", "blocks", "--limit", "2")
    assert [line.split()[0] for line in out.splitlines()] == ["BLOCK", "2026-06-01", "2026-06-01"]


def test_the_window_of_a_session(demo: DemoSummary, clew: Run) -> None:
    code, out, _ = clew("usage", "context", "a922")
    assert code == 0 and out.splitlines()[0].split()[:2] == ["TURN", "TOKENS"] and "The till says" in out
    rows = told(clew, "context", "a922")
    parts = ("system", "prompts", "replies", "thinking", "tool_input", "tool_result")
    assert all(sum(row[part] for part in parts) == row["tokens"] for row in rows)
    assert clew("usage", "context", "a922", "--plot")[1].count("█") > 10


def test_the_turns_of_a_session(demo: DemoSummary, clew: Run) -> None:
    *rows, total = told(clew, "turns", "a922")
    assert sum(row["output"] for row in rows) == total["output"] > 0
    assert "The till says" in clew("usage", "turns", "a922")[1]


def test_waste(demo: DemoSummary, clew: Run) -> None:
    rows = told(clew, "waste")
    assert {row["what"] for row in rows} == {"failed", "repeated", "expired", "compacted", "retried"}
    assert clew("usage", "waste")[1].splitlines()[0].split() == ["WASTE", "TIMES", "TOKENS", "COST"]
    assert sum(row["tokens"] for row in told(clew, "waste", "a922")) <= sum(row["tokens"] for row in rows)


@pytest.mark.req("R338")
def test_reconcile(demo: DemoSummary, clew: Run) -> None:
    code, out, _ = clew("usage", "--reconcile")
    assert code == 0 and out.splitlines()[-1].endswith("numbers agree.")
    rows = told(clew, "--reconcile")
    assert {row["kind"] for row in rows} == {"difference"} and {row["agree"] for row in rows} >= {True}
    assert all(row["why"] for row in rows if not row["agree"])


def test_nothing_to_reconcile_with(claude: Path, clew: Run) -> None:
    talk().user("a").reply("b").write(claude)
    code, out, err = clew("usage", "--reconcile")
    assert (code, out) == (1, "") and "no totals" in err


# -- what is gone


def test_what_claude_code_cleans_up_still_counts_once_it_is_in_the_archive(
    demo: DemoSummary, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clew: Run
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    before, by_session = told(clew)[-1], told(clew, "session")[:-1]
    assert clew("collect")[0] == 0
    assert told(clew)[-1] == before
    for path in sorted((claude / "projects").rglob("*.jsonl"))[::2]:
        path.unlink()
    assert told(clew)[-1] == before
    assert clew("collect")[0] == 0
    assert told(clew)[-1] == before == told(clew)[-1]
    assert [row["output"] for row in told(clew, "session")[:-1]] == [row["output"] for row in by_session]


def test_a_project_that_is_gone_has_the_path_that_the_archive_knows(
    demo: DemoSummary, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clew: Run
) -> None:
    for name in ("data", "cache"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    assert clew("collect")[0] == 0
    shutil.rmtree(claude / "projects" / "-srv-data-tide-gauge")
    labels = {row["name"]: row["label"] for row in told(clew, "project")[:-1]}
    assert labels["-srv-data-tide-gauge"] == "/srv/data/tide-gauge"
    shutil.rmtree(tmp_path / "cache")
    assert "/srv/data/tide-gauge" in clew("usage", "project")[1]


# -- plots


def test_bars_and_a_heat_map_in_the_terminal(demo: DemoSummary, clew: Run) -> None:
    code, out, _ = clew("usage", "weekly", "--plot")
    assert code == 0 and "█" in out and "\nMon" in out and max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("by", [*ALIASES, *BY, "blocks", "context", "turns", "waste"])
def test_every_view_is_drawn_into_a_file_and_in_the_terminal(
    demo: DemoSummary, clew: Run, tmp_path: Path, by: str
) -> None:
    assert clew("usage", by, "--plot", str(tmp_path / "x.svg"), "-q")[0] == 0
    assert "<title>" in (tmp_path / "x.svg").read_text()
    code, out, _ = clew("usage", by, "--plot")
    assert code == 0 and "█" in out and max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("words", [("limits",), ("--reconcile",)])
def test_a_view_without_a_chart_refuses_to_draw(clew: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    code, out, err = clew("usage", *words, "--plot", str(tmp_path / "x.svg"))
    assert (code, out) == (2, "") and "has no chart" in err and not (tmp_path / "x.svg").exists()


def test_projects_in_a_chart_have_the_names_of_the_list(demo: DemoSummary, clew: Run, tmp_path: Path) -> None:
    clew("usage", "project", "--plot", str(tmp_path / "x.svg"))
    assert ">tide-gauge</text>" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_pictures_in_files(demo: DemoSummary, clew: Run, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    code, _, err = clew("usage", "--plot", str(path))
    assert code == 0 and str(path) in err and path.read_text().count("<svg") == (4 if ending == "html" else 1)
    assert path.stat().st_mode & 0o077 == 0
    assert clew("usage", "--plot", str(path))[0] == 2  # nothing is written over


def test_a_picture_of_an_unknown_kind(demo: DemoSummary, clew: Run, tmp_path: Path) -> None:
    code, _, err = clew("usage", "--plot", str(tmp_path / "x.gif"))
    assert code == 2 and ".svg, .html or .png" in err


# -- light


def test_a_second_look_loads_nothing_heavy(demo: DemoSummary, claude: Path, clew: Run) -> None:
    clew("usage")
    heavy = ("msgspec", "apsw", "rich", "dataclasses", "typing", "pathlib", "datetime")
    script = (
        "import sys; from clew.cli import main\n"
        f"main(['usage', '--claude-dir', {str(claude)!r}])\n"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[]"
