"""Sessions with something in the background, told of, left running or killed, are resumed by the real Claude Code."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import ScriptRule
from clew.chat import events
from clew.chat.engine import Engine
from tests.chat.chat_fixture import World, use, world
from tests.chat.test_background_tasks import INNER, drive, left_running, task
from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.judge import bench

HEARD = ScriptRule(prompt="task-id", steps=["Heard."])
GO = ScriptRule(prompt="go", steps=[[task("inner work"), use("Echo", text="a")], "Outer."])


def heeded(made: World) -> bytes:
    """An agent that ends when no turn runs, and is told of; then a person's turn."""

    async def run(engine: Engine, release: asyncio.Event) -> None:
        await engine.submit("go")
        release.set()
        await engine.task_ended.wait()
        await engine.report_tasks()
        await engine.submit("more")

    drive(made, run)
    return made.path().read_bytes()


def commanded(made: World) -> bytes:
    """A command that ends while a turn runs: what is told stands between results and a reply, or behind the turn."""

    async def run(engine: Engine, release: asyncio.Event) -> None:
        await engine.submit("go")
        while not made.of(events.TaskReported):
            await engine.task_ended.wait()
            await engine.report_tasks()

    drive(made, run)
    return made.path().read_bytes()


COMMAND = use("Bash", command="echo out", description="Say out", run_in_background=True)
SCENARIOS: dict[str, tuple[list[ScriptRule], Callable[[World], bytes]]] = {
    "told when idle": ([INNER, HEARD, ScriptRule(prompt="more", steps=["More."]), GO], heeded),
    "a command": ([HEARD, ScriptRule(prompt="go", steps=[[COMMAND], [use("Echo", text="b")], "Outer."])], commanded),
    "closed": ([INNER, GO], lambda made: left_running(made)),
    "killed": ([INNER, GO], lambda made: left_running(made, is_closed=False)),
    "ended and not told": ([INNER, GO], lambda made: left_running(made, is_told=True, is_closed=False)),
}


@pytest.mark.oracle
@pytest.mark.req("R256", "R252")
@pytest.mark.parametrize(("version", "names"), [(LATEST, tuple(SCENARIOS)), ("2.1.29", ("told when idle", "killed"))])
def test_the_real_program_goes_on_beside_agents_of_clew(
    claude: Claude, version: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    judged: dict[str, Any] = {}
    with bench(claude, version) as boxes:
        for number, name in enumerate(names):
            rules, made_by = SCENARIOS[name]
            with world(tmp_path / str(number), rules=rules) as made:
                data = made_by(made)
            judged[name] = boxes.judge(data, f"00000000-0000-4000-8000-{number:012}")
        verdicts = {name: future.result() for name, future in judged.items()}
    for name, verdict in verdicts.items():
        verdict.check()
        said = str(verdict.ours.messages)  # which is what was sent: `check` compares them
        assert "'text': 'go'" in said
        assert ("<task-notification>" in said) == (name in ("told when idle", "a command")), name
    print(f"{version} goes on with {len(verdicts)} of {len(names)} sessions with something in the background")
