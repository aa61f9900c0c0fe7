"""`clew help` and `clew completion`, in the shells that complete."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clew.cli import main
from clew.cli.commands import COMMANDS
from clew.cli.help.complete_words import FILES, FOLDERS, find_candidates
from clew.cli.help.completion import SCRIPTS
from clew.cli.help.man_page import build_man_page
from clew.demo.demo_tree import DemoSummary
from tests.cli.conftest import Run
from tests.generate_docs import DOCS


def test_help_is_the_help_of_clew_or_of_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    for typed, same in ((["help"], ["--help"]), (["help", "show"], ["show", "--help"])):
        assert main(typed) == main(same) == 0
        out = capsys.readouterr().out
        assert out[: len(out) // 2] == out[len(out) // 2 :] and "usage: clew" in out


def test_help_suggests_a_command_for_a_mistyped_one(clew: Run) -> None:
    assert clew("help", "serach") == (1, "", "clew: No command matches 'serach'.\nDid you mean search?\n")
    assert clew("help", "xyzzy")[2].endswith("List the commands with: clew help\n")


def test_the_manual_page_describes_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "--man"]) == 0
    page = capsys.readouterr().out
    assert page == build_man_page() == (DOCS / "clew.1").read_text(encoding="utf-8"), "run: make docs"
    assert page.isascii() and set(COMMANDS) <= set(re.findall(r'^\.SS "clew (\w+)', page, re.MULTILINE))
    if groff := shutil.which("groff"):
        done = subprocess.run([groff, "-man", "-Tutf8", "-ww"], input=page.encode(), capture_output=True, check=True)
        assert done.stderr == b"" and "--claude-dir DIR" in re.sub(".\b", "", done.stdout.decode())


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (["sho"], ["show"]),
        (["--v"], ["--version"]),
        (["ls", "pro"], ["projects", "prompts"]),
        (["ls", "--sin"], ["--since"]),
        (["show", "--depth", "r"], ["replies"]),
        (["show", "--depth=f"], ["--depth=full"]),
        (["show", "--depth", "=", "f"], ["full"]),
        (["show", "a9"], ["a9223290"]),
        (["show", "A9223290-"], ["a9223290-72ca-4b56-b2a3-81665bebbfd1"]),
        (["show", "--depth", "full", "a9"], ["a9223290"]),
        (["merge", "a922", "5c6"], ["5c66d2a2"]),
        (["resume", "82d8"], ["82d8e741"]),
        (["ls", "--project", "dr"], ["drip"]),
        (["ls", "-p", "Chess"], ["ChessClock"]),
        (["help", "re"], ["replay", "recall", "redact", "repair", "rewind", "retitle", "restore", "resume"]),
        (["completion", "f"], ["fish"]),
        (["ls", "--project", "--limit"], []),
        (["show", "a922", "b"], []),
        (["rounding", "c"], []),
        (["drop", "a922", "--turn", "1", "--dry"], ["--dry-run"]),
        (["resume", "a922", "--", "--mo"], []),
    ],
)
def test_words_are_completed_from_the_parser_and_the_sessions(
    typed: list[str], found: list[str], demo: DemoSummary, claude: Path
) -> None:
    candidates = [word for word, _ in find_candidates(typed, str(claude))]
    assert candidates == found or (not found and candidates in ([], [":files"], [":folders"]))


def test_the_folder_before_the_command_counts_for_completion(demo: DemoSummary, claude: Path) -> None:
    assert find_candidates(["--claude-dir", str(claude), "show", "a9"])[0][0] == "a9223290"
    assert find_candidates([f"--claude-dir={claude}", "show", "a9"])[0][0] == "a9223290"
    assert find_candidates(["--claude-dir", ""]) == find_candidates(["ls", "--claude-dir", ""]) == FOLDERS
    assert find_candidates(["unpack", ""]) == find_candidates(["show", "./"], str(claude)) == FILES


def test_the_title_of_a_session_is_its_description(demo: DemoSummary, claude: Path) -> None:
    assert find_candidates(["show", "a9"], str(claude)) == [
        ("a9223290", "Fix one-cent rounding difference in order totals")
    ]


def test_completion_asks_for_the_shell(clew: Run) -> None:
    code, out, err = clew("completion")
    assert (code, out) == (2, "") and "bash, zsh or fish" in err


# -- the shells themselves


@pytest.fixture
def place(demo: DemoSummary, claude: Path, tmp_path: Path) -> dict[str, str]:
    for shell, script in SCRIPTS.items():
        (tmp_path / f"clew.{shell}").write_text(script)
    (tmp_path / "notes.zip").write_text("")
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "CLAUDE_CONFIG_DIR": str(claude),
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
        "PS1": "ready> ",
    }


def press_tab(shell: list[str], setup: str, typed: str, place: dict[str, str]) -> str:
    """Type into an interactive shell, press Tab, and return the screen after `typed`."""
    process, terminal = pty.fork()
    if process == 0:  # pragma: no cover - this is the child, which becomes the shell
        os.chdir(place["HOME"])
        os.execvpe(shell[0], shell, place)
    try:
        os.write(terminal, f"{setup}; echo se''t\n".encode())
        _read_until(terminal, r"\nset\n(.*\n)*.*ready> ")
        os.write(terminal, f"{typed}\t".encode())
        return _read_until(terminal, rf"{typed}\S+").rpartition(typed)[2]
    finally:
        os.close(terminal)
        os.waitpid(process, 0)


def _read_until(terminal: int, expected: str, seconds: float = 20) -> str:
    """Read until what `expected` describes has arrived. Escape sequences are left out."""
    data, text, until = b"", "", time.monotonic() + seconds
    while not re.search(expected, text) and time.monotonic() < until:
        if select.select([terminal], [], [], 0.5)[0]:
            data += os.read(terminal, 65536)
            text = re.sub(r"\x1b(\[[?\d;]*\w|[=>])|\r|\a", "", data.decode("utf-8", "replace"))
    return text


def test_bash_completes_options_choices_sessions_and_files(place: dict[str, str], tmp_path: Path) -> None:
    bash = shutil.which("bash") or "bash"
    cases = ("ls --sin", "show --depth=re", "show a9", "unpack no", "ls -p ba", "sho")
    script = f'source {tmp_path}/clew.bash\nfor line in "${{cases[@]}}"; do\n'
    script += "COMP_WORDS=(clew ${line//=/ = }); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
    script += '_clew; echo "${COMPREPLY[*]}"\ndone\n'
    listed = " ".join(f"'{case}'" for case in cases)
    done = subprocess.run([bash, "-c", f"cases=({listed})\n{script}"], env=place, cwd=tmp_path, capture_output=True,
                          text=True, check=True)  # fmt: skip
    assert done.stdout.splitlines() == ["--since", "replies", "a9223290", "", "bakery-orders", "show"]
    assert press_tab([bash, "--norc", "-i"], f"source {tmp_path}/clew.bash", "clew unpack no", place).startswith(
        "tes.zip "
    )


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("CLEW_SOAK") != "1", reason="needs other shells: set CLEW_SOAK=1")
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_zsh_and_fish_complete_options_choices_sessions_and_files(
    shell: str, place: dict[str, str], tmp_path: Path
) -> None:
    program = shutil.which(shell)
    assert program, f"scripts/prepare-tests installs {shell}"
    wanted = {
        "clew ls --sin": "ce",
        "clew show --depth=re": "plies",
        "clew show a9": "223290",
        "clew unpack no": "tes.zip",
    }
    for typed, rest in wanted.items():
        if shell == "fish":
            asked = f"source {tmp_path}/clew.fish; complete -C '{typed}'"
            done = subprocess.run([program, "--no-config", "-c", asked], env=place, cwd=tmp_path, capture_output=True,
                                  text=True, check=True)  # fmt: skip
            assert done.stdout.split("\t")[0].strip() == typed.split()[-1] + rest
        else:
            setup = f"PS1='ready> '; autoload -Uz compinit; compinit -D; source {tmp_path}/clew.zsh"
            assert press_tab([program, "-f", "-i"], setup, typed, place).startswith(rest), typed
