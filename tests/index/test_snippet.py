"""Snippets of a search show what `show` shows: prompts as they were typed, and no base64."""

from __future__ import annotations

import pytest

from tests.index.helper import NOW, Claude, call, entry, prompt, reply, result

PICTURE = "iVBORw0KGgo" + "A" * 400


def snippets(claude: Claude, query: str) -> list[str]:
    with claude.refreshed() as index:
        return [passage.text for found in index.search(query, now=NOW) for passage in found.passages]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<bash-input>git status</bash-input>", "! git status"),
        ("<command-name>/status</command-name><command-args>long</command-args>", "/status long"),
        ("<ide_opened_file>status.py</ide_opened_file>what status?", "what status?"),
        ("<system-reminder>x</system-reminder>status, please", "status, please"),
    ],
)
def test_a_prompt_is_shown_as_it_was_typed(claude: Claude, text: str, shown: str) -> None:
    claude.write("a", prompt(text), reply("fine"))
    assert snippets(claude, "status") == [shown]


def test_a_picture_in_a_tool_input_is_not_printed(claude: Claude) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
    claude.write("a", prompt("go"), call("Upload", name="wombat", picture={"source": source}))
    (shown,) = snippets(claude, "wombat")
    assert "wombat" in shown and "iVBOR" not in shown


def test_a_picture_in_text_is_not_printed(claude: Claude) -> None:
    claude.write("a", prompt("go"), call("Bash", command="ls"), result(f"wombat data:image/png;base64,{PICTURE} end"))
    (shown,) = snippets(claude, "wombat")
    assert shown == "wombat end"


def test_the_text_of_the_matching_block_is_shown(claude: Claude) -> None:
    blocks = [
        {"type": "text", "text": "nothing"},
        {"type": "thinking", "thinking": "x"},
        {"type": "text", "text": "a wombat"},
    ]
    claude.write("a", prompt("go"), entry("assistant", blocks))
    assert snippets(claude, "wombat") == ["a wombat"]
