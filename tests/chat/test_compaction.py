"""Compaction: when it happens, what it leaves in the file, and what is sent from then on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.api.token_estimate import estimate_tokens
from clew.chat import events
from clew.chat.engine import Engine
from clew.chat.turn.compaction import LEFT_OUT, OPENING, threshold
from clew.conversation.load import read, request
from tests.chat.chat_fixture import ECHO, World, counts, sound, use, waiting, world
from tests.oracle.verbatim import comparable

SUMMARY = ScriptRule(prompt="Sum up this conversation", steps=["All that was said."])

NEXT = estimate_tokens([{"role": "user", "content": [{"type": "text", "text": "next one"}]}])


def filled(size: int) -> ScriptStep:
    return ScriptStep(content="Long.", usage={"input_tokens": size - 1, "output_tokens": 1})


@pytest.mark.req("R255", "R269")
@pytest.mark.parametrize(("size", "compacts"), [(166_999 - NEXT, False), (167_000 - NEXT, True)])
def test_the_threshold_is_that_of_the_original(tmp_path: Path, size: int, compacts: bool) -> None:
    rules = [SUMMARY, ScriptRule(prompt="first", steps=[filled(size)]), ScriptRule(prompt="next", steps=["Short."])]
    with world(tmp_path, rules=rules) as made:
        done = made.run("first", "next one")
    assert done.text == "Short." and bool(made.of(events.ConversationCompacted)) is compacts
    assert threshold(200_000) == 167_000 and threshold(1_000_000) == 967_000
    if compacts:
        check_boundary(made, "auto", size)
    assert counts(done.usage) == made.charged


def check_boundary(made: World, trigger: str, size: int) -> None:
    lines = made.lines()
    kinds = made.kinds()
    at = kinds.index("compact_boundary")
    assert kinds[at : at + 4] == ["compact_boundary", "summary-entry", "summary", "last-prompt"]
    boundary, summary, title, pin = lines[at : at + 4]
    assert pin["leafUuid"] == summary["uuid"] and pin["lastPrompt"] == "first"
    assert boundary["parentUuid"] is None
    assert boundary["logicalParentUuid"] == [line["uuid"] for line in lines[:at] if "uuid" in line][-1]
    assert boundary["compactMetadata"]["trigger"] == trigger
    assert boundary["compactMetadata"]["preTokens"] == size
    assert summary["parentUuid"] == boundary["uuid"] and summary["isVisibleInTranscriptOnly"]
    assert summary["message"]["content"].startswith(OPENING) and "All that was said." in summary["message"]["content"]
    assert title["leafUuid"] == summary["uuid"] and title["summary"] == "All that was said."
    sent = made.sent[-1]["messages"]
    assert sent[0]["content"][0]["text"].startswith(OPENING) and len(sent) == 1
    assert comparable(sound(made.path()))[: len(sent)] == comparable(sent)


def test_by_hand_with_a_preview_and_a_wish(tmp_path: Path) -> None:
    rules = [SUMMARY, ScriptRule(prompt="first", steps=["One."]), ScriptRule(prompt="next", steps=["Two."])]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> None:
            await engine.submit("first")
            assert await engine.preview("the numbers") == "All that was said."
            assert not made.of(events.ConversationCompacted) and "compact_boundary" not in made.kinds()
            assert await engine.compact(summary="All that was said. By me.")
            await engine.submit("next")

        made.drive(drive)
    assert "Heed this wish above all: the numbers" in str(made.sent[1]["messages"])
    assert "By me." in str(made.sent[-1]["messages"])
    sound(made.path())


def test_a_summary_that_fails_leaves_all_as_it_is_and_is_not_tried_for_ever(tmp_path: Path) -> None:
    failing = ScriptRule(prompt="Sum up this conversation", steps=[ScriptStep(content="x", fault=Fault(status=400))])
    rules = [failing, *(ScriptRule(prompt=f"p{i}", steps=[filled(170_000)]) for i in range(6))]
    with world(tmp_path, rules=rules) as made:
        made.run(*[f"p{i}" for i in range(6)])
    assert len(made.of(events.Notice)) == 3 and not made.of(events.ConversationCompacted)
    assert len([row for row in made.server.rows if row["status"] == 400]) == 3
    sound(made.path())


def test_a_prompt_that_is_too_long_is_compacted_once(tmp_path: Path) -> None:
    rules = [SUMMARY, ScriptRule(prompt="first", steps=["One. " * 300]), ScriptRule(prompt="next", steps=["Two."])]
    with world(tmp_path, rules=rules, window=700) as made:
        done = made.run("first", "next " * 200)
    assert len(made.of(events.ConversationCompacted)) == 1 and done.text == "Two."
    assert "word for word" in made.sent[-1]["messages"][0]["content"][0]["text"]
    sound(made.path())


def test_the_summary_quotes_the_users_words_and_not_the_marker_of_an_interrupt(tmp_path: Path) -> None:
    begun = asyncio.Event()
    rules = [SUMMARY, ScriptRule(prompt="please wait", steps=[[use("Wait")]])]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> None:
            turn = asyncio.create_task(engine.submit("please wait"))
            await begun.wait()
            engine.interrupt()
            await turn
            assert await engine.compact()
            await engine.submit("next")

        made.drive(drive, tools=(waiting(asyncio.Event(), begun),))
    assert "Request interrupted" not in str(made.sent[-1]["messages"])
    sound(made.path())


def test_old_results_are_left_out_before_that(tmp_path: Path) -> None:
    big = "x" * 120_000  # 30,000 tokens
    steps: list[Any] = [[use("Echo", text=f"{i} {big}")] for i in range(4)]
    steps[3] = ScriptStep(content=[use("Echo", text="3")], usage={"input_tokens": 150_000})
    with world(tmp_path, *steps, "Done.") as made:
        done = made.run("go", tools=(ECHO,))
    assert done.text == "Done." and not made.of(events.ConversationCompacted)
    results = [b["content"] for m in made.sent[-1]["messages"] for b in m["content"] if b["type"] == "tool_result"]
    assert [text == LEFT_OUT for text in results] == [True, True, False, False]
    kept = [b["content"] for m in sound(made.path()) for b in m["content"] if b["type"] == "tool_result"]
    assert [len(text) > 100_000 for text in kept] == [True, True, True, False]


def test_breaking_off_a_compaction_leaves_all_as_it_is(tmp_path: Path) -> None:
    slow = ScriptRule(prompt="Sum up this conversation", steps=[ScriptStep(content="x", delay=30.0)])
    with world(
        tmp_path, rules=[slow, ScriptRule(prompt="first", steps=["One."]), ScriptRule(prompt="next", steps=["Two."])]
    ) as made:

        async def drive(engine: Engine) -> None:
            await engine.submit("first")
            compacting = asyncio.create_task(engine.compact())
            while len(made.server.rows) < 2:
                await asyncio.sleep(0.01)
            engine.interrupt()
            assert not await compacting
            assert (await engine.submit("next")).text == "Two."

        made.drive(drive)
    assert "compact_boundary" not in made.kinds()
    sound(made.path())


@pytest.mark.req("R256", "R269")
def test_a_file_that_ends_with_a_compaction_goes_on_from_its_summary(tmp_path: Path) -> None:
    with world(tmp_path, rules=[SUMMARY, ScriptRule(prompt="first", steps=["One."])]) as made:

        async def drive(engine: Engine) -> None:
            await engine.submit("first")
            await engine.compact()

        made.drive(drive)
    for version in ("2.0.50", "2.1.29", "2.1.45", "2.1.325"):
        sent = request(read(made.path()), version, "next").messages
        assert "All that was said." in str(sent[0]) and "One." not in str(sent), version
