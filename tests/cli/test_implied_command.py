"""`clew` without a command: the browser, a list or a search."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clew.cli import main
from clew.cli.implied_command import add_command
from clew.demo.demo_tree import DemoSummary
from clew.errors import ClewError
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)


def test_words_are_searched_where_there_is_no_terminal(clew: Run, demo: DemoSummary) -> None:
    assert clew("rounding", "cent", "-n", "1") == clew("search", "rounding", "cent", "-n", "1")
    assert clew("two words") == clew("search", "two words")


def test_a_folder_before_the_words(claude: Path, demo: DemoSummary, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in (["--claude-dir", str(claude)], [f"--claude-dir={claude}"]):
        assert main([*folder, "rounding", "cent"]) == 0
        assert "a9223290" in capsys.readouterr().out
        assert main(folder) == 0
        assert "Clock drift" in capsys.readouterr().out
        assert main([*folder, "ls", "projects"]) == 0
        assert "bakery-orders" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("serach", "search"), ("exprot", "export"), ("Search", "search"), ("lst", "ls"), ("resumes", "resume")],
)
def test_a_mistyped_command_is_not_searched(clew: Run, demo: DemoSummary, typed: str, meant: str) -> None:
    for words in ([typed], [typed, "rounding"]):
        code, out, err = clew(*words)
        assert (code, out) == (2, "")
        assert err.splitlines()[0] == f"clew: There is no command '{typed}'. Did you mean '{meant}'?"
        assert "clew search" in err


@pytest.mark.usefixtures("terminal")
def test_a_terminal_opens_the_browser() -> None:
    pytest.importorskip("textual")
    assert add_command([]) == ["browse"]
    assert add_command(["retry", "backoff"]) == ["browse", "retry", "backoff"]
    assert add_command(["--claude-dir", "x", "retry"]) == ["browse", "retry", "--claude-dir", "x"]
    assert add_command(["retry", "--json"]) == ["search", "retry", "--json"]
    assert add_command(["--version"]) == ["--version"]
    with pytest.raises(ClewError, match="Did you mean 'usage'"):
        add_command(["usgae"])


def test_the_browser_needs_a_terminal_and_a_folder(clew: Run, demo: DemoSummary) -> None:
    code, out, err = clew("browse", "two words")
    assert (code, out) == (2, "") and "needs a terminal" in err and "clew search 'two words'" in err
    assert main(["browse", "--claude-dir", "/nonexistent"]) == 2


def test_flags_after_two_dashes_are_for_claude(clew: Run, demo: DemoSummary, claude: Path) -> None:
    words = ("resume", "a9223290", "--print", "--claude-dir", str(claude), "--")
    code, out, _ = _typed(clew, *words, "--model", "opus", "and a prompt")
    assert code == 0 and out.endswith("claude -r a9223290-72ca-4b56-b2a3-81665bebbfd1 --model opus 'and a prompt'\n")
    assert _typed(clew, *words)[1].endswith("81665bebbfd1\n")
    code, out, _ = _typed(clew, "resume", "--claude-dir", str(claude), "--", "--model", "opus")
    assert (code, out) == (2, "")


def _typed(clew: Run, *words: str) -> tuple[int, str, str]:
    """Run a command whose folder is named before `--`; the fixture adds it again, as a flag for claude."""
    code, out, err = clew(*words)
    return code, out.replace(f" --claude-dir {words[words.index('--claude-dir') + 1]}\n", "\n"), err
