"""The status line command: what it is told, when it is run, and what of its output is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clew.api.mock.scripts import ScriptRule
from clew.console.status_command import sanitize_output
from tests.console.terminal import SHIFT_TAB, use, world

FIELDS = {  # of Claude Code 2.1.325, without those that are absent when they do not apply
    "session_id", "transcript_path", "cwd", "model", "workspace", "version", "output_style", "cost", "context_window",
    "exceeds_200k_tokens", "fast_mode", "thinking",
}  # fmt: skip
COST = {"total_cost_usd", "total_duration_ms", "total_api_duration_ms", "total_lines_added", "total_lines_removed"}


def test_the_command_is_told_the_session_and_its_lines_are_shown(tmp_path: Path) -> None:
    write = use("Write", file_path="a.txt", content="one\ntwo\n")
    with world(tmp_path, [ScriptRule(prompt="go", steps=[[write], "It is done."])]) as made:
        made.claude.mkdir(parents=True, exist_ok=True)
        told = tmp_path / "told.jsonl"
        command = (
            f"tr -d '\\n' >> {told}; echo >> {told}; printf '\\033[31mRED\\033[0m %s\\nsecond\\n' $(wc -l < {told})"
        )
        settings = {"statusLine": {"type": "command", "command": command, "padding": 1}}
        (made.claude / "settings.json").write_text(json.dumps(settings))
        with made.console("--permission-mode", "acceptEdits") as console:
            console.see("   RED 1", "   second")
            console.idle()
            console.say("go now")
            console.see("It is done.")
            console.until(lambda: "RED 1" not in console.screen and "RED " in console.screen, "a second run")
            console.idle()
            before = len(told.read_text().splitlines())
            console.type(SHIFT_TAB)
            console.until(lambda: len(told.read_text().splitlines()) > before, "a run for the mode")
            console.leave()
        rows = [json.loads(line) for line in told.read_text().splitlines()]
    first, last = rows[0], rows[-1]
    assert set(first) >= FIELDS and set(first) - FIELDS <= {"effort"} and set(first["cost"]) == COST
    assert first["context_window"]["current_usage"] is None and first["context_window"]["used_percentage"] is None
    assert first["model"] == {"id": "claude-sonnet-4-5", "display_name": "Sonnet 4.5"}
    assert first["workspace"] == {"current_dir": first["cwd"], "project_dir": first["cwd"], "added_dirs": []}
    assert last["session_id"] == first["session_id"] and last["transcript_path"].endswith(f"{last['session_id']}.jsonl")
    assert last["context_window"]["current_usage"]["output_tokens"] > 0
    assert last["context_window"]["total_input_tokens"] > 0 and last["cost"]["total_cost_usd"] > 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m"),
        ("\x1b]8;;http://x\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\a", "a"),
        ("a\x1b[2Jb\x1b[10;10Hc\x1b[?1049hd", "abcd"),
        ("a\rb\x08\x07c\x9b31m", "abc31m"),
        ("\x1b", ""),
        ("\x1bPq#0\x1b\\x", "q#0x"),
    ],
)
def test_only_colours_of_the_output_reach_the_terminal(text: str, shown: str) -> None:
    assert sanitize_output(text) == shown
