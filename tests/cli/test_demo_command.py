"""`clew demo`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.cli import main


def test_a_demo_is_written_and_can_be_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "a demo"
    assert main(["demo", str(root)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == f"{root}: 23 sessions in 5 projects.\nLook at them: clew ls --claude-dir '{root}'\n"
    assert main(["ls", "--claude-dir", str(root), "-n", "1"]) == 0
    assert "Fix one-cent rounding difference in order totals" in capsys.readouterr().out


def test_the_demo_is_of_today(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", str(tmp_path / "d"), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made == {"clew": 1, "kind": "demo", "path": str(tmp_path / "d"), "sessions": 23, "projects": 5}
    assert main(["ls", "--claude-dir", str(tmp_path / "d"), "--since", "1d", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 2


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("x")
    assert main(["demo", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err == (
        f"clew: Refused: {tmp_path} is not an empty folder, and the demo does not overwrite files.\n"
    )
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
    assert main(["demo"]) == 2
    assert "Try: clew demo --help" in capsys.readouterr().err
