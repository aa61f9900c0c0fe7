"""Crashes: killed behind every write, cut at every byte, a disk that is full, a folder that may not be written to.

Whatever was written stays, and what is sent next breaks no rule.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from clew.api.lint import lint
from clew.api.mock.scripts import AnyStep, Fault, ScriptRule, ScriptStep
from clew.api.retry import Retry
from clew.chat.engine import Engine
from clew.chat.store.journal import write_lines
from clew.conversation.load import read, request
from clew.conversation.session import Session
from clew.errors import Refused
from clew.wire.json_codec import Json, decode, encode
from tests.chat.chat_fixture import MODEL, SESSION, World, open_engine, use, world
from tests.chat.test_resume_session import spec
from tests.oracle.verbatim import comparable

BACK = timedelta(hours=-9)
FAULTS: tuple[Literal["error", "cut", "garbage", "hang", "close"], ...] = ("error", "cut", "garbage", "hang", "close")
LAST = 3  # lines that are cut at every byte
RULES = [
    ScriptRule(prompt="inner", steps=[[use("Echo", text="inside")], "Inner."]),
    ScriptRule(
        prompt="first",
        steps=[
            [{"thinking": "Hm."}, "Look:", use("Echo", text="a"), use("Save", path="x", text="y")],
            [use("Task", description="d", prompt="inner one"), use("Task", description="d", prompt="inner two")],
            ScriptStep(content="One.", fault=Fault(status=529, times=1)),
        ],
    ),
    ScriptRule(prompt="second", steps=[[use("Nothing"), use("Save", path="x", text="z")], "Two."]),
    ScriptRule(prompt="Sum up", steps=["Summed up."]),
    ScriptRule(prompt="NEXT", steps=["Next."]),
]


def talk_it_through(made: World, write: Callable[..., None]) -> None:
    """A long scenario: thinking, parallel calls, agents, a retry, a wrong call, a compaction, a queue."""

    async def run() -> None:
        described = spec(made, session_id=SESSION, model=MODEL, title="A tale", write=write)
        async with open_engine(made, described, kinds=made_kinds()) as engine:
            await engine.submit("first")
            await engine.submit("second")
            await engine.compact()
            await engine.submit("NEXT")

    asyncio.run(run())


def made_kinds() -> Any:
    from tests.chat.chat_fixture import KINDS

    return KINDS


def in_child(work: Callable[[], None]) -> int:
    """Do something in a process of its own; how it ended."""
    child = os.fork()
    if not child:
        try:
            work()
        except SystemExit as stop:
            os._exit(int(str(stop.code or 0)))
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Killed:
    """Writes lines down, and kills its own process behind the n-th write. What was acknowledged is noted elsewhere."""

    def __init__(self, number: int, log: Path) -> None:
        self.number = number
        self.log = log

    def __call__(self, path: Path, lines: Sequence[Json], sync: bool) -> None:
        write_lines(path, lines, False)
        with self.log.open("ab") as log:
            log.writelines(encode([str(path), line]) + b"\n" for line in lines)
        self.number -= 1
        if not self.number:
            os.kill(os.getpid(), signal.SIGKILL)


def acknowledged(log: Path) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for row in log.read_bytes().splitlines():
        path, line = decode(row)
        found.setdefault(path, []).append(line)
    return found


def check_whole(made: World, log: Path) -> None:
    """Every acknowledged line is there, in its order, and the next request of the main file lints clean."""
    for path, lines in acknowledged(log).items():
        assert [decode(raw) for raw in Path(path).read_bytes().splitlines()] == lines
    check_next(made.path())


def check_next(path: Path) -> None:
    check_request(read(path))


def check_request(session: Session) -> None:
    """What would be sent next breaks no rule; only a file without a conversation may be refused."""
    made = request(session, prompt="NEXT")
    if made.refusal:
        assert not any(e.type in ("user", "assistant") for e in session.entries), made.refusal
        return
    assert [v for v in lint(made.messages) if v.is_refused] == []


def goes_on(made: World) -> None:
    """A real resume: the mock, which refuses what the API refuses, answers."""

    async def run() -> None:
        try:
            async with open_engine(made, spec(made, resume=SESSION)) as engine:
                finished = await engine.submit("NEXT")
        except Refused:
            assert not any(e.type in ("user", "assistant") for e in read(made.path()).entries)
            return
        assert finished.text == "Next.", finished

    asyncio.run(run())
    check_next(made.path())


def test_killed_behind_every_write_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    with world(tmp_path / "whole", rules=RULES) as made:
        writer = Killed(0, tmp_path / "whole.log")
        talk_it_through(made, writer)
        writes = -writer.number
        total = made.path().read_bytes().count(b"\n")
    assert writes > 40 and total > 30
    for number in range(1, writes + 1):
        with world(tmp_path / str(number), rules=RULES) as made:
            log = tmp_path / f"{number}.log"
            ended = in_child(lambda made=made, log=log, number=number: talk_it_through(made, Killed(number, log)))  # type: ignore[misc]
            assert ended == -signal.SIGKILL
            check_whole(made, log)
            goes_on(made)
            for path, lines in acknowledged(log).items():
                assert [decode(raw) for raw in Path(path).read_bytes().splitlines()][: len(lines)] == lines


def test_cut_at_every_byte_of_its_last_lines_it_is_gone_on_from(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        talk_it_through(made, write_lines)
        whole = made.path().read_bytes()
        ends = [0, *(i + 1 for i, byte in enumerate(whole) if byte == 10)]
        lines = whole.splitlines(keepends=True)
        checked = 0
        for place in chosen_places(lines):
            expected = [uuid for line in lines[:place] if (uuid := decode(line).get("uuid"))]
            for size in range(ends[place], ends[place + 1], 1 if place >= len(lines) - LAST else 7):
                session = Session(whole[:size])
                check_request(session)
                assert [e.uuid for e in session.entries if e.uuid][: len(expected)] == expected
                checked += 1
            for size in {ends[place] + 1, (ends[place] + ends[place + 1]) // 2, ends[place + 1] - 1}:
                made.path().write_bytes(whole[:size])
                goes_on(made)
                assert made.path().read_bytes().startswith(whole[:size])
        assert checked > 1_000


def chosen_places(lines: Sequence[bytes]) -> list[int]:
    """The last three lines, and one of each kind before them."""
    kinds: dict[str, int] = {}
    for place, line in enumerate(lines):
        data = decode(line)
        content = data.get("message", {}).get("content")
        block = content[0]["type"] if isinstance(content, list) else "text"
        kinds[f"{data['type']} {data.get('subtype')} {block}"] = place
    return sorted({*kinds.values(), *range(len(lines) - LAST, len(lines))})


def test_after_a_write_that_failed_the_file_says_what_was_said(tmp_path: Path) -> None:
    steps: list[AnyStep] = [["Look:", use("Echo", text="a"), use("Save", path="x", text="y")], "One."]
    for number in range(1, 12):
        with world(
            tmp_path / str(number),
            rules=[ScriptRule(prompt="go", steps=steps), ScriptRule(prompt="NEXT", steps=["Next."])],
        ) as made:
            count = 0

            def write(path: Path, lines: Sequence[Json], sync: bool, number: int = number) -> None:
                nonlocal count
                count += 1
                if count == number:
                    raise OSError(28, "No space left on device")
                write_lines(path, lines, False)

            async def drive(engine: Engine) -> str:
                with suppress(OSError):
                    await engine.submit("go")
                return (await engine.submit("NEXT")).text

            assert made.drive(drive, journal={"write": write}) == "Next."
            sent = comparable(made.sent[-1]["messages"])
            assert comparable(request(read(made.path())).messages)[: len(sent)] == sent
            check_next(made.path())


@pytest.mark.parametrize("limit", [1_500, 3_000, 6_000, 9_000])
def test_a_full_disk_ends_the_turn_and_loses_nothing(tmp_path: Path, limit: int) -> None:
    with world(tmp_path, rules=RULES) as made:

        def work() -> None:
            written = 0

            def write(path: Path, lines: Sequence[Json], sync: bool) -> None:
                nonlocal written
                write_lines(path, lines, sync)
                written += path == made.path()

            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            try:
                talk_it_through(made, write)
            except OSError:
                raise SystemExit(100 + written) from None

        acknowledged = in_child(work) - 100
        assert acknowledged > 0
        lines = made.path().read_bytes().splitlines()
        assert len(lines) in (acknowledged, acknowledged + 1)  # the last one is torn
        assert all(decode(line) for line in lines[:acknowledged])
        check_next(made.path())
        goes_on(made)


@pytest.mark.parametrize(
    "fault",
    [
        *(Fault(status=status) for status in (400, 401, 429, 500, 529)),
        *(Fault(stream=kind, after=9) for kind in FAULTS),
        Fault(status=400, message="prompt is too long: 250000 tokens > 200000 maximum"),
    ],
    ids=lambda fault: fault.stream or f"{fault.status} {fault.message}".strip(),
)
def test_behind_any_fault_of_the_api_another_process_goes_on(tmp_path: Path, fault: Fault) -> None:
    rules = [
        ScriptRule(
            prompt="go", steps=[["Look:", use("Echo", text="a")], ScriptStep(content=["Kept.", "Lost."], fault=fault)]
        ),
        ScriptRule(prompt="NEXT", steps=["Next."]),
    ]
    with world(tmp_path, rules=rules) as made:
        made.run("go", retry=Retry(tries=1, idle=2.0 if fault.stream == "hang" else 60.0))
        before = made.path().read_bytes()
        goes_on(made)
        assert made.path().read_bytes().startswith(before)
        sent = str(made.sent[-1]["messages"])
        assert "Look:" in sent and ("Kept." in sent) == bool(fault.stream)


def test_a_clock_that_goes_back_leaves_the_lines_in_their_order(tmp_path: Path) -> None:
    """In the middle of a session by hours, and before the process that resumes it by a day."""
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def told(*prompts: str, resume: str = "", hours: Sequence[int]) -> None:
        times = iter(start + timedelta(hours=hour) for hour in hours)

        async def run() -> None:
            described = spec(made, session_id="" if resume else SESSION, model=MODEL, resume=resume)
            async with open_engine(made, described, clock=lambda: next(times, start + BACK)) as engine:
                for prompt in prompts:
                    await engine.submit(prompt)

        asyncio.run(run())

    with world(tmp_path, rules=RULES) as made:
        told("first", "second", hours=(0, 1, 2, -3, 4, -20, 5))
        told("NEXT", resume=SESSION, hours=(-30, -29))
        times = [line["timestamp"] for line in made.lines() if line.get("uuid")]
        assert times == sorted(set(times))
        assert [turn.text for turn in read(made.path()).turns] == ["first", "second", "NEXT"]
        check_next(made.path())
        goes_on(made)


def test_a_folder_that_may_not_be_written_to_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        folder = made.path().parent
        folder.mkdir(parents=True)
        folder.chmod(0o500)
        for above in (tmp_path, *tmp_path.parents):
            if above.owner() == Path(tmp_path).owner() and above != Path("/"):
                above.chmod(above.stat().st_mode | 0o055)

        def work() -> None:
            if os.geteuid() == 0:
                os.setuid(65534)
            try:
                talk_it_through(made, write_lines)
            except PermissionError:
                raise SystemExit(7) from None

        made.project.mkdir(parents=True, exist_ok=True)
        assert in_child(work) == 7
        assert made.sent == [] and list(folder.iterdir()) == []


def test_the_command_says_what_is_wrong_in_a_sentence(tmp_path: Path) -> None:
    blocked = tmp_path / "claude"
    blocked.write_text("not a folder")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "clew",
            "chat",
            "-p",
            "hi",
            "--claude-dir",
            str(blocked),
            "--base-url",
            "http://127.0.0.1:9",
        ],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    assert done.returncode == 2 and done.stdout == "" and len(done.stderr.splitlines()) == 1, done.stderr
