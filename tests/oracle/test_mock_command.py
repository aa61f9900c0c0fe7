"""The real Claude Code on `clew mock`: any client can use it, and the strict rules refuse nothing that it sends."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.claude import VERSIONS, Box
from tests.oracle.conftest import Claude

pytestmark = pytest.mark.oracle

SCRIPT: dict[str, Any] = {
    "rules": [
        {
            "prompt": "look around",
            "tools": True,
            "steps": [
                [{"thinking": "Hm."}, "Look:", {"tool": "Bash", "input": {"command": "echo hi", "description": "Say hi"}}],
                "Done.",
            ],
        },
        {"prompt": "shaky", "tools": True, "steps": [{"content": "Steady.", "fault": {"status": 529, "times": 1}}]},
    ]
}  # fmt: skip


def run(box: Box, *words: str) -> tuple[str, list[dict[str, Any]]]:
    """What the program prints with clew's mock as its API, and the ledger."""
    script, ledger = box.home / "script.json", box.home / "ledger.jsonl"
    script.write_text(json.dumps(SCRIPT))
    real, mock = box.command, [sys.executable, "-m", "clew", "mock", "--quiet", "--script", str(script)]
    box.command = [*mock, "--ledger", str(ledger), "--", *real]
    try:
        done = box.run(*words, env={"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"})
    finally:
        box.command = real
    assert done.rc == 0, done.stderr
    return done.stdout.strip(), [json.loads(line) for line in ledger.read_text().splitlines()]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_served_and_refused_nothing(claude: Claude, version: str) -> None:
    with claude(version) as box:
        said, rows = run(box, "-p", "look around", "--permission-mode", "bypassPermissions")
    assert said == "Done."
    asked = [row for row in rows if row["path"] == "/v1/messages"]
    assert [row["status"] for row in asked] == [200] * len(asked), [row.get("error") for row in asked]
    assert [row["step"] for row in asked if row["rule"] == "rule 1"] == [0, 1]


def test_the_program_counts_what_the_ledger_says(claude: Claude) -> None:
    with claude() as box:
        said, rows = run(box, "-p", "look around", "--permission-mode", "bypassPermissions", "--output-format", "json")
    usage = json.loads(said)["usage"]
    main = [row["usage"] for row in rows if row.get("rule") == "rule 1"]
    for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
        assert usage[name] == sum(each[name] for each in main), name


def test_the_program_asks_again_after_a_fault(claude: Claude) -> None:
    with claude() as box:
        said, rows = run(box, "-p", "shaky")
    assert said == "Steady."
    assert [row["status"] for row in rows if row.get("rule") == "rule 2"] == [529, 200]
