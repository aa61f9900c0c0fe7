"""How permission rules are read: each row is a set-up and a call, run by the published Claude Code and by clew.

A call that needs a question counts as "asked": without a terminal both programs refuse it and say that it was not granted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import AnyStep, MockScript, ScriptRule
from clew.api.mock.server import running
from tests.chat.chat_fixture import use
from tests.oracle.claude import command
from tests.oracle.conftest import Claude

pytestmark = pytest.mark.oracle

Json = dict[str, Any]
Calls = dict[str, str | Json]
CLEW = [str(Path(sys.executable).with_name("clew")), "chat"]
SECONDS = 120
NOTEBOOK = {
    "cells": [
        {"cell_type": "code", "id": "c1", "metadata": {}, "source": "x", "outputs": [], "execution_count": None},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}
OUTCOMES = (  # texts of a refusal, and what they mean
    ("asked", ("haven't granted", "requires approval", "needs approval")),
    ("denied", ("has been denied", "denied by your permission settings", "while in plan mode")),
    ("not offered", ("No such tool", "no tool")),
)


def file_calls(project: Path) -> Calls:
    """Files inside and outside of the project; one that is changed was read before."""
    return {
        "read": use("Read", file_path=str(project / "a.txt")),
        "create": use("Write", file_path=str(project / "new.txt"), content="x\n"),
        "edit": use("Edit", file_path=str(project / "a.txt"), old_string="one", new_string="two"),
        "overwrite": use("Write", file_path=str(project / "a.txt"), content="three\n"),
        "create below": use("Write", file_path=str(project / "sub" / "x.txt"), content="x\n"),
        "create outside": use("Write", file_path=str(project.parent / "out.txt"), content="x\n"),
        "read notebook": use("Read", file_path=str(project / "n.ipynb")),
        "edit notebook": use("NotebookEdit", notebook_path=str(project / "n.ipynb"), cell_id="c1", new_source="y"),
    }


def shell_calls(project: Path) -> Calls:
    commands = (
        "echo one",
        "git status",
        "touch new.txt",
        "mkdir -p d/e",
        "rm -f a.txt",
        "git push",
        "npm test",
        "make",
    )
    return {text: use("Bash", command=text, description="Try it") for text in commands}


def _options(*words: str) -> tuple[tuple[str, ...], Json]:
    return words, {}


def _settings(*modes: str, **rules: list[str]) -> tuple[tuple[str, ...], Json]:
    return tuple(word for mode in modes for word in ("--permission-mode", mode)), {"permissions": rules}


def _file_rows() -> dict[str, tuple[tuple[str, ...], Json]]:
    rows = {"default": _options(), "acceptEdits": _settings("acceptEdits")}
    specs = ("Write", "Write(*)", "Write(a.txt)", "Edit", "Edit(*)", "Edit(a.txt)", "Edit(sub/**)", "NotebookEdit")
    for rule in (*specs, "MultiEdit", "Write,Edit", "Read", "Write(**)", "Edit(**)", "Edit(//**)", "Write(new.txt)"):
        rows[f"--allowedTools {rule}"] = _options("--allowedTools", rule)
    for rule in specs:
        rows[f"allow {rule}"] = _settings(allow=[rule])
        rows[f"deny {rule}"] = _settings("acceptEdits", deny=[rule])
        rows[f"ask {rule}"] = _settings("acceptEdits", ask=[rule])
    for rule in ("Write", "Edit"):
        rows[f"--disallowedTools {rule}"] = _options("--permission-mode", "acceptEdits", "--disallowedTools", rule)
        rows[f"bypass, deny {rule}"] = _settings("bypassPermissions", deny=[rule])
        rows[f"bypass, ask {rule}"] = _settings("bypassPermissions", ask=[rule])
        rows[f"plan, allow {rule}"] = _settings("plan", allow=[rule])
        rows[f"dontAsk, allow {rule}"] = _settings("dontAsk", allow=[rule])
    rows["allow Write, deny Edit"] = _settings(allow=["Write"], deny=["Edit"])
    rows["allow Edit, deny Write"] = _settings(allow=["Edit"], deny=["Write"])
    rows["allow Edit, ask Write"] = _settings(allow=["Edit"], ask=["Write"])
    rows["allow Write, ask Edit"] = _settings(allow=["Write"], ask=["Edit"])
    return rows


def _shell_rows() -> dict[str, tuple[tuple[str, ...], Json]]:
    return {
        "default": _options(),
        "acceptEdits": _settings("acceptEdits"),
        "--allowedTools Bash": _options("--allowedTools", "Bash"),
        "allow Bash(npm test)": _settings(allow=["Bash(npm test)"]),
        "allow Bash(git:*)": _settings(allow=["Bash(git:*)"]),
        "allow Bash(git *)": _settings(allow=["Bash(git *)"]),
        "allow Bash, deny Bash(git push:*)": _settings(allow=["Bash"], deny=["Bash(git push:*)"]),
        "allow Bash, ask Bash(rm:*)": _settings(allow=["Bash"], ask=["Bash(rm:*)"]),
        "bypass, deny Bash(rm:*)": _settings("bypassPermissions", deny=["Bash(rm:*)"]),
        "deny Bash": _settings("bypassPermissions", deny=["Bash"]),
        "dontAsk, allow Bash(make)": _settings("dontAsk", allow=["Bash(make)"]),
    }


TABLES: dict[str, tuple[Callable[[Path], Calls], dict[str, tuple[tuple[str, ...], Json]]]] = {
    "files": (file_calls, _file_rows()),
    "commands": (shell_calls, _shell_rows()),
}
ROWS = [(table, name) for table, (_, rows) in TABLES.items() for name in rows]
SAMPLE = [
    ("files", "--allowedTools Write"),
    ("files", "--allowedTools Edit"),
    ("files", "--allowedTools Write,Edit"),
    ("files", "allow Write(*)"),
    ("files", "deny Edit"),
    ("files", "deny Write"),
    ("files", "ask Edit"),
    ("files", "deny Edit(sub/**)"),
    ("files", "plan, allow Write"),
    ("commands", "default"),
    ("commands", "allow Bash, deny Bash(git push:*)"),
]
_GIT = "in a folder that is not trusted git obeys whatever repository it finds, above the folder too: clew asks"
STRICTER = {  # a table, a set-up and a call that clew asks about on purpose, and why
    ("commands", name, "git status"): _GIT
    for name in ("default", "acceptEdits", "allow Bash(npm test)", "dontAsk, allow Bash(make)")
}


def _outcome(result: Json) -> str:
    text = result["content"] if isinstance(result["content"], str) else json.dumps(result["content"])
    if not result.get("is_error") or text.startswith("Exit code"):
        return "done"
    return next((name for name, signs in OUTCOMES if any(sign in text for sign in signs)), text[:200])


def _outcomes(program: Sequence[str], folder: Path, table: str, name: str) -> dict[str, str]:
    """What becomes of each call, asked for one after the other in one turn."""
    project = folder / "project"
    (project / "sub").mkdir(parents=True)
    (project / "a.txt").write_text("one\n")
    (project / "n.ipynb").write_text(json.dumps(NOTEBOOK))
    places = {place: str(folder / place) for place in ("HOME", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME")}
    for place in places.values():
        Path(place).mkdir()
    make_calls, rows = TABLES[table]
    options, settings = rows[name]
    Path(places["CLAUDE_CONFIG_DIR"], "settings.json").write_text(json.dumps(settings))
    calls = make_calls(project)
    steps: list[AnyStep] = [[call] for call in calls.values()]
    quiet = ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "IS_SANDBOX")
    with running(MockScript(rules=[ScriptRule(prompt="go", steps=[*steps, "Done."])]), keeps_bodies=True) as server:
        known = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "ANTHROPIC_API_KEY": "sk-ant-not-a-key"}
        silent = dict.fromkeys((*quiet, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1")
        done = subprocess.run(
            [*program, "-p", "go", *options],
            cwd=project,
            env={**known, **places, **silent, "ANTHROPIC_BASE_URL": server.url},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        bodies = [row["body"] for row in server.rows if (row.get("body") or {}).get("messages")]
    assert bodies, done.stdout + done.stderr
    blocks = [b for m in bodies[-1]["messages"] if isinstance(m["content"], list) for b in m["content"]]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    return dict(zip(calls, map(_outcome, results), strict=True))


@pytest.mark.parametrize(("table", "name"), ROWS if os.environ.get("CLEW_SOAK") else SAMPLE)
def test_rules_mean_what_they_mean_to_the_real_program(claude: Claude, tmp_path: Path, table: str, name: str) -> None:
    with claude() as box:
        real = _outcomes(command(box.version), tmp_path / "real", table, name)
    ours = _outcomes(CLEW, tmp_path / "clew", table, name)
    different = {call: (real[call], ours[call]) for call in real if real[call] != ours[call]}
    expected = {call for where, row, call in STRICTER if (where, row) == (table, name)}
    assert set(different) == expected, different
    assert all(ours in ("asked", "denied") for _, ours in different.values())
