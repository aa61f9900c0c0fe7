"""The command that installs an optional part names where clew came from, never a name on an index."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from clew.cli.implied_command import add_command
from clew.system import extras
from clew.system.extras import install_command, install_hint

ROOT = Path(__file__).parents[2]
FOLDER = {"url": "file:///home/ada/my%20clew", "dir_info": {}}
EDITABLE = {"url": "file:///home/ada/my%20clew", "dir_info": {"editable": True}}
WHEEL = {"url": "file:///tmp/clew-0.1.0-py3-none-any.whl", "archive_info": {}}
GIT = {"url": "https://example.org/clew.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}
PIP = [sys.executable, "-m", "pip", "install"]


@pytest.mark.parametrize(
    ("source", "made_by", "has_pip", "words"),
    [
        (FOLDER, "", True, [*PIP, "/home/ada/my clew[web]"]),
        (EDITABLE, "", True, [*PIP, "-e", "/home/ada/my clew[web]"]),
        ({"url": "file:///C:/clew", "dir_info": {}}, "", True, [*PIP, "C:/clew[web]"]),
        (WHEEL, "", True, [*PIP, "clew[web] @ file:///tmp/clew-0.1.0-py3-none-any.whl"]),
        (GIT, "", True, [*PIP, "clew[web] @ git+https://example.org/clew.git"]),
        ({}, "", True, [*PIP, "uvicorn>=0.30"]),
        (FOLDER, "", False, ["uv", "pip", "install", "--python", sys.executable, "/home/ada/my clew[web]"]),
        (FOLDER, "uv-receipt.toml", False, ["uv", "tool", "install", "--force", "/home/ada/my clew[web]"]),
        (
            GIT,
            "pipx_metadata.json",
            True,
            ["pipx", "install", "--force", "clew[web] @ git+https://example.org/clew.git"],
        ),
        (FOLDER, "archive-v0", False, ["uvx", "--from", "/home/ada/my clew[web]", "clew"]),
    ],
)
def test_the_command_fits_the_installation(
    source: dict[str, Any], made_by: str, has_pip: bool, words: list[str], tmp_path: Path
) -> None:
    prefix = tmp_path / "archive-v0" / "x" if made_by == "archive-v0" else tmp_path
    prefix.mkdir(parents=True, exist_ok=True)
    if "." in made_by:
        (prefix / made_by).write_text("")
    assert extras._command_words(source, ["uvicorn>=0.30"], "web", str(prefix), has_pip=has_pip) == words


def test_this_checkout_is_named() -> None:
    assert install_hint("web") == f"Install it with: {sys.executable} -m pip install -e '{ROOT}[web]'"


def test_every_extra_that_the_code_names_exists_and_no_index_is_promised() -> None:
    stated = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    named: set[str] = set()
    for path in (ROOT / "src/clew").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        named |= set(re.findall(r"install_(?:hint|command)\([\"'](\w+)[\"']\)", text))
        assert "pip install 'clew[" not in text or path.name == "extras.py", path
    assert named | {"semantic"} == stated - {"all", "dev"}  # a model goes with it, which no extra can install
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        assert not re.search(r"(?:pip|uv tool|pipx) install '?clew\b", page.read_text(encoding="utf-8")), page


def test_a_terminal_without_textual_gets_a_list_and_learns_of_the_browser(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert add_command([]) == ["ls"]
    assert "opens a browser. It needs Textual: uv pip install" in capsys.readouterr().err
    assert install_command("tui").endswith("[tui]'")
