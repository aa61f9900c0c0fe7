"""A terminal for the tests: the console runs behind a real one, and what it would show is read off a screen."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyte

from clew.api.mock.scripts import MockScript, ScriptRule
from clew.api.mock.server import MockServer, running
from clew.conversation.load import read
from clew.conversation.session import Session
from clew.wire.json_codec import decode

PATIENCE = 60.0  # seconds until a test gives up
MODEL = "claude-sonnet-4-5"
ESC, ENTER, TAB, UP, DOWN, SHIFT_TAB = "\x1b", "\r", "\t", "\x1b[A", "\x1b[B", "\x1b[Z"
CTRL_B, CTRL_C, CTRL_D, CTRL_R = "\x02", "\x03", "\x04", "\x12"
CAPTURES = Path(__file__).parent / "captures"
SETTLED = 0.8  # seconds without a change
PROMPT = "Ask for something"


@dataclass
class World:
    """A project, a folder of Claude Code, and a model that follows a script."""

    root: Path
    server: MockServer
    more: Mapping[str, str] = field(default_factory=dict)
    program: tuple[str, ...] = (sys.executable, "-m", "clew")

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def claude(self) -> Path:
        return self.root / "claude"

    @property
    def environment(self) -> dict[str, str]:
        left_out = ("ANTHROPIC_", "CLAUDE_", "NO_COLOR", "COLORTERM", "XDG_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        return kept | {
            "HOME": str(self.root),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "XDG_DATA_HOME": str(self.root / "data"),
            "XDG_STATE_HOME": str(self.root / "state"),
            "XDG_CACHE_HOME": str(self.root / "cache"),
            "ANTHROPIC_BASE_URL": self.server.url,
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **self.more,
        }

    @contextmanager
    def trusted(self) -> Iterator[None]:
        """Let the user trust the project."""
        (self.project / ".claude").mkdir(exist_ok=True)
        (self.project / ".claude" / "settings.json").write_text('{"permissions": {"allow": ["Bash(git log:*)"]}}')
        command = [*self.program, "trust"]
        subprocess.run(command, cwd=self.project, env=self.environment, check=True, capture_output=True)
        yield

    @property
    def session(self) -> Session:
        """The session that was written to last."""
        files = sorted(self.claude.glob("projects/*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return read(files[-1])

    @property
    def lines(self) -> list[dict[str, Any]]:
        assert self.session.path is not None
        return [decode(line) for line in self.session.path.read_bytes().splitlines()]

    @property
    def sent(self) -> list[dict[str, Any]]:
        """The bodies of the requests."""
        return [row["body"] for row in self.server.rows if row["path"] == "/v1/messages"]

    @contextmanager
    def console(self, *words: str, columns: int = 100, rows: int = 30) -> Iterator[Console]:
        made = Console(self, words, columns, rows)
        try:
            yield made
        finally:
            made.end()


class Console:
    """`clew chat` behind a terminal."""

    def __init__(self, world: World, words: tuple[str, ...], columns: int, rows: int) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=100_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)
        self.bytes = b""
        self._master, slave = os.openpty()
        self._resize(columns, rows)
        command = [*world.program, "chat", "--model", MODEL, "--durability", "off", *words]
        self._process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=world.project,
            env=world.environment,
            start_new_session=True,
        )
        os.close(slave)

    # -- what is seen

    @property
    def picture(self) -> pyte.Screen:
        return self._screen

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    @property
    def everything(self) -> str:
        """The scrollback and the screen."""
        above = ["".join(line[x].data for x in range(self._screen.columns)) for line in self._screen.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self._screen.display])

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        limit = time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > limit:
                raise AssertionError(f"never came: {what}\n{self.screen}")
            if not self.hear(0.5) and not is_so():
                raise AssertionError(f"the console ended without: {what}\n{self.everything}")

    def see(self, *texts: str) -> None:
        """Wait until all of these are on the screen."""
        self.until(lambda: all(text in self.screen for text in texts), f"{texts}")

    def miss(self, text: str) -> None:
        """Wait until this is on the screen no more."""
        self.until(lambda: text not in self.screen, f"the end of {text!r}")

    def idle(self) -> None:
        """Wait until the prompt is empty and nothing runs."""
        self.until(
            lambda: PROMPT in self.screen and "esc to interrupt" not in self.screen and "context" in self.screen,
            "an idle prompt",
        )

    # -- what is typed

    def type(self, *keys: str) -> None:
        for key in keys:
            os.write(self._master, key.encode())

    def say(self, text: str) -> None:
        """Type a prompt and send it, once it stands there."""
        self.type(text)
        self.until(lambda: text[-20:] in self.screen, f"the prompt {text!r}")
        self.type(ENTER)

    def answer(self, number: int) -> None:
        """Answer a question by number, once it takes keys."""
        self.ready()
        self.type(str(number))
        self.see(f"❯ {number}. ")
        self.type(ENTER)

    def ready(self) -> None:
        """Wait until a question takes keys."""
        self.see("then enter")

    def resize(self, columns: int, rows: int) -> None:
        self._screen.resize(rows, columns)
        self._resize(columns, rows)
        os.kill(self._process.pid, signal.SIGWINCH)

    def _resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # -- its end

    def leave(self) -> int:
        """Leave by Ctrl-D at an empty prompt; the exit code."""
        self.type(CTRL_D)
        return self.ended()

    def ended(self) -> int:
        limit = time.monotonic() + PATIENCE
        while self.hear(0.5):
            assert time.monotonic() < limit, f"it does not end\n{self.screen}"
        return self._process.wait(PATIENCE)

    def end(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._master)

    def hear(self, seconds: float) -> bool:
        """Take what has come; whether more can come."""
        if not select.select([self._master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # the other side is closed
            return False
        self.bytes += data
        self._stream.feed(data)
        return bool(data)


@contextmanager
def world(
    folder: Path, rules: list[ScriptRule], more: Mapping[str, str] | None = None, **script: Any
) -> Iterator[World]:
    with running(MockScript(rules=rules, **script), keeps_bodies=True) as server:
        made = World(folder.resolve(), server, more or {})
        made.project.mkdir()
        yield made


def captured(console: Console, name: str) -> None:
    """Compare the screen with the capture that is kept. `CLEW_UPDATE_PICTURES=1` writes the captures again."""
    path = CAPTURES / f"{name}-{console.picture.columns}.txt"
    if os.environ.get("CLEW_UPDATE_PICTURES"):
        path.write_text(_settled(console), encoding="utf-8")
    expected = path.read_text(encoding="utf-8")
    try:
        console.until(lambda: _comparable(console.screen) == expected, f"the capture {name}")
    except AssertionError:
        assert _comparable(console.screen) == expected  # shows the difference
        raise


def _settled(console: Console) -> str:
    """Return the screen once it has stayed the same for a moment."""
    shown, since = "", time.monotonic()
    while time.monotonic() - since < SETTLED:
        console.hear(0.1)
        if (now := _comparable(console.screen)) != shown:
            shown, since = now, time.monotonic()
    return shown


def _comparable(screen: str) -> str:
    """Return a screen without what differs from run to run: times, prices, tokens, folders and the spinner."""
    shown = re.sub(r"\d+\.\d+%|\d+s\b", "N", re.sub(r"\$\d+\.\d+", "$N", screen.rstrip()))
    shown = re.sub(r"[0-9.]+k?( of [0-9.]+[kM]? tokens)", r"N\1", re.sub(r": [0-9.]+k? \(", ": N (", shown))
    shown = "\n".join(line.rstrip() for line in re.sub(r"(/[\w.-]+)+/project", "PROJECT", shown).splitlines()) + "\n"
    return re.sub(r"^[·✢✳✶✻✽] (?=\w+… )", "* ", shown, flags=re.MULTILINE)


def use(tool: str, **given: Any) -> dict[str, Any]:
    return {"tool": tool, "input": given}
