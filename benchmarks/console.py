"""The console: from its start until it can be typed into, beside an interpreter that does nothing.

python -m benchmarks.console
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.measure import Line, Note, print_lines
from clew.api.mock.server import running

ROUNDS = 9
PROMPT = b"Ask for something"
LONGEST = 60.0  # seconds
MOST = 33  # times an interpreter that does nothing: 400 ms where that takes 12


def measure(scratch: Path) -> Iterator[Line | Note]:
    """The shortest of some rounds, by turns with the interpreter."""
    home = (scratch / "console").resolve()
    (home / "project").mkdir(parents=True)
    with running() as server:
        environment = _environment(home, server.url)
        _first_prompt(home, environment)  # so that modules are compiled
        rounds = [(_nothing(environment), _first_prompt(home, environment)) for _ in range(ROUNDS)]
    nothing, prompt = (min(cpu for cpu, _ in column) for column in zip(*rounds, strict=True))
    ratio = prompt / nothing
    yield Line("clew chat until its first prompt: wall", min(wall for _, (_, wall) in rounds) * 1000, "ms")
    yield Line("clew chat until its first prompt ÷ python -c pass: CPU", ratio, "×", f"≤ {MOST}", ratio <= MOST)


def _environment(home: Path, url: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
        "ANTHROPIC_BASE_URL": url,
    }


def _nothing(environment: Mapping[str, str]) -> tuple[float, float]:
    """The CPU seconds of an interpreter that does nothing, and those that it took."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", "pass"], env=environment)
    return _ended(process), time.perf_counter() - start


def _ended(process: subprocess.Popen[bytes]) -> float:
    """Wait for the end of a process: its CPU seconds."""
    _, status, spent = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return spent.ru_utime + spent.ru_stime


def _first_prompt(home: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """The CPU seconds until the prompt is on a terminal of our own, and those that it took."""
    master, slave = os.openpty()
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    start = time.perf_counter()
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("clew")), "chat"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=home / "project",
        env=environment,
        start_new_session=True,
    )
    os.close(slave)
    try:
        seen = b""
        while PROMPT not in seen:
            if time.perf_counter() - start > LONGEST:
                raise RuntimeError("the console showed no prompt")
            seen += os.read(master, 1 << 16)
        wall = time.perf_counter() - start
    finally:
        process.kill()
        cpu = _ended(process)
        os.close(master)
    return cpu, wall


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        return print_lines(measure(Path(scratch)))


if __name__ == "__main__":
    sys.exit(main())
