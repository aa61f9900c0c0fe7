"""What a reader, a program and the status line are told about a session of clew."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from clew.chat.config.repository import origin_repository
from clew.version import __version__
from tests.chat.set_up import CLEW, Place
from tests.oracle.mock_api import Reply, text


def test_a_session_of_clew_is_labelled_as_one(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.run(CLEW, "go", replies=(Reply([text("Done.")]),))
    (path,) = place.claude.glob("projects/*/*.jsonl")
    before = path.read_text()
    shown = subprocess.run([CLEW[0], "show", str(path)], capture_output=True, text=True, env=place.environment())
    assert f"clew {__version__}" in shown.stdout, shown.stderr
    assert "Claude Code" not in shown.stdout
    line = next(json.loads(line) for line in before.splitlines() if '"version"' in line)
    other = {**line, "uuid": "99999999-9999-4999-8999-999999999999", "parentUuid": line["uuid"], "version": "2.1.325"}
    del other["writer"]  # a line that Claude Code appended
    path.write_text(f"{before}{json.dumps(other)}\n")
    shown = subprocess.run([CLEW[0], "show", str(path)], capture_output=True, text=True, env=place.environment())
    assert "version 2.1.325" in shown.stdout
    page = [CLEW[0], "export", str(path), "--format", "markdown"]
    exported = subprocess.run(page, capture_output=True, text=True, env=place.environment())
    assert f"clew {__version__}, Claude Code 2.1.325" in exported.stdout, exported.stderr


@pytest.mark.parametrize(("env", "window"), [({}, 1_000_000), ({"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}, 200_000)])
def test_long_windows_can_be_switched_off(tmp_path: Path, env: dict[str, str], window: int) -> None:
    options = ("--output-format", "json", "--model", "claude-opus-5-5")
    ran = Place(tmp_path).run(CLEW, "go", *options, env=env, replies=(Reply([text("Done.")]),))
    (usage,) = json.loads(ran.stdout)["modelUsage"].values()
    assert usage["contextWindow"] == window


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("git@github.com:acme/widgets.git", ("github.com", "acme", "widgets")),
        ("https://github.com/acme/widgets", ("github.com", "acme", "widgets")),
        ("ssh://git@example.org:2222/acme/sub/widgets.git", ("example.org", "acme/sub", "widgets")),
        ("https://user:token@example.org/acme/widgets.git", ("example.org", "acme", "widgets")),
        ("widgets", None),
    ],
)
def test_the_repository_is_that_of_origin(tmp_path: Path, url: str, expected: tuple[str, str, str] | None) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {url}\n')
    found = origin_repository(tmp_path)
    assert (tuple(found.values()) if found else None) == expected


def test_a_folder_without_a_repository_has_no_origin(tmp_path: Path) -> None:
    assert origin_repository(tmp_path / "none") is None
