"""`opusplan` in Claude Code: the model and the thinking of each request in a turn that enters and leaves plan mode."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import Any

import pytest

from tests.oracle.claude import RUN_SECONDS, Box
from tests.oracle.conftest import Claude
from tests.oracle.mock_api import Reply, text, thinking, tool_use

pytestmark = pytest.mark.oracle

OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-5-5"
WORDS = [
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-prompt-tool",
    "stdio",
]


def allow_all(box: Box, *words: str) -> None:
    """Send one prompt as an SDK does and allow every call; without an SDK the program has no EnterPlanMode in `-p`."""
    process = subprocess.Popen(
        [*box.command, "-p", *WORDS, *words],
        cwd=box.project,
        env=box._environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    limit = threading.Timer(RUN_SECONDS, process.kill)
    limit.start()
    with process:
        assert process.stdin and process.stdout

        def send(frame: dict[str, Any]) -> None:
            assert process.stdin
            process.stdin.write(json.dumps(frame) + "\n")
            process.stdin.flush()

        send({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}})
        send(
            {"type": "user", "message": {"role": "user", "content": "Go"}, "session_id": "", "parent_tool_use_id": None}
        )
        for frame in map(json.loads, process.stdout):
            if frame["type"] == "control_request":
                allowed = {"behavior": "allow", "updatedInput": frame["request"].get("input", {})}
                answer = {"subtype": "success", "request_id": frame["request_id"], "response": allowed}
                send({"type": "control_response", "response": answer})
            if frame["type"] == "result":
                process.stdin.close()
                break
    limit.cancel()


def test_planning_inside_a_turn_switches_the_model_and_sends_each_its_own_thinking(claude: Claude) -> None:
    look = tool_use("Bash", command="ls", description="List")
    calls = [look, tool_use("EnterPlanMode"), look, tool_use("ExitPlanMode", plan="Write x."), look, text("Done.")]
    with claude(replies=[Reply([thinking(name), call]) for name, call in zip("ABCDEF", calls, strict=True)]) as box:
        allow_all(box, "--model", "opusplan", "--permission-mode", "acceptEdits")
        bodies = [body for body in box.api.requests if body.get("tools")]
    assert [body["model"] for body in bodies] == [SONNET, SONNET, OPUS, OPUS, SONNET, SONNET]
    assert [_thoughts(body) for body in bodies] == ["", "A", "", "C", "AB", "ABE"]


def _thoughts(body: dict[str, Any]) -> str:
    blocks = [block for message in body["messages"] for block in message["content"] if isinstance(block, dict)]
    return "".join(block["thinking"] for block in blocks if block["type"] == "thinking")
