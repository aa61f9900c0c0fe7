"""`clew redact`, as it is typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.demo.talk import bash, talk

Run = Callable[..., tuple[int, str, str]]
KEY = "ghp_" + "Zk3fQ9xLm2Vt8RbW5nYc7HsJ1dPg4TuA6eKo"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def made(claude: Path, source: Path) -> list[Path]:
    return [path for path in claude.rglob("*.jsonl") if path != source]


def test_a_copy_without_secrets_is_made_and_told_of(clew: Run, claude: Path) -> None:
    told = talk().user(f"use {KEY}").reply("so", thinking=f"{KEY}?", call=bash("ls")).result(KEY).reply("ok")
    path = told.write(claude)
    code, out, err = clew("redact", path.stem)
    assert (code, err) == (0, "")
    assert out.splitlines()[:5] == [
        "Hidden: github-token 3",
        "  user message        github-token 2",
        "  user toolUseResult  github-token 1",
        "Thinking that was left out, since a signature allows no change: 1",
        f"Made a session of {path.stem[:8]}: 1 of 1 turn, 5 of 6 entries, {out.split('entries, ')[1].splitlines()[0]}",
    ]
    (copy,) = made(claude, path)
    assert copy.stem in out and KEY.encode() not in copy.read_bytes() and KEY.encode() in path.read_bytes()


def test_a_dry_run_writes_nothing_and_json_names_places(clew: Run, claude: Path) -> None:
    path = talk().user(f"use {KEY} for Wilhelmina").reply("ok").write(claude)
    code, out, _ = clew("redact", path.stem, "--pattern", "Wil[a-z]+", "--dry-run", "--json")
    found = json.loads(out)
    assert code == 0 and not found["written"] and made(claude, path) == []
    assert found["hidden"] == [{"place": "user message", "what": "pattern", "count": 1}]
    both = json.loads(clew("redact", path.stem, "--secrets", "--pattern", "Wil[a-z]+", "--dry-run", "--json")[1])
    assert [hidden["what"] for hidden in both["hidden"]] == ["github-token", "pattern"]
    assert both["steps"] == ["redact secrets and 1 pattern"]


def test_nothing_to_hide_is_told_and_nothing_written(clew: Run, claude: Path) -> None:
    path = talk().user("hi").reply("ok").write(claude)
    code, out, err = clew("redact", path.stem)
    assert (code, out) == (1, "") and "Nothing was written" in err and made(claude, path) == []


def test_a_pattern_that_is_none_is_told(clew: Run, claude: Path) -> None:
    path = talk().user("hi").write(claude)
    code, _, err = clew("redact", path.stem, "--pattern", "a(")
    assert code == 2 and err.endswith("\n  a(\n   ^\n")
