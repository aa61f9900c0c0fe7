"""WebSearch: Claude Code and clew ask the server for it alike, and keep the same record."""

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

FIELDS = ("model", "tools", "tool_choice", "max_tokens", "thinking", "temperature", "output_config", "stream")
PAGE = {"type": "web_search_result", "title": "Tides", "url": "https://a.example/", "encrypted_content": "x"}
FOUND = [
    text("I look."),
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tides"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [PAGE]},
    text("At nine."),
]


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-4-8", "claude-sonnet-4-5"])
def test_both_ask_the_server_alike_and_keep_the_same_record(claude: Claude, model: str) -> None:
    call = tool_use("WebSearch", query="tides", blocked_domains=["b.example"])
    words = ["-p", "go", "--model", model, "--allowedTools", "WebSearch", "--output-format", "stream-json", "--verbose"]
    found = []
    with claude() as box:
        for command in (box.command, [sys.executable, "-m", "clew", "chat"]):
            box.api.replies.clear()
            box.api.replies.extend([Reply([call]), Reply(FOUND, stop_reason="end_turn"), Reply([text("End.")])])
            frames = _run(box, [*command, *words])
            asked = next(b for b in reversed(box.api.requests) if "web_search_2" in str(b["tools"]))
            record = next(f["tool_use_result"] for f in frames if isinstance(f.get("tool_use_result"), dict))
            found.append(({name: asked.get(name) for name in FIELDS}, record | {"durationSeconds": 0}))
    assert found[0] == found[1]


def _run(box: Box, command: list[str]) -> list[dict[str, Any]]:
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
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
