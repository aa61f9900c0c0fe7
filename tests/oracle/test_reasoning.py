"""Thinking, effort and limits: the same command line asks the model for the same in Claude Code and in clew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from clew.models import table
from tests.oracle.claude import RUN_SECONDS, Box
from tests.oracle.conftest import Claude
from tests.oracle.mock_api import Received

pytestmark = pytest.mark.oracle

FIELDS = ("model", "max_tokens", "thinking", "output_config", "context_management", "temperature", "stream")
# Betas of features that clew does not use: its own tools need no search, and it does not call itself Claude Code.
UNUSED = {
    *("claude-code-20250219", "per-turn-control-2026-07-01", "mid-conversation-tool-changes-2026-07-01"),
    *("thinking-token-count-2026-05-13", "advanced-tool-use-2025-11-20"),
}
FIELD_OF = {
    "effort-2025-11-24": "output_config",
    "context-management-2025-06-27": "context_management",
    "interleaved-thinking-2025-05-14": "context_management",  # which is sent with every thinking
}
SETTINGS: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
    (("--effort", "low"), {}),
    (("--effort", "xhigh"), {}),
    (("--effort", "nonsense"), {}),
    (("--thinking", "disabled"), {}),
    (("--max-thinking-tokens", "8000"), {}),
    (("--max-thinking-tokens", "0"), {}),
    (("--task-budget", "50000"), {}),
    (("--settings", '{"effortLevel": "low"}'), {}),
    (("--settings", '{"alwaysThinkingEnabled": false}'), {}),
    (("--effort", "high"), {"CLAUDE_CODE_EFFORT_LEVEL": "low"}),
    (("--effort", "high"), {"CLAUDE_CODE_EFFORT_LEVEL": "auto"}),
    ((), {"MAX_THINKING_TOKENS": "8000"}),
    ((), {"MAX_THINKING_TOKENS": "0"}),
    ((), {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "5000"}),
    ((), {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "500000"}),
)
KINDS = ("claude-opus-5-5", "claude-opus-4-8", "claude-sonnet-4-5", "claude-mythos-5")
CASES = [
    *(
        (name, (), {})
        for name in (*table()["models"], "claude-future-9", "claude-sonnet-4-5[1m]", "opus", "sonnet[1m]")
    ),
    *((name, *each) for name in KINDS for each in SETTINGS),
]
SAMPLE = CASES if os.environ.get("CLEW_SOAK") else CASES[::9]


@pytest.mark.parametrize(("model", "words", "changed"), SAMPLE)
def test_both_ask_for_the_same(claude: Claude, model: str, words: tuple[str, ...], changed: dict[str, str]) -> None:
    with claude() as box:
        real = box.run("-p", "hi", "--model", model, "--output-format", "json", *words, env=changed)
        theirs, limits = _last(box), json.loads(real.stdout)["modelUsage"]
        own = _run_clew(box, "--model", model, "--output-format", "json", *words, **changed)
        ours = _last(box)
    assert {name: ours.body.get(name) for name in FIELDS} == {name: theirs.body.get(name) for name in FIELDS}
    # A header whose field is not sent has no effect, so it may be missing.
    without_field = {beta for beta, name in FIELD_OF.items() if name not in theirs.body}
    assert _betas(ours) - without_field == _betas(theirs) - UNUSED - without_field
    reported = [{k: row[k] for k in ("contextWindow", "maxOutputTokens")} for row in own["modelUsage"].values()]
    assert reported == [{k: row[k] for k in ("contextWindow", "maxOutputTokens")} for row in limits.values()]


def _last(box: Box) -> Received:
    return [each for each in box.api.received if each.path == "/v1/messages" and each.body.get("tools")][-1]


def _betas(received: Received) -> set[str]:
    return set(received.headers.get("anthropic-beta", "").split(",")) - {""}


def _run_clew(box: Box, *words: str, **changed: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "clew", "chat", "-p", "hi", *words]
    done = subprocess.run(
        command,
        cwd=box.project,
        env={**box._environment(), **changed},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
