"""Chat: what `clew chat -p` takes, beside the real Claude Code on the same mock server in the same run.

python -m benchmarks.chat [--big 100M] [--keep DIR]

All are started as their users start them, by turns. Each has a home of its own; the server answers all alike.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpus import generate, parse_size
from benchmarks.measure import Line, Note, print_lines, transcripts
from clew.api.mock.scripts import MockScript, ScriptRule, ScriptStep
from clew.api.mock.server import running
from clew.wire.project_slug import slug
from tests.oracle import claude

ROUNDS = 10
LONG_ROUNDS = 3
CALLS = 20
SMALL = 1_000_000  # bytes of other sessions, which nothing is measured on
MEASURE = """
import json, os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
_, status, spent = os.wait4(process.pid, 0)
wall, code = time.perf_counter() - start, os.waitstatus_to_exitcode(status)
print(json.dumps([code, wall, spent.ru_utime + spent.ru_stime, spent.ru_maxrss / 1024]))
"""  # a process of its own, because a program counts at least as much memory as the process that started it
ONE, MANY, NEXT = "SAY-ONE-WORD", "READ-THEM-ALL", "AND-NOW"
DONE = "Done."


class Run(NamedTuple):
    """One process, from its start to its end."""

    wall: float
    cpu: float
    rss_mb: float


class Contender(NamedTuple):
    """A program with a home of its own."""

    name: str
    command: Sequence[str]
    home: Path

    @property
    def project(self) -> Path:
        return self.home / "project"

    def put(self, path: Path) -> None:
        """Copy a session to where the program looks for those of its project."""
        folder = self.home / ".claude" / "projects" / slug(str(self.project))
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, folder / path.name)

    def run(self, url: str, prompt: str, *more: str) -> Run:
        done = subprocess.run(
            [sys.executable, "-ISc", MEASURE, *self.command, "-p", prompt, *more],
            cwd=self.project,
            env=_environment(self.home, url),
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
        *said, measured = done.stdout.decode(errors="replace").strip().splitlines() or [""]
        code, wall, cpu, rss_mb = json.loads(measured) if done.returncode == 0 else (done.returncode, 0, 0, 0)
        if code or DONE not in "\n".join(said):
            raise RuntimeError(f"{self.name} failed: {' '.join(said)[-200:]}")
        return Run(wall, cpu, rss_mb)


def _environment(home: Path, url: str) -> dict[str, str]:
    """Nothing but what all need; what is not for the mock goes nowhere."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "SHELL": "/bin/sh",
        "IS_SANDBOX": "1",
        "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
        "ANTHROPIC_BASE_URL": url,
        "HTTP_PROXY": url,
        "HTTPS_PROXY": url,
        "NO_PROXY": "127.0.0.1,localhost",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def measure(scratch: Path, big: Path) -> Iterator[Line | Note]:
    """Start-up, what a further turn takes, memory, and the resume of a large session."""
    contenders = list(_contenders(scratch))
    if len(contenders) == 1:
        yield Note("the real Claude Code was not measured: it is not to be had here")
        return
    with running(_script()) as server:
        for each in contenders:  # so that modules are compiled and files are in memory
            each.run(server.url, ONE)
        first = _rounds(contenders, server.url, ROUNDS, ONE)
        many = _rounds(contenders, server.url, LONG_ROUNDS, MANY)
        yield from _compared(contenders, first, many)
        newest = contenders[:2]  # the older one takes minutes
        yield from _resumed(newest, server.url, big, "compacted often", most_memory=0.25)
        whole = without_compactions(big, scratch / "whole")
        yield from _resumed(newest, server.url, whole, "never compacted", most_memory=0.6)


def _contenders(scratch: Path) -> Iterator[Contender]:
    clew = str(Path(sys.executable).with_name("clew"))
    for name, command in {"clew": [clew, "chat"], **_real()}.items():
        made = Contender(name, command, (scratch / f"chat-{name}").resolve())
        (made.home / "tmp").mkdir(parents=True)
        made.project.mkdir()
        for number in range(CALLS):
            (made.project / f"{number}.txt").write_text(f"line {number}\n")
        yield made


def _real() -> dict[str, list[str]]:
    """The versions that can be had: the newest, and the last that runs on node."""
    found: dict[str, list[str]] = {}
    for version in (claude.LATEST, "2.1.29"):
        try:
            found[version] = claude.command(version)
        except claude.Unavailable as why:
            print(f"Claude Code {version}: {why}", file=sys.stderr)
    return found


def _script() -> MockScript:
    """Each reads the files of its own project, so the paths are relative."""
    calls = [ScriptStep(content=[{"tool": "Read", "input": {"file_path": f"{n}.txt"}}]) for n in range(CALLS)]
    return MockScript(
        rules=[
            ScriptRule(prompt=ONE, steps=[DONE]),
            ScriptRule(prompt=MANY, steps=[*calls, DONE]),
            ScriptRule(prompt=NEXT, steps=[DONE]),
        ],
        strict=False,  # the images of the large session are none
    )


def _rounds(contenders: Sequence[Contender], url: str, rounds: int, prompt: str, *more: str) -> list[Run]:
    """All in turns, so that a noisy neighbour disturbs them alike."""
    return _best([[each.run(url, prompt, *more) for each in contenders] for _ in range(rounds)])


def _best(rounds: Sequence[Sequence[Run]]) -> list[Run]:
    """Of each the shortest time and the largest memory."""
    return [
        Run(min(r.wall for r in column), min(r.cpu for r in column), max(r.rss_mb for r in column))
        for column in zip(*rounds, strict=True)
    ]


def _compared(contenders: Sequence[Contender], first: Sequence[Run], many: Sequence[Run]) -> Iterator[Line | Note]:
    ours, ours_many = first[0], many[0]
    turn = (ours_many.wall - ours.wall) / CALLS
    yield Line("clew chat -p, one turn: wall", ours.wall * 1000, "ms")
    yield Line("clew chat -p, each further turn: wall", turn * 1000, "ms")
    yield Line("clew chat -p: peak memory", max(ours.rss_mb, ours_many.rss_mb), "MB")
    for each, theirs, theirs_many in list(zip(contenders, first, many, strict=True))[1:]:
        start, cpu = ours.wall / theirs.wall, ours.cpu / theirs.cpu
        further = turn / ((theirs_many.wall - theirs.wall) / CALLS)
        memory = max(ours.rss_mb, ours_many.rss_mb) / max(theirs.rss_mb, theirs_many.rss_mb)
        peer = f"Claude Code {each.name}"
        yield Line(f"clew chat -p, one turn ÷ {peer}: wall", start, "×", "≤ 0.5", start <= 0.5)
        yield Line(f"clew chat -p, one turn ÷ {peer}: CPU", cpu, "×")
        yield Line(f"clew chat -p, each further turn ÷ {peer}: wall", further, "×", "≤ 0.2", further <= 0.2)
        yield Line(f"clew chat -p: peak memory ÷ {peer}", memory, "×", "≤ 0.25", memory <= 0.25)


def _resumed(
    contenders: Sequence[Contender], url: str, session: Path, kind: str, most_memory: float
) -> Iterator[Line | Note]:
    """The same file for all, each time a fresh copy."""
    what = f"resume of {session.stat().st_size / 1e6:.0f} MB, {kind}"

    def resumed(each: Contender) -> Run:
        each.put(session)
        return each.run(url, NEXT, "--resume", session.stem)

    able = []
    for each in contenders:
        try:
            resumed(each)
            able.append(each)
        except RuntimeError as why:
            yield Note(f"{what}: {why}")
    ours, *others = _best([[resumed(each) for each in able] for _ in range(LONG_ROUNDS)])
    yield Line(f"clew chat -p, {what}: wall", ours.wall, "s")
    yield Line(f"clew chat -p, {what}: peak memory", ours.rss_mb, "MB")
    for each, theirs in zip(able[1:], others, strict=True):
        wall, memory = ours.wall / theirs.wall, ours.rss_mb / theirs.rss_mb
        peer = f"Claude Code {each.name}"
        yield Line(f"clew chat -p, {what} ÷ {peer}: wall", wall, "×", "≤ 1", wall <= 1)
        yield Line(f"clew chat -p, {what} ÷ {peer}: CPU", ours.cpu / theirs.cpu, "×")
        yield Line(f"clew chat -p, {what} ÷ {peer}: memory", memory, "×", f"≤ {most_memory}", memory <= most_memory)


def without_compactions(session: Path, folder: Path) -> Path:
    """A copy of a session in which nothing was compacted: each summary follows what it summarizes."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / session.name
    above: dict[str, str] = {}
    with open(session, "rb") as lines, open(copy, "wb") as file:
        for line in lines:
            if b'"compact_boundary"' in line and (entry := json.loads(line)).get("subtype") == "compact_boundary":
                above[entry["uuid"]] = entry["logicalParentUuid"]
                continue
            line = line.replace(b'"isCompactSummary":true', b'"isCompactSummary":false')
            for boundary, parent in above.items():
                line = line.replace(f'"parentUuid":"{boundary}"'.encode(), f'"parentUuid":"{parent}"'.encode())
            file.write(line)
    return copy


def large(root: Path, size: int) -> Path:
    """A session of about this size, in a tree of its own."""
    if not (root / "projects").exists():
        print(f"Writing a session of {size / 1e6:.0f} MB …", file=sys.stderr)
        generate(root, SMALL, 1, size)
    return Path(max(transcripts(root), key=lambda p: Path(p).stat().st_size))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure clew chat beside the real Claude Code.")
    parser.add_argument("--big", type=parse_size, default=100_000_000)
    parser.add_argument("--keep", type=Path, help="keep the large session there, and use it again if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        big = large(options.keep or Path(scratch) / "claude", options.big)
        return print_lines(measure(Path(scratch), big))


if __name__ == "__main__":
    sys.exit(main())
