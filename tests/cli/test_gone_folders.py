"""What `clew ls` says of projects whose folder is gone, and of sessions that were moved."""

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


def test_a_moved_session_is_not_listed_as_deleted(
    clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    id = "3f2a0000-0000-4000-8000-000000000001"
    talk(id, cwd="/home/ada/garden").user("a").reply("b").write(claude)
    clew("collect", "--quiet")
    assert clew("move", "/home/ada/garden", "/home/ada/plot")[0] == 0
    for _ in range(2):
        assert clew("ls", "--archived")[1] == ""
        assert clew("ls")[1].count("3f2a0000") == 1
        clew("collect", "--quiet")
    (claude / "projects" / "-home-ada-plot" / f"{id}.jsonl").unlink()
    archived = clew("ls", "--archived")[1]
    assert archived.count("3f2a0000") == 1 and "plot" in archived
