"""The loop: what each kind of turn leaves in the file, what is sent, and how it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.api.retry import Retry
from clew.chat import events
from clew.chat.config.permission_mode import Mode
from clew.chat.engine import Engine
from clew.chat.permission.decision import Decision
from clew.facts.token_usage import usage
from clew.wire.json_codec import Json
from tests.chat.chat_fixture import ECHO, SAVE, World, counts, limited, sound, use, waiting, world
from tests.oracle.verbatim import comparable


def agrees(made: World, session: str = "") -> None:
    """What the file says is what was sent last, with the reply to it; and what was charged was counted."""
    messages = sound(made.path())
    sent = comparable(made.sent[-1]["messages"])
    assert comparable(messages)[: len(sent)] == sent


@pytest.mark.req("R240", "R251")
def test_a_text_is_answered(tmp_path: Path) -> None:
    with world(tmp_path, "Hello.") as made:
        done = made.run("go")
    assert (done.text, done.ending, done.turns, done.is_error) == ("Hello.", "success", 1, False)
    assert made.kinds() == ["snapshot", "user", "said:text", "turn_duration", "last-prompt"]
    assert made.lines()[2]["message"]["stop_reason"] == "end_turn"
    (timed,) = (line for line in made.lines() if line.get("subtype") == "turn_duration")
    assert done.api_milliseconds <= timed["durationMs"] <= done.milliseconds and timed["durationMs"] > 0
    assert counts(done.usage) == made.charged
    agrees(made)


@pytest.mark.req("R246", "R247", "R248", "R265", "R266", "R267")
def test_thinking_and_parallel_calls(tmp_path: Path) -> None:
    steps: list[Any] = [
        [{"thinking": "Hm."}, "Look:", use("Echo", text="a"), use("Echo", text="b"), use("Save", path="x", text="y")],
        "Done.",
    ]
    with world(tmp_path, *steps, strict="advice") as made:
        done = made.run("go")
    assert made.kinds() == [
        *("snapshot", "user", "said:thinking", "said:text", "said:tool_use", "said:tool_use", "said:tool_use"),
        *("result", "result", "snapshot", "progress", "result", "said:text", "turn_duration", "last-prompt"),
    ]
    lines = [line for line in made.lines() if "uuid" in line and line["type"] != "progress"]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert [line["message"]["stop_reason"] for line in lines[1:6]] == [None, None, None, None, "tool_use"]
    assert {line["requestId"] for line in lines[1:6]} and len({line["message"]["id"] for line in lines[1:6]}) == 1
    results = [line for line in lines if "sourceToolAssistantUUID" in line]
    calls = [
        line for line in lines if line["type"] == "assistant" and line["message"]["content"][0]["type"] == "tool_use"
    ]
    assert [r["sourceToolAssistantUUID"] for r in results] == [c["uuid"] for c in calls]
    assert (made.project / "x").read_text() == "y"
    assert counts(done.usage) == made.charged
    assert usage(made.session()).total.output == made.charged["output_tokens"]
    agrees(made)


def test_results_are_written_as_they_come_and_sent_in_the_order_of_the_calls(tmp_path: Path) -> None:
    first, second = asyncio.Event(), asyncio.Event()

    async def drive(engine: Engine) -> None:
        await engine.submit("go")

    async def slow(input: Json, scene: Any) -> Any:
        await second.wait()
        return await ECHO.run(input, scene)

    async def quick(input: Json, scene: Any) -> Any:
        second.set()
        return await ECHO.run(input, scene)

    tools = (replace(ECHO, name="Slow", run=slow), replace(ECHO, name="Quick", run=quick))
    with world(tmp_path, [use("Slow", text="1"), use("Quick", text="2")], "Done.") as made:
        made.drive(drive, tools=tools)
    assert not first.is_set()
    written = [line["message"]["content"][0]["content"] for line in made.lines() if "sourceToolAssistantUUID" in line]
    assert written == ["2", "1"]
    assert [b["content"] for b in made.sent[-1]["messages"][-1]["content"]] == ["1", "2"]
    sound(made.path())


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (use("Nothing"), "No such tool available: Nothing"),
        (use("Echo"), "The required parameter `text` is missing"),
        (use("Echo", text="a", more=1), "An unexpected parameter `more`"),
        ({"tool": "Echo", "input": '{"text": "a'}, "is not JSON"),
    ],
)
def test_a_wrong_call_is_told_to_the_model(tmp_path: Path, call: Json, told: str) -> None:
    with world(tmp_path, [call], "I see.") as made:
        done = made.run("go")
    assert done.text == "I see."
    [result] = made.sent[-1]["messages"][-1]["content"]
    assert result["is_error"] and told in result["content"] and result["content"].startswith("<tool_use_error>")
    agrees(made)


class Strict:
    """Denies Save, asks for Echo."""

    def decide(self, tool: str, input: Json, cwd: Path, mode: Mode) -> Decision:
        if tool == "Save":
            return Decision("deny", message="Permission to use Save has been denied.")
        return Decision("ask", "it is new")


def strict(can_prompt_user: bool) -> Any:
    return lambda means: replace(means, permissions=Strict(), can_prompt_user=can_prompt_user)


def test_denied_calls_are_told_and_counted(tmp_path: Path) -> None:
    with world(tmp_path, [use("Save", path="x", text="y"), use("Echo", text="a")], "Well.") as made:
        done = made.run("go", change=strict(can_prompt_user=False))
    told = [block["content"] for block in made.sent[-1]["messages"][-1]["content"]]
    assert told[0] == "Permission to use Save has been denied." and "no one can give" in told[1]
    assert [denial["tool_name"] for denial in done.denials] == ["Save", "Echo"]
    assert not (made.project / "x").exists()


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Decision("allow"), "a"),
        (Decision("allow", input={"text": "another"}), "another"),
        (Decision("deny", message="Rather not."), "Rather not."),
    ],
)
def test_the_person_is_asked(tmp_path: Path, answer: Decision, result: str) -> None:
    with world(tmp_path, [use("Echo", text="a")], "Well.") as made:

        async def drive(engine: Engine) -> None:
            turn = asyncio.create_task(engine.submit("go"))
            while not made.of(events.PermissionRequested):
                await asyncio.sleep(0)
            made.of(events.PermissionRequested)[0].answer.set_result(answer)
            await turn

        made.drive(drive, change=strict(can_prompt_user=True))
    assert made.sent[-1]["messages"][-1]["content"][0]["content"] == result


def test_breaking_off_at_a_question_declines_it(tmp_path: Path) -> None:
    with world(tmp_path, [use("Echo", text="a")], "Well.") as made:

        async def drive(engine: Engine) -> events.TurnFinished:
            turn = asyncio.create_task(engine.submit("go"))
            while not made.of(events.PermissionRequested):
                await asyncio.sleep(0)
            engine.interrupt()
            return await turn

        done = made.drive(drive, change=strict(can_prompt_user=True))
    assert done.is_interrupted and made.kinds()[-4:] == ["result", "interrupted", "turn_duration", "last-prompt"]
    sound(made.path())


def test_an_interrupt_in_the_middle_of_a_text_keeps_what_was_shown(tmp_path: Path) -> None:
    step = ScriptStep(content=[{"thinking": "Hm."}, "One.", "Two and more."], pace=0.05, chunk=1)
    with world(tmp_path, step, "Again.") as made:

        def shown() -> str:
            deltas = [each.event.get("delta", {}) for each in made.of(events.StreamEvent)]
            return "".join(delta.get("text", "") for delta in deltas)

        async def drive(engine: Engine) -> tuple[events.TurnFinished, str]:
            turn = asyncio.create_task(engine.submit("go"))
            while not shown().startswith("One.Two"):
                await asyncio.sleep(0)
            engine.interrupt()
            done, text = await turn, shown()
            assert (await engine.submit("go on")).ending == "success"
            return done, text

        done, text = made.drive(drive)
    assert done.is_interrupted and done.ending == "error_during_execution" and done.text == text
    kept = ["said:thinking", "said:text", "said:text", "interrupted", "turn_duration"]
    assert made.kinds()[:7] == ["snapshot", "user", *kept]
    assert [line.get("isAbortedMidStream") for line in made.lines()[2:5]] == [None, None, True]
    partial = {"type": "text", "text": text.removeprefix("One.")}
    assert made.sent[-1]["messages"][1]["content"][1:] == [{"type": "text", "text": "One."}, partial]
    assert [said.message["content"] for said in made.of(events.BlockCompleted)][2] == [partial]
    agrees(made)


@pytest.mark.parametrize("heeds", [True, False])
def test_breaking_off_in_a_tool_leaves_every_call_with_a_result(tmp_path: Path, heeds: bool) -> None:
    with world(tmp_path, [use("Wait"), use("Save", path="x", text="y")], "Again.") as made:

        async def drive(engine: Engine) -> None:
            turn = asyncio.create_task(engine.submit("go"))
            await begun.wait()
            engine.interrupt()
            await turn

        begun = asyncio.Event()
        made.drive(drive, tools=(waiting(asyncio.Event(), begun, heeds), SAVE), change=limited(grace=0.05))
    assert made.kinds()[-5:] == ["result", "result", "interrupted", "turn_duration", "last-prompt"]
    assert not (made.project / "x").exists()
    marker = next(line for line in made.lines() if "interrupted by user" in str(line.get("message")))
    assert marker["message"]["content"][0]["text"] == "[Request interrupted by user for tool use]"
    sound(made.path())


@pytest.mark.req("R253")
def test_what_is_said_while_busy_goes_with_the_next_results(tmp_path: Path) -> None:
    with world(tmp_path, [use("Wait")], "Both.") as made:

        async def drive(engine: Engine) -> events.TurnFinished:
            turn = asyncio.create_task(engine.submit("go"))
            await begun.wait()
            engine.queue("and this")
            release.set()
            return await turn

        begun, release = asyncio.Event(), asyncio.Event()
        done = made.drive(drive, tools=(waiting(release, begun),))
    assert done.text == "Both."
    assert [b.get("text") for b in made.sent[-1]["messages"][-1]["content"]] == [None, "and this"]
    kinds = made.kinds()
    assert kinds[kinds.index("enqueue") :] == [
        *("enqueue", "result", "dequeue", "snapshot", "user", "said:text", "turn_duration", "last-prompt")
    ]
    agrees(made)


@pytest.mark.req("R253")
def test_what_is_taken_back_while_busy_is_removed_from_the_queue(tmp_path: Path) -> None:
    with world(tmp_path, [use("Wait")], "Alone.") as made:

        async def drive(engine: Engine) -> events.TurnFinished:
            turn = asyncio.create_task(engine.submit("go"))
            await begun.wait()
            engine.queue("and this")
            assert [said.text for said in engine.conversation.queue.take_back_prompts()] == ["and this"]
            release.set()
            return await turn

        begun, release = asyncio.Event(), asyncio.Event()
        made.drive(drive, tools=(waiting(release, begun),))
    queued = [line for line in made.lines() if line["type"] == "queue-operation"]
    assert [(line["operation"], line["content"]) for line in queued] == [
        ("enqueue", "and this"),
        ("remove", "and this"),
    ]
    assert "and this" not in str(made.sent[-1]["messages"])
    agrees(made)


def test_what_is_said_at_the_end_is_a_turn_of_its_own(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="go", steps=["One."]), ScriptRule(prompt="more", steps=["Two."])]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> events.TurnFinished:
            turn = asyncio.create_task(engine.submit("go"))
            while not made.of(events.BlockCompleted):
                await asyncio.sleep(0)
            engine.queue("more")
            return await turn

        assert made.drive(drive).text == "Two."
    agrees(made)


@pytest.mark.req("R253")
def test_a_print_door_writes_its_prompt_through_the_queue(tmp_path: Path) -> None:
    with world(tmp_path, "Hello.") as made:
        made.run("go", entrypoint="sdk-cli")
    assert made.kinds()[:4] == ["enqueue", "dequeue", "snapshot", "user"]
    assert made.lines()[0]["content"] == "go"


def test_the_limit_of_turns_ends_behind_the_results(tmp_path: Path) -> None:
    with world(tmp_path, *[[use("Echo", text=str(i))] for i in range(5)]) as made:
        done = made.run("go", change=limited(turns=2))
    assert (done.ending, done.turns, done.is_error) == ("error_max_turns", 3, True)  # the prompt and two results
    assert made.kinds()[-3:] == ["result", "turn_duration", "last-prompt"]
    sound(made.path())


def test_a_budget_counts_a_model_without_a_price_like_the_default_one(tmp_path: Path) -> None:
    step = ScriptStep(content=[use("Echo", text="a")], usage={"input_tokens": 10_000, "output_tokens": 1000})
    with world(tmp_path, *[step] * 4, "Done.") as made:

        async def drive(engine: Engine) -> list[events.TurnFinished]:
            await engine.use_model("my-local-model", None, "sdk")
            return [await engine.submit("go"), await engine.submit("go")]

        first, second = made.drive(drive, change=limited(dollars=0.1))
    # 10,000 × $4 + 1,000 × $20 for a million tokens of claude-opus-5-5: $0.06 each
    assert (first.ending, second.ending, len(made.sent)) == ("error_max_budget_usd", "error_max_budget_usd", 2)
    assert first.cost is None
    told = [each.text for each in made.of(events.Notice)]
    assert told == ["my-local-model has no price: the budget counts it like claude-opus-5-5."]


def test_a_budget_also_ends_a_turn_without_calls(tmp_path: Path) -> None:
    with world(tmp_path, ScriptStep(content="Said.", usage={"input_tokens": 100_000, "output_tokens": 1})) as made:
        done = made.run("go", change=limited(dollars=0.1))
    assert (done.ending, done.text, len(made.sent)) == ("error_max_budget_usd", "Said.", 1)


def test_the_budget_ends_behind_the_results(tmp_path: Path) -> None:
    step = ScriptStep(content=[use("Echo", text="a")], usage={"input_tokens": 100_000})
    with world(tmp_path, step, "no") as made:
        done = made.run("go", change=limited(dollars=0.25))
    assert done.ending == "error_max_budget_usd" and done.cost is not None and 0.3 <= done.cost < 0.301


def test_a_reply_cut_by_its_limit_goes_on_three_times(tmp_path: Path) -> None:
    with world(tmp_path, *[ScriptStep(content="More", stop_reason="max_tokens")] * 5) as made:
        done = made.run("go")
    assert done.turns == 4 and "cut" in done.errors[0]
    assert made.kinds().count("note") == 3
    agrees(made)


def test_a_call_cut_by_the_limit_is_not_run(tmp_path: Path) -> None:
    step = ScriptStep(content=["Look:", use("Save", path="x", text="y")], stop_reason="max_tokens")
    with world(tmp_path, step, "Smaller.") as made:
        assert made.run("go").text == "Smaller."
    assert not (made.project / "x").exists()
    assert "middle of this call" in made.sent[-1]["messages"][-1]["content"][0]["content"]


@pytest.mark.parametrize(
    ("step", "text", "error"),
    [
        (ScriptStep(content="No.", stop_reason="refusal"), "No.", "refused"),
        (ScriptStep(content="Hm.", stop_reason="news"), "Hm.", "news"),
        (ScriptStep(content="Bye.", stop_reason="stop_sequence", stop_sequence="."), "Bye.", ""),
    ],
)
def test_other_reasons_to_stop(tmp_path: Path, step: ScriptStep, text: str, error: str) -> None:
    with world(tmp_path, step, "More.") as made:
        done = made.run("go")
    assert done.text == text and done.turns == 1
    assert error in " ".join(done.errors) and bool(done.errors) == bool(error)


def test_a_pause_goes_on_with_the_same_reply(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="go", steps=[ScriptStep(content="One", stop_reason="pause_turn"), "Two"])]
    with world(tmp_path, rules=rules) as made:
        done = made.run("go")
    assert done.turns == 1 and [m["role"] for m in made.sent[-1]["messages"]] == ["user", "assistant"]


def test_an_empty_reply_is_asked_again_once(tmp_path: Path) -> None:
    with world(tmp_path, ScriptStep(content=[]), ScriptStep(content=[]), "Never.") as made:
        done = made.run("go")
    assert done.turns == 2 and made.kinds().count("note") == 1
    assert counts(done.usage) == made.charged
    assert usage(made.session()).total.output == made.charged["output_tokens"]
    sound(made.path())


def test_the_same_call_again_and_again_is_stopped(tmp_path: Path) -> None:
    with world(tmp_path, *[[use("Echo", text="same")]] * 30) as made:
        done = made.run("go")
    assert done.ending == "error_during_execution" and "again" in done.errors[0]
    assert len(made.sent) == 7 and done.turns == 9  # the prompt, seven results and a reminder


@pytest.mark.req("R254")
def test_a_pull_request_is_linked_once(tmp_path: Path) -> None:
    url = "https://github.com/acme/widgets/pull/7"
    with world(tmp_path, [use("Echo", text=url)], [use("Echo", text=f"see {url}")], "Done.") as made:
        made.run("go")
    [link] = [line for line in made.lines() if line["type"] == "pr-link"]
    assert (link["prNumber"], link["prUrl"], link["prRepository"]) == (7, url, "acme/widgets")


def test_whoever_is_cancelled_leaves_every_call_with_a_result(tmp_path: Path) -> None:
    with world(tmp_path, [use("Wait"), use("Echo", text="a")], "Again.") as made:

        async def drive(engine: Engine) -> None:
            turn = asyncio.create_task(engine.submit("go"))
            await begun.wait()
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn

        begun = asyncio.Event()
        made.drive(drive, tools=(waiting(asyncio.Event(), begun), ECHO))
    assert made.kinds()[-3:] == ["result", "result", "interrupted"]
    sound(made.path())


@pytest.mark.parametrize(
    ("fault", "retries", "ending"),
    [
        (Fault(status=529, times=2), 2, "success"),
        (Fault(status=429, retry_after=7, times=1), 1, "success"),
        (Fault(status=500, times=3), 3, "success"),
        (Fault(stream="cut", after=3, times=1), 1, "success"),
        (Fault(stream="garbage", after=2, times=1), 1, "success"),
        (Fault(stream="error", after=2, times=1), 1, "success"),
        (Fault(status=401), 0, "error_during_execution"),
        (Fault(status=400), 0, "error_during_execution"),
        (Fault(status=529), 10, "error_during_execution"),
    ],
)
def test_faults_of_the_api(tmp_path: Path, fault: Fault, retries: int, ending: str) -> None:
    with world(tmp_path, ScriptStep(content="Here.", fault=fault)) as made:
        done = made.run("go")
        assert done.ending == ending
        assert len(made.of(events.RequestRetried)) == retries == made.kinds().count("api_error")
        if fault.retry_after:
            assert made.slept == [7.0]
        if ending != "success":
            assert made.kinds()[-3:] == ["error:text", "turn_duration", "last-prompt"] and done.errors
        assert counts(done.usage) == made.charged
        sound(made.path())


@pytest.mark.parametrize("step", [ScriptStep(content="Here.", fault=Fault(stream="hang", after=3, times=1))])
def test_a_server_that_falls_silent_is_asked_again(tmp_path: Path, step: ScriptStep) -> None:
    with world(tmp_path, step) as made:
        done = made.run("go", retry=Retry(idle=0.3))
    assert done.text == "Here." and len(made.of(events.RequestRetried)) == 1
    assert counts(done.usage) == made.charged


def test_a_server_that_trickles_is_heard_to_the_end(tmp_path: Path) -> None:
    with world(tmp_path, ScriptStep(content="Slowly.", trickle=40, pace=0.005)) as made:
        assert made.run("go", retry=Retry(idle=0.5)).text == "Slowly."


def test_a_fallback_is_asked_when_the_model_stays_overloaded(tmp_path: Path) -> None:
    rules = [
        ScriptRule(model="haiku", steps=["I am small."]),
        ScriptRule(steps=[ScriptStep(content="x", fault=Fault(status=529))]),
    ]
    with world(tmp_path, rules=rules) as made:
        done = made.run("go", change=lambda means: replace(means, fallback="claude-haiku-4-5"))
    assert done.text == "I am small." and made.lines()[-3]["message"]["model"] == "claude-haiku-4-5"
    sound(made.path())


def test_a_fallback_inside_a_turn_gets_no_thinking_of_the_overloaded_model(tmp_path: Path) -> None:
    rules = [
        ScriptRule(model="haiku", steps=["", "I am small."]),
        ScriptRule(
            steps=[[{"thinking": "Hm."}, use("Echo", text="a")], ScriptStep(content="x", fault=Fault(status=529))]
        ),
    ]
    with world(tmp_path, rules=rules) as made:
        done = made.run("go", change=lambda means: replace(means, fallback="claude-haiku-4-5"))
        statuses = [row["status"] for row in made.server.rows]
    assert done.text == "I am small." and 400 not in statuses
    sent = {body["model"]: "Hm." in str(body["messages"]) for body in made.sent}
    assert sent == {made.sent[0]["model"]: True, "claude-haiku-4-5": False}


def test_a_reply_that_breaks_off_behind_a_block_is_kept_and_gone_on_from(tmp_path: Path) -> None:
    step = ScriptStep(content=["Kept.", use("Save", path="x", text="y"), "Lost."], fault=Fault(stream="cut", after=16))
    with world(tmp_path, step, "Rest.") as made:
        done = made.run("go")
    assert done.text == "Rest." and not (made.project / "x").exists()
    assert made.kinds()[2:6] == ["said:text", "said:tool_use", "result", "note"]
    assert counts(done.usage) == made.charged
    agrees(made)


def test_hooks_and_all_lines_are_linear_over_several_turns(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="first", steps=[[use("Echo", text="a")], "One."]),
        ScriptRule(prompt="second", steps=[[use("Echo", text="b"), use("Echo", text="c")], "Two."]),
    ]
    with world(tmp_path, rules=rules, strict="advice", cache=True) as made:
        done = made.run("first", "second")
    lines = [line for line in made.lines() if "uuid" in line]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    times = [line["timestamp"] for line in lines]
    assert times == sorted(set(times))
    assert counts(done.usage) == made.charged
    agrees(made)


def test_messages_that_break_a_rule_are_mended_and_told(tmp_path: Path) -> None:
    with world(tmp_path, "Fine.") as made:

        async def drive(engine: Engine) -> events.TurnFinished:
            call = {"type": "tool_use", "id": "t1", "name": "Echo", "input": {}}
            engine.conversation.messages = [{"role": "user", "content": [{"type": "text", "text": "x"}]}]
            engine.conversation.messages.append({"role": "assistant", "content": [call]})
            return await engine.submit("go")

        assert made.drive(drive).text == "Fine."
    assert made.of(events.Notice)


def test_a_reply_may_be_as_long_as_the_model_allows(tmp_path: Path) -> None:
    told = "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for this model"
    with world(tmp_path, ScriptStep(content="Short.", fault=Fault(status=400, message=told, times=1))) as made:
        done = made.run("go")
    assert done.text == "Short." and [body["max_tokens"] for body in made.sent] == [32_000, 8_192]


def test_the_long_window_is_asked_for_by_a_header_and_not_by_the_name(tmp_path: Path) -> None:
    with world(tmp_path, "Long.") as made:

        async def drive(engine: Engine) -> None:
            await engine.use_model("claude-sonnet-4-5[1m]", None, "sdk")
            await engine.submit("go")

        made.drive(drive)
    assert made.sent[0]["model"] == "claude-sonnet-4-5"
