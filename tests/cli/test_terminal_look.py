"""What lists and tables look like on a terminal: captures with their colours. `CLEW_UPDATE_PICTURES=1` writes them."""

from __future__ import annotations

import io
import os
import re
import sys
from itertools import groupby
from pathlib import Path

import pyte
import pytest
from pyte.screens import Char

from clew.cli import main
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import DENSE, talk
from clew.system.design_tokens import DARK, LIGHT
from clew.view.sanitize import columns
from tests.cli.conftest import Run

CAPTURES = Path(__file__).parent / "captures"
COMMANDS = (
    "ls --limit 6",
    "ls projects",
    "usage --limit 4",
    "usage project",
    "usage blocks --limit 2",
    "usage waste",
    "usage weekly --plot",
    "files --limit 3",
    "trace b5d583b5",
    "lineage b5d583b5",
    "compare b5d583b5 --files",
    "show 82d8e741 --last 1",
)
AGE = re.compile(r"\{quiet:(\d+(?:m|h|d|w|mo|y)|now)(\s*)\}( *)|(?<=\{quiet:  )\d+(?:w|mo|y)(?=  )")


class Screen(io.StringIO):
    """What was printed on a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def typed(monkeypatch: pytest.MonkeyPatch, claude: Path, command: str, width: int, theme: str) -> str:
    for name, value in {"COLUMNS": str(width), "CLEW_THEME": theme, "TERM": "xterm", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    main([*command.split(), "--quiet", "--claude-dir", str(claude)])
    return screen.getvalue()


def marked(text: str, width: int, theme: str) -> str:
    """The screen as text, with the look of each run of characters in braces."""
    tokens = {value.removeprefix("#"): name for name, value in reversed((DARK if theme == "dark" else LIGHT).items())}
    screen = pyte.Screen(width, text.count("\n") * 3 + 1)
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))

    def look(char: Char) -> str:
        words = [name for name, is_on in (("bold", char.bold), ("italic", char.italics)) if is_on]
        words += [tokens[char.fg]] if char.fg != "default" else []
        return " ".join([*words, *(("on", tokens[char.bg]) if char.bg != "default" else ())])

    lines = []
    for row in range(screen.lines):
        cells = [screen.buffer[row][column] for column in range(width)]
        runs = [(name, "".join(cell.data for cell in run)) for name, run in groupby(cells, look)]
        lines.append("".join(f"{{{name}:{run}}}" if name else run for name, run in runs).rstrip())
    return "\n".join(lines).rstrip("\n") + "\n"


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_commands_look_as_captured(
    theme: str, width: int, demo: DemoSummary, claude: Path, monkeypatch: pytest.MonkeyPatch, utc: None
) -> None:
    captured = []
    for command in COMMANDS:
        shown = marked(typed(monkeypatch, claude, command, width, theme), width, theme)
        captured.append(f"{f' {command} ':=^{width}}\n{AGE.sub('{quiet:AGE}', shown)}")
    text = "\n".join(captured).replace(str(claude), "CLAUDE")
    path = CAPTURES / f"terminal-{theme}-{width}.txt"
    if os.environ.get("CLEW_UPDATE_PICTURES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_no_colours_in_a_pipe(demo: DemoSummary, clew: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLORTERM", "truecolor")
    for command in COMMANDS:
        assert "\x1b" not in clew(*command.split())[1], command


@pytest.mark.parametrize("width", [80, 60, 40])
def test_trace_stays_within_its_columns(claude: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    told = talk(step=DENSE).user("閉店時間ちょうどに何が起きるか、それから祝日は").reply("a")
    for prompt in ("क्या दुकान खुली है? " * 4, "é̂" * 60, "👩‍🔧 go " * 20, "plain words " * 20):
        told = told.rewind(to=1).user(prompt).reply("b").user(f"and {prompt}").reply("c")
    told.write(claude)
    for command in ("trace", "trace --active", "trace --ascii"):
        for line in typed(monkeypatch, claude, command, width, "dark").splitlines()[:-1]:
            assert columns(re.sub(r"\x1b\[[\d;]*m", "", line)) <= width, line


def test_models_are_shown_only_where_there_is_room(
    demo: DemoSummary, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide, narrow = (typed(monkeypatch, claude, "usage", width, "dark") for width in (120, 40))
    assert "MODELS" in wide and "opus-5, opus-5-5" in wide
    assert "MODELS" not in narrow and "───" in narrow
    assert "MODELS" not in typed(monkeypatch, claude, "usage --breakdown", 120, "dark")
