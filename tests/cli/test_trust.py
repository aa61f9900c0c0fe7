"""`clew trust`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.cli import main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "project"
    (folder / ".claude").mkdir(parents=True)
    hook = {"hooks": [{"type": "command", "command": "make \x1b[2Jlint"}]}
    settings = {"permissions": {"allow": ["Bash(make:*)"]}, "hooks": {"Stop": [hook]}, "env": {"CI": "1"}, "model": "x"}
    (folder / ".claude" / "settings.json").write_text(json.dumps(settings))
    (folder / ".mcp.json").write_text('{"mcpServers": {"notes": {"command": "notes", "args": ["--all"]}}}')
    return folder


def test_it_shows_what_a_folder_brings_along_before_and_when_it_is_trusted(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trust", str(project), "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "It allows Bash(make:*).",
        "It runs 'make \\x1b[2Jlint' at Stop.",
        "It sets the variable CI to '1'.",
        "It starts the MCP server notes: notes --all.",
        'It sets model to "x".',
    ]
    assert shown.err == f"{project} is not trusted.\n"
    assert main(["trust", "--list"]) == 1
    assert main(["trust", str(project)]) == 0
    assert capsys.readouterr().err == f"{project} is trusted.\n"
    assert main(["trust", "--list"]) == 0
    assert capsys.readouterr().out == f"{project}\n"


def test_it_says_when_the_settings_have_changed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", str(project), "--quiet"]) == 0
    (project / ".mcp.json").write_text('{"mcpServers": {"other": {"command": "other"}}}')
    assert main(["trust", str(project), "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert "It starts the MCP server other: other." in shown.out
    assert shown.err.endswith("is not trusted: what it brings along has changed since you trusted it.\n")
    assert main(["trust", str(project), "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["trusted"], said["state"]) == (False, "changed")


def test_what_would_run_is_shown_whole_and_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a\x1b[2J\u202eb"
    folder.mkdir()
    server = {"command": "sh", "args": ["-c", "a\nb"], "env": {"LD_PRELOAD": "./x.so"}, "cwd": "/x\u200b"}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"n\x9bx": server}}))
    (folder / ".claude").mkdir()
    (folder / ".claude" / "settings.json").write_text(json.dumps({"apiKeyHelper": "./\u0430.sh"}))
    assert main(["trust", str(folder), "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        'It starts the MCP server n\\x9bx: sh -c a\\x0ab, env {"LD_PRELOAD": "./x.so"}, cwd "/x\\u200b".',
        "It runs './\\u0430.sh' to get the API key.",
    ]
    assert shown.err == f"{tmp_path}/a\\x1b[2J\\u202eb is not trusted.\n"


def test_it_takes_trust_back(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trust", str(project), "--quiet"]) == 0
    assert main(["trust", str(project), "--remove", "--json"]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said["trusted"] is False and said["path"] == str(project) and said["brings"]
    assert main(["trust", str(project / "none")]) == 2
