"""`--json-schema` in Claude Code and in clew: the same replies give the same result after as many requests."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.oracle.claude import RUN_SECONDS, Box
from tests.oracle.conftest import Claude
from tests.oracle.mock_api import Reply, text, tool_use

pytestmark = pytest.mark.oracle

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["name", "n"],
}
RIGHT, WRONG = tool_use("StructuredOutput", name="x", n=3), tool_use("StructuredOutput", name="x")
CASES = {
    "right": [RIGHT],
    "wrong, then right": [WRONG, RIGHT],
    "always wrong": [WRONG] * 9,
    "words, then right": [text("Three."), RIGHT],
}


@pytest.mark.parametrize("name", CASES)
def test_both_give_the_same_result(claude: Claude, name: str) -> None:
    words = ["-p", "give", "--output-format", "json", "--json-schema", json.dumps(SCHEMA)]
    found = []
    with claude() as box:
        for command in (box.command, [sys.executable, "-m", "clew", "chat"]):
            box.api.replies.clear()
            box.api.replies.extend(Reply([block]) for block in CASES[name])
            seen = len(box.api.requests)
            answer = _run(box, [*command, *words])
            offered = {tool["name"]: tool.get("input_schema") for tool in box.api.requests[-1]["tools"]}
            parts = [answer.get(key) for key in ("subtype", "is_error", "structured_output", "terminal_reason")]
            found.append([*parts, len(box.api.requests) - seen, offered["StructuredOutput"]])
    assert found[0] == found[1]


def _run(box: Box, command: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        command,
        cwd=box.project,
        env=box._environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
