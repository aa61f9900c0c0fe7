"""Replays: what clew wrote comes out again to the byte, and what others wrote says the same."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clew.api.failure import Retry
from clew.api.script import Fault, Rule, Step
from clew.chat import event
from clew.chat.engine import Engine
from clew.chat.hook import HookOutcome
from clew.chat.likeness import Likeness, compare
from clew.chat.recorded import cassette
from clew.chat.replay import Played, play
from clew.chat.tool import Json
from clew.conversation.session import Session
from tests.chat.world import World, limited, use, waiting, world


def replayed(session: Session, **more: Any) -> tuple[Likeness, Played]:
    recorded = cassette(session)
    made = asyncio.run(play(recorded, **more))
    return compare(session, recorded, made), made


def is_the_same(made: World) -> None:
    """Every byte comes out again."""
    found, played = replayed(made.session())
    assert found.rest == {}
    assert (found.same, found.moved, played.unplayed) == (found.total, 0, 0)
    assert found.identical


TALKS: dict[str, list[Any]] = {
    "text": ["Hello."],
    "thinking and parallel calls": [
        [{"thinking": "Hm."}, "Look:", use("Echo", text="a"), use("Echo", text="b"), use("Save", path="x", text="y")],
        "Done.",
    ],
    "redacted": [[{"redacted": "xyz"}, "Well."]],
    "calls that fail": [[use("Echo"), use("Nothing", a=1)], "Done."],
    "cut short": [Step(content="Half", stop_reason="max_tokens"), "whole."],
    "paused": [Step(content="Hm", stop_reason="pause_turn"), "Done."],
    "refused": [Step(content="No.", stop_reason="refusal")],
    "nothing": [[], "Well."],
    "odd stop": [Step(content="Hm", stop_reason="novel")],
    "agents": [
        [use("Task", description="d", prompt="sub one"), use("Task", description="e", prompt="sub two")],
        "Done.",
    ],
    "the same call again and again": [*([use("Echo", text="a")] for _ in range(7)), "Done."],
    "usage": [Step(content=["a", "b"], usage={"output_tokens": 0, "strange": {"deep": [1, 2]}, "service_tier": None})],
}


@pytest.mark.parametrize("entrypoint", ["cli", "sdk-cli"])
@pytest.mark.parametrize("name", TALKS)
def test_what_clew_wrote_comes_out_to_the_byte(tmp_path: Path, name: str, entrypoint: str) -> None:
    rules = [
        Rule(
            prompt="sub one", steps=[[{"thinking": "?"}, use("Echo", text="in"), use("Save", path="z", text="1")], "1"]
        ),
        Rule(prompt="sub two", steps=[[use("Task", description="f", prompt="sub three")], "2"]),
        Rule(prompt="sub three", steps=["3"]),
        Rule(prompt="go", steps=TALKS[name]),
        Rule(prompt="again", steps=["Again."]),
    ]
    with world(tmp_path, rules=rules) as made:
        made.run("go", "again", entrypoint=entrypoint)
    is_the_same(made)


def test_breaking_off_in_a_stream(tmp_path: Path) -> None:
    rules = [
        Rule(prompt="again", steps=["Again."]),
        Rule(prompt="go", steps=[Step(content=["a", use("Echo", text="b"), "c"], fault=Fault(stream="hang", after=9))]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> None:
            going = asyncio.create_task(engine.submit("go"))
            while not made.of(event.Said):
                await asyncio.sleep(0.01)
            engine.interrupt()
            await going
            await engine.submit("again")

        made.drive(drive)
    assert "interrupted" in made.kinds()
    is_the_same(made)


def test_breaking_off_before_a_word(tmp_path: Path) -> None:
    with world(tmp_path, Step(content="a", fault=Fault(stream="hang", after=1))) as made:

        async def drive(engine: Engine) -> None:
            going = asyncio.create_task(engine.submit("go"))
            while not made.server.rows:  # it was asked, and keeps silent
                await asyncio.sleep(0.01)
            engine.interrupt()
            await going

        made.drive(drive)
    assert made.kinds()[1:] == ["user", "interrupted", "turn_duration", "last-prompt"]
    is_the_same(made)


def test_breaking_off_in_a_tool(tmp_path: Path) -> None:
    release, begun = asyncio.Event(), asyncio.Event()
    with world(tmp_path, [use("Wait"), use("Wait")], "Done.") as made:

        async def drive(engine: Engine) -> None:
            going = asyncio.create_task(engine.submit("go"))
            await begun.wait()
            engine.interrupt()
            await going

        made.drive(drive, tools=(waiting(release, begun),))
    assert made.kinds().count("result") == 2
    is_the_same(made)


def test_what_is_said_meanwhile(tmp_path: Path) -> None:
    release, begun = asyncio.Event(), asyncio.Event()
    rules = [Rule(prompt="wait", steps=["Now."]), Rule(prompt="go", steps=[[use("Wait")], "Done."])]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> None:
            going = asyncio.create_task(engine.submit("go"))
            await begun.wait()
            engine.queue("wait")
            release.set()
            await going

        made.drive(drive, tools=(waiting(release, begun),))
    assert "enqueue" in made.kinds()
    is_the_same(made)


def test_compactions(tmp_path: Path) -> None:
    rules = [
        Rule(prompt="Sum up", steps=["What was said."], tools=False),
        Rule(prompt="What was said", steps=["Done."]),
        Rule(prompt="go", steps=[Step(content=[use("Echo", text="a")], usage={"input_tokens": 190_000}), "Done."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> None:
            await engine.submit("go")
            await engine.run_compact("be short")
            engine.rename("A title")
            await engine.submit("again")

        made.drive(drive)
    assert made.kinds().count("compact_boundary") == 2
    is_the_same(made)


@pytest.mark.parametrize(
    "fault",
    [Fault(status=529, times=2), Fault(status=429, retry_after=1, times=1), Fault(status=400), Fault(status=401)],
    ids=lambda f: str(f.status),
)
def test_failures_of_the_api(tmp_path: Path, fault: Fault) -> None:
    with world(tmp_path, Step(content="Hello.", fault=fault)) as made:
        made.run("go", "again", retry=Retry(tries=3))
    is_the_same(made)


def test_a_connection_that_broke_off(tmp_path: Path) -> None:
    with world(tmp_path, Step(content=["a", "b"], fault=Fault(stream="cut", after=7, times=1)), "Done.") as made:
        made.run("go")
    is_the_same(made)


def test_hooks(tmp_path: Path) -> None:
    class Hooks:
        stops = 0

        async def run(self, event: str, payload: Json) -> HookOutcome:
            if event == "Stop" and not self.stops:
                self.stops += 1
                return HookOutcome(block=True, reason="not yet")
            return HookOutcome(context=("mind this",) if event in ("UserPromptSubmit", "PostToolUse") else ())

    with world(tmp_path, [use("Echo", text="a")], "Done.", "Really.") as made:
        made.run("go", change=lambda means: replace(means, hooks=Hooks()))
    assert made.kinds().count("note") == 3
    is_the_same(made)


def test_a_limit_of_turns(tmp_path: Path) -> None:
    with world(tmp_path, [use("Echo", text="a")], [use("Echo", text="b")], "Done.") as made:
        made.run("go", change=limited(turns=2))
    is_the_same(made)
