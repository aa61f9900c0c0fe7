"""`clew export --to`: sessions put where another program finds them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import talk

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "codex"


def test_a_session_is_put_where_codex_finds_it_once(clew: Run, demo: DemoSummary, homes: Path) -> None:
    code, out, err = clew("export", "a922", "--to", "codex")
    [path] = homes.glob("sessions/*/*/*/rollout-*.jsonl")
    assert code == 0 and path.stat().st_mode & 0o777 == 0o600
    assert out.splitlines()[1:] == [str(path.resolve()), f"Continue with:  codex resume {path.stem[-36:]}"]
    assert err == "Left out: 1 thought (only the API that signed them accepts them).\n"
    code, out, _ = clew("export", "a922", "--to", "codex", "--json")
    row = json.loads(out)
    assert code == 0 and row["state"] == "present" and row["undo"] is None
    assert [(each["kind"], each["count"]) for each in row["left_out"]] == [("thought", 1)]
    assert clew("undo")[0] == 0 and not path.exists()


def test_it_comes_back_with_import(clew: Run, demo: DemoSummary, homes: Path) -> None:
    assert clew("export", "82d8", "--to", "codex", "--quiet")[0] == 0
    code, out, _ = clew("import", "--all", "--from", "codex", "--json")
    row = json.loads(out)
    assert code == 0 and row["state"] == "made" and row["problems"] == []
    assert clew("show", row["id"])[1].count("valve") > 2


def test_a_named_file_or_folder_gets_it(clew: Run, demo: DemoSummary, tmp_path: Path, homes: Path) -> None:
    code, _, err = clew("export", "a922", "--to", "codex", "-o", str(tmp_path / "x.jsonl"))
    assert code == 0 and "finds it only in its own folder" in err and (tmp_path / "x.jsonl").exists()
    assert clew("export", "a922", "--to", "codex", "-o", str(tmp_path / "x.jsonl"))[0] == 2
    assert clew("export", "a922", "--to", "codex", "-o", str(tmp_path))[0] == 0
    assert len(list(tmp_path.glob("rollout-*.jsonl"))) == 1 and not homes.exists()


def test_of_several_sessions_one_that_cannot_be_exported_is_reported(clew: Run, claude: Path, homes: Path) -> None:
    whole = talk(seed=1, cwd="/home/ada/garden").user("Water").reply("Done.").write(claude)
    broken = talk(seed=2, cwd="/home/ada/garden").user("Water").write(claude)
    broken.write_text('{"type":"user","uuid":"1","isSidechain":true,"message":{"role":"user","content":"x"}}\n')
    code, out, err = clew("export", broken.stem, whole.stem, "--to", "codex")
    assert code == 1 and out.count("Exported") == 1 and "has no conversation to export" in err
    assert len(list(homes.rglob("*.jsonl"))) == 1


def test_formats_and_parts_are_refused(clew: Run, demo: DemoSummary, homes: Path) -> None:
    for more in ("--format json", "--turns 1", "--thinking"):
        code, _, err = clew("export", "a922", "--to", "codex", *more.split())
        assert code == 2 and "what a resume would send" in err and not homes.exists()
