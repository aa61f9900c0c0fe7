"""Run tests under mutations, each in a process of its own."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.mutations.registry import LOG, NOTHING, ROOT, apply

State = Literal["killed", "survived", "not reached", "crashed", "no test", "error"]
TIMEOUT = 180
SLOW = ("soak", "shared")


@dataclass(frozen=True, slots=True)
class Task:
    """Tests to run under a mutation: node ids, or with `marked` what carries the number in these files."""

    number: str
    mutation: str
    tests: Sequence[str]
    marked: bool = False
    oracle: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """`failed` are the tests that failed, `output` what pytest printed."""

    task: Task
    state: State
    seconds: float
    failed: Sequence[str] = ()
    output: str = ""

    @property
    def test(self) -> str:
        """The test that killed the mutation, without its parameters."""
        return self.failed[0].partition("[")[0] if self.failed else ""


@dataclass(slots=True, eq=False)
class Recorder:
    """A plugin of pytest: it chooses the tests and notes which ran and which failed."""

    task: Task
    ran: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if not self.task.marked:
            return
        left = SLOW if self.task.oracle else (*SLOW, "oracle")
        kept = [
            item
            for item in items
            if any(self.task.number in mark.args for mark in item.iter_markers("req"))
            and not any(item.get_closest_marker(name) for name in left)
        ]
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.ran.append(report.nodeid)
        if report.failed:
            self.failed.append(report.nodeid)


def run(tasks: Iterable[Task], jobs: int) -> Iterator[Outcome]:
    """The outcomes, in the order in which they are known."""
    waiting = list(tasks)[::-1]
    running: dict[int, tuple[Task, Path, float]] = {}
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop()
                place = Path(tempfile.mkdtemp(dir=folder))
                running[_fork(task, place)] = (task, place, time.monotonic())
            pid, status = os.wait()
            if pid in running:
                task, place, start = running.pop(pid)
                yield _outcome(task, place, os.waitstatus_to_exitcode(status), time.monotonic() - start)


def _fork(task: Task, place: Path) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 98
    try:
        code = _child(task, place)
    except BaseException:
        (place / "output").write_text(traceback.format_exc(), encoding="utf-8")
        raise
    finally:
        os._exit(code)


def _child(task: Task, place: Path) -> int:
    output = os.open(place / "output", os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(ROOT)
    os.environ[LOG] = str(place / "log")
    apply(task.mutation)
    recorder = Recorder(task)
    options = ["-q", "-n0", "-p", "no:cacheprovider", f"--timeout={TIMEOUT}", f"--basetemp={place / 'tests'}"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "--hypothesis-profile=mutation"]
    options += ["-x"] if task.mutation != NOTHING else []
    code = int(pytest.main([*options, *task.tests], plugins=[recorder]))
    (place / "result").write_text(json.dumps({"ran": recorder.ran, "failed": recorder.failed}), encoding="utf-8")
    return code


def _outcome(task: Task, place: Path, code: int, seconds: float) -> Outcome:
    output = (place / "output").read_text(encoding="utf-8", errors="replace")
    if code not in (0, 1) or not (place / "result").exists():
        state: State = "no test" if code in (4, 5) else "error"
        return Outcome(task, state, seconds, output=output)
    result: dict[str, Any] = json.loads((place / "result").read_text(encoding="utf-8"))
    log = (place / "log").read_text(encoding="utf-8") if (place / "log").exists() else ""
    if "crashed " in log:
        return Outcome(task, "crashed", seconds, output=log)
    if not result["ran"] and not result["failed"]:
        return Outcome(task, "no test", seconds, output=output)
    if not result["failed"]:
        return Outcome(task, "survived" if log else "not reached", seconds, output=output)
    state = "killed" if log or task.mutation == NOTHING else "not reached"
    return Outcome(task, state, seconds, result["failed"], output)


def as_json(outcome: Outcome) -> str:
    return json.dumps(asdict(outcome))
