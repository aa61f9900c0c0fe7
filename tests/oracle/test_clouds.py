"""Bedrock and Vertex: Claude Code and clew ask the same of servers that check signatures and tokens."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.api.cloud_servers import CloudServer, cloud_server
from tests.api.test_clouds import bedrock, vertex
from tests.oracle.claude import RUN_SECONDS, Box
from tests.oracle.conftest import Claude

pytestmark = pytest.mark.oracle

APART = ("messages", "system", "tools", "anthropic_beta", "metadata")


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("bedrock", "claude-opus-5-5"),
        ("bedrock", "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("vertex", "claude-opus-5-5"),
        ("vertex", "claude-sonnet-4-5@20250929"),
    ],
)
def test_both_ask_for_the_same(claude: Claude, kind: str, model: str) -> None:
    with claude() as box, cloud_server(kind) as made:
        made.is_open = True  # Claude Code gets tokens from Google alone
        project = {"CLAUDE_CODE_SKIP_VERTEX_AUTH": "1", "ANTHROPIC_VERTEX_PROJECT_ID": "proj-1"}
        env = bedrock(made) if kind == "bedrock" else vertex(made, box.home, **project)
        found = [
            _ask(box, made, [*command, "-p", "hi", "--model", model, "--output-format", "json"], env)
            for command in (box.command, [sys.executable, "-m", "clew", "chat"])
        ]
    assert found[0] == found[1]


def _ask(box: Box, made: CloudServer, command: list[str], env: dict[str, str]) -> tuple[str, str, dict[str, Any]]:
    made.asked.clear()
    done = subprocess.run(
        command,
        cwd=box.project,
        env={**box._environment(), **env, "ANTHROPIC_API_KEY": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    asked = next(each for each in made.asked if each["body"].get("tools"))
    body = {name: value for name, value in asked["body"].items() if name not in APART}
    return json.loads(done.stdout)["result"], asked["path"].replace("%3A", ":"), body
