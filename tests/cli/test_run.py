"""What every command has in common: exit codes, errors, streams, and text that means harm."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from clew.cli import main
from clew.cli.commands import COMMANDS
from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import Talk, bash, edit, plan, talk, task, todo, tool
from clew.version import __version__

Run = Callable[..., tuple[int, str, str]]
CLEW = (sys.executable, "-c", "import sys; from clew.cli import main; sys.exit(main())")


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")}
    return {**kept, "TERM": "xterm-256color", "PYTHONUTF8": "1", **more}


def started(*words: str, **more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*CLEW, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**more))


# -- words that are no command


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--version"], ["-V"], ["--version", "ls"]):
        assert main(words) == 0
        assert capsys.readouterr() == (f"clew {__version__}\n", "")


def test_help_names_every_command_and_each_has_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"^    {name} +\w", out, re.MULTILINE) for name in COMMANDS)
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"usage: clew {name} ") and "--json" in out and "--claude-dir DIR" in out


@pytest.mark.parametrize(
    ("words", "says", "step"),
    [
        (
            ["serach"],
            "There is no command 'serach'. Did you mean 'search'?",
            "To search for words, write: clew search WORDS",
        ),
        (["--nope"], "unrecognized arguments: --nope", "Try: clew --help"),
        (["show", "--nope"], "unrecognized arguments: --nope", "Try: clew show --help"),
        (["show", "a", "b"], "unrecognized arguments: b", "Try: clew show --help"),
        (["ls", "stars"], "invalid choice: 'stars'", "Try: clew ls --help"),
        (["ls", "-n", "x"], "'x' is not a whole number", "Try: clew ls --help"),
        (["ls", "--since", "soon"], "'soon' is not a time: write 7d", "Try: clew ls --help"),
        (["show", "--depth", "abyss"], "invalid choice: 'abyss'", "Try: clew show --help"),
        (["show", "--last", "-1"], "'-1' is not a whole number", "Try: clew show --help"),
        (["ls", "--claude-dir"], "expected one argument", "Try: clew ls --help"),
        (["ls", "\x1b[31m\u202e"], "invalid choice", "Try: clew ls --help"),
    ],
)
def test_words_that_mean_nothing(words: list[str], says: str, step: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    sentence, next_step = err.splitlines()
    assert sentence.startswith("clew: ") and says in sentence and next_step == step
    assert "\x1b" not in err


def test_nothing_typed_lists_the_sessions(
    demo: DemoSummary, claude: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(claude))
    assert main([]) == 0
    listed = capsys.readouterr().out
    assert main(["ls"]) == 0
    assert capsys.readouterr().out == listed and "Clock drift" in listed


# -- where to look


@pytest.mark.req("R002")
def test_the_folder_by_option_by_environment_and_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("given", "set", ".claude"):
        talk(seed=name).user(f"in {name}").write(tmp_path / name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert main(["ls"]) == 0 and "in .claude" in capsys.readouterr().out
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "set"))
    assert main(["ls"]) == 0 and "in set" in capsys.readouterr().out
    assert main(["ls", "--claude-dir", str(tmp_path / "given")]) == 0 and "in given" in capsys.readouterr().out
    assert main(["ls", "--claude-dir", "~/given"]) == 0 and "in given" in capsys.readouterr().out


@pytest.mark.req("R014")
def test_a_folder_that_is_missing_or_none_is_nothing_matched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("x")
    for where in (tmp_path / "missing", tmp_path / "file"):
        for words in (["ls"], ["show"], ["show", "abc"], ["export"], ["trace"], ["check"], ["follow", "--once"]):
            assert main([*words, "--claude-dir", str(where)]) == 1
            out, err = capsys.readouterr()
            assert out == "" and 1 <= len(err.splitlines()) <= 2 and "Traceback" not in err
    assert not (tmp_path / "missing").exists()


def test_a_project_by_the_name_of_its_folder_which_begins_with_a_dash(clew: Run, demo: DemoSummary) -> None:
    assert clew("ls", "-p", "-home-ada-src-drip") == clew("ls", "--project=-home-ada-src-drip")
    assert clew("ls", "--project", "-home-ada-src-drip")[0] == 0
    assert clew("ls", "-p", "-n", "1")[0] == clew("ls", "-p", "--json")[0] == 2


# -- every command as JSON


def test_json_is_json_everywhere(clew: Run, demo: DemoSummary) -> None:
    number = demo.sessions["agents"]
    for words in (
        *(("ls", kind) for kind in ("sessions", "projects", "agents", "prompts")),
        *((name, number) for name in ("show", "trace", "check", "export")),
        ("follow", number, "--once"),
        ("repair", "--index", "--dry-run", "-p", "drip"),
    ):
        _, out, _ = clew(*words, "--json")
        found = [json.loads(line) for line in out.splitlines()]
        assert found and all(row["clew"] == 1 and row["kind"] for row in found), words


# -- text that means harm

EVIL = (
    "\x1b]52;c;ZXZpbA==\x07\x1b]0;title\x07\x1b[2J\x1b]8;;http://evil.test\x1b\\x\x9b31m\u202e\u2066\x00\x08\r\ud800E"
)


M = "harmless"  # put in by the builder, and replaced in the files


def hostile() -> Talk:
    child = talk(seed=2).user(f"go{M}").reply(f"child{M}")
    told = talk(cwd=f"/home/ada/{M}", branch=M).title(f"T{M}").ai_title(M)
    told = told.user(f"prompt{M}").reply(f"# reply{M}\n```\n{M}\n```", thinking=M, call=bash(f"ls{M}"))
    told = told.result(f"result{M}\n{M}").reply(call=edit(f"/x/{M}", "a", M)).result()
    told = told.reply(call=tool(f"Tool{M}", path=M)).result(M, error=True)
    told = told.reply(call=tool(f"mcp__{M}__{M}", **{M: M})).result(M)
    told = told.reply(call=todo([(M, M)])).result().reply(call=plan(M)).result()
    told = told.reply(call=task(M, M, M)).agent(0, child).interrupt().api_error(M, error=M)
    told = told.system("informational", content=M).command(M, M, M).compact(M, trigger=M)
    told = told.attachment("queued_command", prompt=M, commandMode="prompt").reply("ok", model=M, stop=M)
    told = told.rewind(to=1).user(f"other{M}").reply("x").pr_link(1, M).line({"type": M, M: M})
    return told.raw(f"not JSON {M}\n".encode()).user(M).reply(M)


def evil_tree(claude: Path) -> str:
    path = hostile().write(claude)
    line = {"display": f"p{M}", "project": M, "timestamp": 1, "sessionId": M}
    (claude / "history.jsonl").write_text(json.dumps(line) + "\n")
    escaped = json.dumps(EVIL)[1:-1].encode()
    for file in claude.rglob("*.json*"):
        data = file.read_bytes().replace(b'"version":"2.1.232', b'"version":"2.1.232' + M.encode())
        data = data.replace(f"JSON {M}".encode(), f"JSON {EVIL}".encode("utf-8", "surrogatepass"))
        file.write_bytes(data.replace(M.encode(), escaped))
    return path.stem


HARM = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
LOOKING: Sequence[tuple[str, ...]] = (
    *(("ls", kind) for kind in ("sessions", "projects", "agents", "prompts")),
    ("show", "ID"),
    ("show", "ID", "--full", "--meta", "--reveal"),
    ("show", "ID", "--branch", "1"),
    ("trace", "ID"),
    ("check", "ID"),
    ("check", "--all"),
    ("check", "--drift"),
    ("follow", "ID", "--once", "--results", "--thinking", "--last", "9"),
    ("show", EVIL.replace("\x00", "")),
    ("ls", "-p", EVIL.replace("\x00", "")),
)


@pytest.mark.parametrize("words", LOOKING, ids=lambda words: " ".join(w for w in words if w.isascii()))
def test_no_control_code_of_a_transcript_gets_out(clew: Run, claude: Path, words: tuple[str, ...]) -> None:
    number = evil_tree(claude)
    _, out, err = clew(*(number if word == "ID" else word for word in words))
    assert out or err
    assert not HARM.search(out), ascii(HARM.search(out))
    assert not HARM.search(err), ascii(HARM.search(err))


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


OURS = re.compile(r"\x1b\[[0-9;]*[mK]|\r")


@pytest.mark.parametrize("words", LOOKING[:-2], ids=lambda words: " ".join(words))
def test_nor_does_it_on_a_terminal(claude: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    number = evil_tree(claude)
    monkeypatch.setenv("TERM", "xterm-256color")
    out, err = Screen(), Screen()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    main([*(number if word == "ID" else word for word in words), "--claude-dir", str(claude)])
    shown = OURS.sub("", out.getvalue() + err.getvalue())
    assert shown and not HARM.search(shown), ascii(HARM.search(shown))
    assert "evil.test" not in shown and "ZXZpbA" not in shown


# -- how a command ends


class Interrupted(io.StringIO):
    def write(self, text: str) -> int:
        raise KeyboardInterrupt


def test_an_interrupt_is_130_and_says_one_word(
    clew: Run, demo: DemoSummary, claude: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", Interrupted())
    for name in ("ls", "show", "check"):
        assert main([name, "--claude-dir", str(claude)]) == 130
        assert capsys.readouterr().err == "Interrupted.\n"


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_a_real_interrupt(claude: Path) -> None:
    path = talk().user("hi").reply("ho").write(claude)
    with started("follow", path.stem, "--claude-dir", str(claude)) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"Following ")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_a_broken_pipe_is_quiet(claude: Path) -> None:
    told = talk()
    for number in range(60):
        told = told.user(f"q{number}").reply("a", call=bash("cat")).result("line\n" * 20_000)
    path = told.write(claude)
    assert path.stat().st_size > 6_000_000
    for words in (
        ("show", path.stem),
        ("show", path.stem, "--full"),
        ("export", path.stem),
        ("show", path.stem, "--json"),
    ):
        with started(*words, "--claude-dir", str(claude)) as process:
            assert process.stdout is not None and process.stderr is not None
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(60) == 0


def test_letters_that_the_terminal_does_not_have_are_replaced(claude: Path) -> None:
    path = talk().user("日本語 ❯").reply("ok").write(claude)
    more = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    with started("show", path.stem, "--claude-dir", str(claude), **more) as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"") and b"? ??? ?" in out


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty")
@pytest.mark.parametrize("words", [("ls",), ("show", "rounding"), ("show", "languages")])
def test_a_real_terminal_gets_colour_and_lines_that_fit(
    demo: DemoSummary, claude: Path, words: tuple[str, ...]
) -> None:
    import fcntl
    import pty
    import termios

    from rich.cells import cell_len

    width = 60
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, width, 0, 0))
    asked = [demo.sessions.get(word, word) for word in words]
    command = [*CLEW, *asked, "--claude-dir", str(claude)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment()) as process:
        os.close(theirs)
        shown = _all_of(ours).decode()
    os.close(ours)
    assert process.returncode == 0
    assert words == ("ls",) or "\x1b[" in shown
    kept = [OURS.sub("", line) for line in shown.split("\n") if not line.lstrip("\x1b[;0123456789m").startswith(" ")]
    assert max(map(cell_len, kept)) <= (width if words != ("ls",) else 80)


def _all_of(terminal: int) -> bytes:
    found = b""
    try:
        while chunk := os.read(terminal, 65_536):
            found += chunk
    except OSError:  # the other side has gone
        pass
    return found
