"""`clew ls` on a terminal names `clew move` when the folder of a project is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.cli.read import gone_folders
from clew.demo.talk import talk
from tests.cli.conftest import Run


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_project_whose_folder_is_gone_is_named_on_a_terminal(
    clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    monkeypatch.setattr(gone_folders, "is_terminal", lambda: is_terminal)
    (tmp_path / "here").mkdir()
    talk("3f2a0000-0000-4000-8000-000000000001", cwd=str(tmp_path / "here")).user("a").reply("b").write(claude)
    assert "clew move" not in clew("ls")[2]
    talk("3f2a0000-0000-4000-8000-000000000002", cwd=str(tmp_path / "gone")).user("a").reply("b").write(claude)
    line = f"1 project folder does not exist. If one was moved or renamed: clew move {tmp_path / 'gone'} NEW"
    assert (line in clew("ls")[2]) == is_terminal
