"""What an interrupted reply leaves behind: on disk and in the next request, compared with the published Claude Code."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from claude_agent_sdk.types import StreamEvent

from clew.api.mock.scripts import Fault, MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import running
from tests.chat.chat_fixture import use
from tests.oracle.conftest import Claude

pytestmark = pytest.mark.oracle

Json = dict[str, Any]
AGENT = str(Path(sys.executable).with_name("clew-agent"))
SECONDS = 120
LETTERS = "abcdefghij" * 3
LONG_CALL = use("Bash", command="echo one two three four five", description="x" * 40)
THOUGHT: Json = {"type": "thinking", "thinking": "abc", "signature": "c2ln"}

# The content of a reply, and after how many of its stream events the stream stalls until it is interrupted.
CASES: dict[str, tuple[list[str | Json], int]] = {
    "text": ([LETTERS], 6),
    "a text of which nothing came": ([LETTERS], 2),
    "nothing but the start of the reply": ([LETTERS], 1),
    "thinking": ([{**THOUGHT, "thinking": LETTERS}, "Hello."], 6),
    "a text after thinking": ([THOUGHT, LETTERS], 9),
    "the second of two texts": (["abc", LETTERS], 9),
    "a call after a text": (["abc", LONG_CALL], 8),
    "a call": ([LONG_CALL], 5),
    "a call after thinking and a text": ([THOUGHT, "first", LONG_CALL], 14),
    "white space": (["   \n\n  \n     "], 5),
}


async def _interrupt_and_continue(program: str, folder: Path, url: str, events: int) -> None:
    folders = {name: str(folder / name) for name in ("HOME", "CLAUDE_CONFIG_DIR", "XDG_DATA_HOME")}
    quiet = ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "IS_SANDBOX")
    silent = dict.fromkeys((*quiet, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1")
    options = ClaudeAgentOptions(
        cli_path=program,
        cwd=str(folder / "project"),
        include_partial_messages=True,
        env={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-ant-not-a-key", **folders, **silent},
    )
    async with ClaudeSDKClient(options=options) as client:
        await client.query("go")
        seen = 0
        interrupting: asyncio.Task[None] | None = None
        async for message in client.receive_response():
            seen += isinstance(message, StreamEvent)
            if seen >= events and interrupting is None:
                interrupting = asyncio.create_task(client.interrupt())
        assert interrupting is not None
        await interrupting
        await client.query("NEXT")
        async for _ in client.receive_response():
            pass


def _leave_behind(program: str, folder: Path, case: str) -> tuple[list[Json], list[Json]]:
    """The entries of the conversation in the session file, and the messages of the next request after the prompt."""
    for name in ("project", "HOME"):
        (folder / name).mkdir(parents=True)
    content, after = CASES[case]
    step = ScriptStep(content=content, chunk=5, fault=Fault(stream="hang", after=after))
    script = MockScript(rules=[ScriptRule(prompt="NEXT", steps=["Fine."]), ScriptRule(prompt="go", steps=[step])])
    with running(script, keeps_bodies=True) as server:
        talk = _interrupt_and_continue(program, folder, server.url, max(1, after - 1))
        asyncio.run(asyncio.wait_for(talk, SECONDS))
        bodies = [row["body"] for row in server.rows if (row.get("body") or {}).get("tools")]
    [path] = folder.glob("CLAUDE_CONFIG_DIR/projects/*/*.jsonl")
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [
        {
            "type": entry["type"],
            "content": entry["message"]["content"],
            "stop_reason": entry["message"].get("stop_reason"),
            "aborted": entry.get("isAbortedMidStream"),
        }
        for entry in entries
        if entry["type"] in ("user", "assistant")
    ]
    replies = [message["content"] for message in bodies[-1]["messages"] if message["role"] == "assistant"]
    return kept, replies


@pytest.mark.parametrize("case", CASES)
def test_what_was_shown_of_an_interrupted_reply_is_kept_as_the_real_program_keeps_it(
    claude: Claude, tmp_path: Path, case: str
) -> None:
    with claude() as box:
        [program] = box.command
        real = _leave_behind(program, tmp_path / "real", case)
    assert _leave_behind(AGENT, tmp_path / "clew", case) == real
