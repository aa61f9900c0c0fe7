"""A folder of Claude Code for each test, and `clew` as it is typed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.cli import main
from clew.demo.demo_tree import DemoSummary, write_demo

Run = Callable[..., tuple[int, str, str]]

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    return tmp_path / "claude"


@pytest.fixture
def clew(claude: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Type a command; the exit code, what is on stdout and what is on stderr."""

    def typed(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--claude-dir", str(claude)])
        out, err = capsys.readouterr()
        return code, out, err

    return typed


@pytest.fixture
def demo(claude: Path) -> DemoSummary:
    return write_demo(claude, NOW)


@pytest.fixture(scope="module")
def archived_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo that is in the archive; tests get copies at the path that the archive knows."""
    home = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("cache", "data"):
            patch.setenv(f"XDG_{name.upper()}_HOME", str(home / "home" / name))
        write_demo(home / "home" / "claude", NOW)
        assert main(["collect", "--quiet", "--claude-dir", str(home / "home" / "claude")]) == 0
    shutil.copytree(home / "home", home / "saved")
    return home


@pytest.fixture
def archived_demo(archived_template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Claude Code with the demo, all of it in the archive."""
    home = archived_template / "home"
    shutil.rmtree(home)
    shutil.copytree(archived_template / "saved", home)
    for name in ("cache", "data"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(home / name))
    return home / "claude"


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    if hasattr(time, "tzset"):
        time.tzset()
    yield
    monkeypatch.undo()
    if hasattr(time, "tzset"):
        time.tzset()
