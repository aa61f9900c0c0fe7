"""Every shell command that clew prints: parsed by bash, and by the rules of PowerShell and cmd.exe."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import clew
from clew.demo.talk import talk
from clew.system import shell_quoting
from tests.cli.conftest import Run

NASTY = (
    "plain",
    "two words",
    'quo\'te and "double"',
    "semi;echo PWNED;$(touch PWNED)`touch PWNED`",
    "new\nline\ttab\rcr",
    "%PATH% !! !x ^caret & | < > * ? [a] {b,c} ~ #",
    "-dash",
    "--",
    "back\\slash\\",
    "ünï 日本 👩‍👧 \u202e\u200b",
    "\x1b]0;PWNED\x07\x9b31m\x7f",
    "\udcff raw byte",
)
STUBS = """set -o history; set -o histexpand
cd() { printf '%s\\0' cd "$@" END; }
claude() { printf '%s\\0' "claude" "config=$CLAUDE_CONFIG_DIR" "$@" END; }
clew() { printf '%s\\0' clew "$@" END; }
"""


def in_bash(line: str, folder: Path) -> list[list[str]]:
    """What bash makes of a line that is pasted: the words of each command; nothing else may have been run."""
    given = (STUBS + line + "\n").encode("utf-8", "surrogateescape")
    done = subprocess.run(
        ["bash", "--norc", "--noprofile", "-s"], input=given, capture_output=True, cwd=folder, timeout=30, check=False
    )
    assert not done.stderr, (line, done.stderr)
    assert not list(folder.iterdir()), f"{line!r} ran something"
    words = done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    found: list[list[str]] = [[]]
    for word in words:
        found = [*found, []] if word == "END" else [*found[:-1], [*found[-1], word]]
    return found[:-1]


def in_powershell(line: str) -> list[list[str]]:
    """The words of each statement by PowerShell's rules for bare words, single quotes, `;` and comments."""
    quotes = "'\u2018\u2019\u201a\u201b"
    statements: list[list[str]] = [[]]
    at, word = 0, None
    while at < len(line):
        letter = line[at]
        if letter in quotes:
            word, at = word or "", at + 1
            while True:
                assert at < len(line), f"a quote is not closed in {line!r}"
                if line[at] in quotes:
                    if line[at + 1 : at + 2] and line[at + 1] in quotes:
                        word, at = word + line[at + 1], at + 2
                        continue
                    break
                word, at = word + line[at], at + 1
        elif letter == "#" and word is None:
            break
        elif letter in " ;":
            statements[-1] += [word] if word is not None else []
            word = None
            if letter == ";":
                statements.append([])
        else:
            assert (letter.isprintable() and letter not in '`"|&<>(){}@,$%') or line.startswith("$env:", at), line
            if line.startswith("$env:", at):
                word, at = "$env:", at + 4
            else:
                word = (word or "") + letter
        at += 1
    statements[-1] += [word] if word is not None else []
    return statements


def in_cmd(line: str) -> list[list[str]]:
    """The words of each command by the rules of cmd.exe: percent signs expand everywhere, quotes shield the rest."""
    assert not set("%!\r\n") & set(line)
    commands: list[list[str]] = []
    for part in re.split(r" && (?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", line):
        bare = re.sub(r'"[^"]*"', "", part)
        assert not set('&|<>^()"') & set(bare), line
        commands.append([w.strip('"') for w in re.findall(r'"[^"]*"|\S+', part)])
    return commands


@pytest.mark.parametrize("word", NASTY)
def test_bash_reads_a_folder_and_an_id_back_as_they_are(word: str, tmp_path: Path) -> None:
    for folder in (f"/srv/{word}", word):
        line = shell_quoting.resume_command(word, folder, ["--fork-session"], {"CLAUDE_CONFIG_DIR": f"/x {word}"})
        assert line.isprintable()
        change, run = in_bash(line, tmp_path)
        assert change[-1] == folder and change[:-1] in (["cd"], ["cd", "--"])
        resumed = [f"--resume={word}"] if word.startswith("-") else ["-r", word]
        assert run == ["claude", f"config=/x {word}", *resumed, "--fork-session"]


@pytest.mark.parametrize("word", NASTY)
def test_a_command_of_ours_names_a_session_whatever_its_id_is(word: str, tmp_path: Path) -> None:
    line = shell_quoting.session_command("show", word, "--claude-dir", word)
    assert line.isprintable()
    words = in_bash(line, tmp_path)[0]
    assert words[:2] == ["clew", "show"] and word in words
    assert not word.startswith("-") or words[-2] == "--"


WINDOWS = (
    r"C:\Users\me\project",
    r"D:\oh-my-posh",
    r"C:\two words\it's",
    "C:\\curly \u2018q\u2019 \u201ad\u201b",
    r"C:\a & del x\$(calc)\`b\{c}\@d,e;f#g",
    r"C:\100%\%PATH%",
    r"C:\bang!\^caret",
    r"\\server\share dir\x",
    "c:/forward/slashes",
)


@pytest.mark.parametrize("folder", WINDOWS)
def test_a_session_from_windows_gets_a_line_for_powershell_and_one_for_cmd(folder: str) -> None:
    line = shell_quoting.resume_command("0123-abc", folder)
    assert line.endswith("# PowerShell")
    assert in_powershell(line) == [
        ["Set-Location", "-LiteralPath", folder, "-ErrorAction", "Stop"],
        ["claude", "-r", "0123-abc"],
    ]
    cmd = shell_quoting.cmd_resume_command("0123-abc", folder)
    if set("%!") & set(folder):
        assert cmd == ""
    else:
        change = ["pushd", folder] if folder.startswith("\\\\") else ["cd", "/d", folder]
        assert in_cmd(cmd) == [change, ["claude", "-r", "0123-abc"]]


@pytest.mark.parametrize("word", [w for w in NASTY if w.isprintable()])
def test_an_id_is_one_word_in_powershell(word: str) -> None:
    line = shell_quoting.resume_command(word, "C:\\x", variables={"CLAUDE_CONFIG_DIR": f"C:\\{word}"})
    _, _, run = in_powershell(line)
    assert run == (["claude", f"--resume={word}"] if word.startswith("-") else ["claude", "-r", word])


def test_a_windows_folder_with_control_characters_is_left_out() -> None:
    line = shell_quoting.resume_command("abc", "C:\\x\nStart-Process calc")
    assert in_powershell(line) == [["claude", "-r", "abc"]] and line.isprintable()
    assert shell_quoting.cmd_resume_command("abc", "C:\\x\nstart calc") == ""


# -- what the commands print


def _lines(text: str) -> Iterator[str]:
    """The commands in what was printed: from `cd`, `claude` or a command of ours to the end of the line."""
    for line in text.splitlines():
        found = re.search(
            r"(?:^|[: ])((?:cd [^ ]|claude -|CLAUDE_CONFIG_DIR=|clew (?:restore|show|undo|ls|recall) ).*)", line
        )
        if found:
            yield found[1]


@pytest.mark.parametrize("word", [w for w in NASTY if "\udcff" not in w])
def test_commands_print_lines_that_bash_reads_back(
    word: str, clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = f"/srv/{word}"
    made = talk(cwd=folder).user("zebracorn please").reply("done").write(claude)
    session = made.stem
    empty = tmp_path / "empty"
    empty.mkdir()
    printed = [clew("search", "zebracorn")[1], clew("resume", session, "--print")[1], clew("clone", session)[1]]
    printed += [clew("show", session)[1], clew("recall", "save", "zebracorn")[2]]
    lines = [line for text in printed for line in _lines(text)]
    folders = []
    for line in lines:
        commands = in_bash(line, empty)
        folders += [words[-1] for words in commands if words[0] == "cd"]
        assert all(words[0] in ("cd", "claude", "clew") for words in commands)
    assert folders == [folder, folder, folder] and len(lines) >= 5
    for each in ("ls", "search zebracorn", f"resume {session} --print"):
        for row in clew(*each.split(), "--json")[1].splitlines():
            line = json.loads(row).get("resume") or json.loads(row).get("command")
            assert in_bash(line, empty)[-1][0] == "claude"


# Modules that write commands into sessions, as Claude Code or another program would have.
DATA = {
    ("mock", "responses.py"),
    ("demo", "tool_results.py"),
    ("foreign", "tool_names.py"),
    ("conversation", "attachment_text.py"),
}


def test_no_other_module_writes_commands_by_hand() -> None:
    root = Path(clew.__file__).parent
    by_hand = re.compile(r'f"[^"]*(?:\bcd \{|claude -r \{|clew [a-z]+ (?:--[a-z-]+ )?\{(?!shell_quoting))')
    ours = re.compile(r"clew undo \{")  # a number that the journal gave
    for path in root.rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = by_hand.search(line)
            if path.name == "shell_quoting.py":
                continue
            is_data = (path.parent.name, path.name) in DATA
            assert not found or ours.search(line) or is_data, f"{path}:{number}: use clew.system.shell_quoting"
            assert "shlex.quote" not in line or is_data, f"{path}:{number}: use clew.system.shell_quoting.quote"
