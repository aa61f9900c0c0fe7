"""Commands with control characters: refused whatever the mode, the rules and the answers say."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.chat.config.permission_mode import MODES, Mode
from clew.chat.permission.refuse_control_characters import refusal
from clew.chat.tools.builtin.bash import BASH
from tests.chat.permission.workplace import Workplace
from tests.chat.tools.tool_fixture import run, stage, trouble

CONTROLS = [chr(n) for n in (*range(32), *range(0x7F, 0xA0)) if chr(n) not in "\n\t"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: f"{ord(c):02x}")
def test_a_control_character_is_refused_in_every_mode(tmp_path: Path, control: str, mode: Mode) -> None:
    place = Workplace(tmp_path, allow=["Bash", "Bash(ls:*)"], mode=mode)
    for command in (f"ls {control}", f"{control}ls", f"echo 'a{control}b'", f"cat <<E\n{control}\nE"):
        found = place.bash(command)
        assert found.kind == "deny"
        assert f"\\x{ord(control):02x}" in found.message
        assert "not run" in found.message


def test_newlines_tabs_and_letters_of_any_script_are_not_controls() -> None:
    for command in ("ls\n\tls", "echo привет 漢字 🎉", "printf '\\x1b[1m'", "echo \u202e", None, 5):
        assert refusal(command) == ""


def test_the_tool_itself_refuses_what_was_changed_after_it_was_approved(tmp_path: Path) -> None:
    scene = stage(tmp_path)
    assert "control characters (\\x1b, \\x07)" in trouble(run(BASH, scene, command="touch ran \x1b]0;x\x07"))
    assert not (scene.state.cwd / "ran").exists()
