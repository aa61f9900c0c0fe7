"""The user's own shell: what commands know of its configuration, and what that can never do to them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from clew.chat.permission.known_commands import NAMES
from clew.chat.tools.builtin.background import stop_all
from clew.chat.tools.builtin.bash import BASH
from clew.chat.tools.shell_profile import ShellProfile
from clew.chat.tools.tool import CallResult, ToolContext
from tests.chat.tools.tool_fixture import call, good, stage

RC = """
echo welcome; echo trouble >&2
alias hello='echo hello there'
alias ls='echo no list' rm='echo no removal'
greet() { __who "$1"; }
__who() { echo "good day, $1"; }
_completion() { echo never; }
cat() { echo no file; }
cd() { echo elsewhere; }
shopt -s extglob globstar dotglob
set -o pipefail; set -o monitor
VALUE=of-the-shell; export VALUE
read -r never
"""

CONFIGURATIONS = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
FOREIGN_RC = {
    "zsh": r"""
echo welcome
alias hello='echo hello there' quoted="echo \"it's\" \$HOME" ls='echo no list'
alias -g G='| grep'
alias -s txt=cat
cat() { print no file }
setopt noclobber
""",
    "fish": r"""
echo welcome
alias hello 'echo hello there'
alias quoted "echo 'it is' \$HOME"
alias ls 'echo no list'
alias sub 'echo (date)'
function cat; echo no file; end
""",
}


def run(
    scene: ToolContext, rc: str | None, *commands: str, patience: float = 60.0, shell: str = "bash"
) -> tuple[list[CallResult], list[str]]:
    """The results of commands in one session of a user with this shell and its configuration, and the remarks."""
    told: list[str] = []

    async def all_of_them() -> list[CallResult]:
        taken = ShellProfile(home, lambda: NAMES, told.append, patience)
        with_profile = replace(scene, state=replace(scene.state, profile=taken), stopped=asyncio.Event())
        try:
            return [await call(BASH, with_profile, command=command) for command in commands]
        finally:
            await stop_all(with_profile.state)

    home = scene.folder.parent / "home"
    home.mkdir()
    if rc is not None:
        path = home / CONFIGURATIONS[shell]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(rc)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("SHELL", f"/usr/bin/{shell}")
        for name in ("ZDOTDIR", "XDG_CONFIG_HOME"):
            patch.delenv(name, raising=False)
        return asyncio.run(all_of_them()), told


@pytest.fixture
def scene(tmp_path: Path) -> ToolContext:
    return stage(tmp_path)


def test_commands_know_aliases_functions_and_options(scene: ToolContext) -> None:
    commands = (
        "hello",
        "greet you",
        "shopt -p extglob; shopt -po pipefail",
        "echo ${VALUE:-none}",
        "hello; mkdir in && cd in",
    )
    results, told = run(scene, RC, *commands, "pwd")
    assert [good(result) for result in results] == [
        *("hello there", "good day, you", "shopt -s extglob\nset -o pipefail", "none", "hello there"),
        str(scene.state.project / "in"),
    ]
    assert told == []


def test_what_permissions_know_by_its_name_is_what_runs(scene: ToolContext) -> None:
    (scene.state.project / "file").write_text("text\n")
    (scene.state.project / ".hidden").write_text("secret\n")
    results, _ = run(
        scene, RC, "cat file", "ls", "rm file; ls", "cat *", "shopt -p globstar dotglob; set -o | grep monitor"
    )
    assert [good(result) for result in results[:3]] == ["text", "file", ""]
    assert "secret" not in str(results[3].content)
    assert good(results[4]).split() == ["shopt", "-u", "globstar", "shopt", "-u", "dotglob", "monitor", "off"]


@pytest.mark.parametrize("shell", FOREIGN_RC)
def test_aliases_of_another_shell_are_known_and_nothing_else(scene: ToolContext, shell: str) -> None:
    (scene.state.project / "file").write_text("text\n")
    commands = ("hello", "quoted", "ls", "cat file", "alias | wc -l")
    results, told = run(scene, FOREIGN_RC[shell], *commands, shell=shell)
    home = scene.folder.parent / "home"
    assert [good(result) for result in results] == [
        *("hello there", f"it's {home}" if shell == "zsh" else f"it is {home}", "file", "text", "2"),
    ]
    assert told == []


@pytest.mark.parametrize(("shell", "rc"), [("zsh", "exit 3"), ("fish", "kill -9 $fish_pid")])
def test_a_configuration_of_another_shell_that_breaks_off_is_reported(scene: ToolContext, shell: str, rc: str) -> None:
    [result], told = run(scene, rc, "echo one", shell=shell)
    assert good(result) == "one"
    assert told == [f"The aliases of {shell} are not known to commands: the shell ended before it printed them."]


def test_a_completion_is_left_out(scene: ToolContext) -> None:
    [result], _ = run(scene, RC, "_completion")
    assert result.is_error and "not found" in str(result.content)


@pytest.mark.parametrize("rc", ["exit 3", "exec true", "kill -9 $$"])
def test_a_profile_that_breaks_off_is_told_and_commands_run_without(scene: ToolContext, rc: str) -> None:
    results, told = run(scene, rc, "echo one", "echo two")
    assert [good(result) for result in results] == ["one", "two"]
    assert told == [
        "The aliases and functions of ~/.bashrc are not known to commands: the shell ended before it printed them."
    ]


def test_a_profile_that_takes_too_long_is_not_waited_for(scene: ToolContext) -> None:
    [result], told = run(scene, "sleep 600 & sleep 600", "echo one", patience=0.2)
    assert good(result) == "one" and "were not read within 0.2 seconds" in told[0]


def test_whoever_has_none_needs_none(scene: ToolContext) -> None:
    [result], told = run(scene, None, "echo one")
    assert good(result) == "one" and told == []


def test_options_that_change_what_patterns_stand_for_are_left_out(
    scene: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASHOPTS", "nullglob:dotglob")
    monkeypatch.setenv("GLOBIGNORE", "x")
    rc = "shopt -s nullglob failglob nocaseglob dotglob globstar\nset -f\n"
    results, _ = run(
        scene, rc, "shopt -p nullglob failglob nocaseglob dotglob globstar; set -o | grep noglob", "echo ./no*"
    )
    assert "-s" not in good(results[0]).split() and "on" not in good(results[0]).split()
    assert good(results[1]) == "./no*"
