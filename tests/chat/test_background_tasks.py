"""In the background: agents and commands that nobody waits for, what the model is told of them, and what is left of them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.chat import events
from clew.chat.engine import Engine
from clew.chat.permission.decision import Decision
from clew.chat.tools.builtin.background import BASH_OUTPUT, TASK_OUTPUT, TASK_STOP
from clew.chat.tools.builtin.bash import BASH
from clew.chat.tools.tool import CallResult, ToolContext
from clew.chat.tools.tool_spec import BOOLEAN, TEXT, SpecTool, object_schema, optional_field, required_field
from clew.errors import NotFound
from clew.facts.token_usage import usage
from clew.wire.json_codec import Json, decode
from tests.chat.chat_fixture import AGENT, ECHO, SAVE, World, counts, sound, use, waiting, world
from tests.chat.test_control import HELLO, AskFirst, Sdk, prompt
from tests.chat.test_crash import Killed, acknowledged, in_child
from tests.chat.test_resume_session import ask
from tests.chat.test_subagents import agents, blocks
from tests.chat.tools.tool_fixture import call, stage

TASK = SpecTool(
    "Task",
    "Sends an agent.",
    object_schema(
        description=required_field(TEXT, "a"), prompt=required_field(TEXT, "b"),
        run_in_background=optional_field(BOOLEAN, "c"),
    ),
    AGENT.run,
)  # fmt: skip
LIMIT = 120.0


def task(prompt: str, **more: Any) -> Any:
    return use("Task", description="do it", prompt=prompt, run_in_background=True, **more)


def drive(made: World, run: Callable[[Engine, asyncio.Event], Awaitable[Any]], *more: SpecTool) -> Any:
    """Run something with an engine whose agents wait in the tool Wait until the event is set; then close it."""

    async def all_of_it(engine: Engine) -> Any:
        try:
            async with asyncio.timeout(LIMIT):
                return await run(engine, release)
        finally:
            await engine.close()

    release = asyncio.Event()
    wait = waiting(release, asyncio.Event())
    tools = (TASK, ECHO, SAVE, BASH, BASH_OUTPUT, TASK_OUTPUT, TASK_STOP, wait, *more)
    return made.drive(all_of_it, tools=tools)


def paired(path: Path) -> bool:
    """Whether every call in a file has its result, and only one."""
    entries = [decode(line) for line in path.read_bytes().splitlines()]
    asked = [b["id"] for e in entries for b in blocks(e) if b["type"] == "tool_use"]
    answered = [b["tool_use_id"] for e in entries for b in blocks(e) if b["type"] == "tool_result"]
    return sorted(asked) == sorted(answered)


def notices(made: World) -> list[str]:
    """What stands in the file as told to the model."""
    said = [line["message"]["content"] for line in made.lines() if line["type"] == "user"]
    return [text for text in said if isinstance(text, str) and text.startswith("<task-notification>")]


def field_of(text: str, name: str) -> str:
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0]


INNER = ScriptRule(prompt="inner", steps=[[use("Wait")], "Inner <b>done</b>."])


@pytest.mark.req("R252")
def test_an_agent_in_the_background_is_told_of_when_the_engine_is_idle(tmp_path: Path) -> None:
    rules = [
        INNER,
        ScriptRule(prompt="task-id", steps=["Heard."]),
        ScriptRule(prompt="go", steps=[[task("inner work")], "Outer."]),
    ]
    with world(tmp_path, rules=rules, strict="advice") as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            assert (await engine.submit("go")).text == "Outer."
            assert not engine.has_task_reports and [t.status for t in engine.tasks.values()] == ["running"]
            release.set()
            await engine.task_ended.wait()
            heard = await engine.report_tasks()
            assert heard is not None and heard.text == "Heard." and not engine.has_task_reports
            assert await engine.report_tasks() is None
            assert counts(heard.usage) == made.charged

        drive(made, run)
    [path] = agents(made)
    agent_id = path.stem.removeprefix("agent-")
    [launched] = [line for line in made.lines() if "toolUseResult" in line]
    record = launched["toolUseResult"]
    assert (record["isAsync"], record["status"], record["agentId"]) == (True, "async_launched", agent_id)
    assert (record["description"], record["prompt"], record["outputFile"]) == ("do it", "inner work", str(path))
    [text] = notices(made)
    call_id = launched["message"]["content"][0]["tool_use_id"]
    assert (field_of(text, "task-id"), field_of(text, "tool-use-id")) == (agent_id, call_id)
    assert (field_of(text, "status"), field_of(text, "output-file")) == ("completed", str(path))
    assert field_of(text, "summary") == 'Agent "do it" completed'
    assert field_of(text, "result") == "Inner &lt;b&gt;done&lt;/b&gt;."
    assert field_of(text, "tool_uses") == "1"
    assert made.kinds() == [
        *("snapshot", "user", "said:tool_use", "progress", "result", "said:text", "turn_duration", "last-prompt"),
        *("enqueue", "dequeue", "user", "said:text", "turn_duration", "last-prompt"),
    ]
    assert [line["lastPrompt"] for line in made.lines() if line["type"] == "last-prompt"] == ["go", "go"]
    [begun], [ended] = made.of(events.AgentStarted), made.of(events.AgentFinished)
    assert begun.is_background and ended.is_background and ended.status == "completed"
    [left], [over], [told] = (
        made.of(events.TaskBackgrounded),
        made.of(events.TaskFinished),
        made.of(events.TaskReported),
    )
    assert left.task_id == over.task_id == told.task_id == agent_id and told.text == text
    assert made.session().turns[-1].text == "go"  # no person said it
    assert usage(made.session()).total.output == made.charged["output_tokens"]
    assert paired(path)
    sound(made.path())


def test_while_the_engine_is_busy_it_comes_with_the_next_results(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="inner", steps=["Inner."]),
        ScriptRule(prompt="go", steps=[[task("inner work")], [use("Hold")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def hold(input: Json, scene: ToolContext) -> CallResult:
            while not made.of(events.TaskFinished):
                await asyncio.sleep(0.01)
            return CallResult("held")

        async def run(engine: Engine, release: asyncio.Event) -> events.TurnFinished:
            return await engine.submit("go")

        assert drive(made, run, SpecTool("Hold", "Holds.", object_schema(), hold)).text == "Outer."
    last = made.sent[-1]["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "text"]
    assert last[1]["text"] == notices(made)[0]
    assert [k for k in made.kinds() if k in ("enqueue", "dequeue")] == ["enqueue", "dequeue"]
    sound(made.path())


def test_what_nobody_heeded_is_said_before_the_next_prompt(tmp_path: Path) -> None:
    rules = [
        INNER,
        ScriptRule(prompt="more", steps=["More."]),
        ScriptRule(prompt="go", steps=[[task("inner")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> events.TurnFinished:
            await engine.submit("go")
            release.set()
            await engine.task_ended.wait()
            return await engine.submit("more")

        assert drive(made, run).text == "More."
    said = made.sent[-1]["messages"][-1]["content"]
    assert [block["text"][:6] for block in said] == ["<task-", "more"]
    sound(made.path())


def test_several_and_those_that_fail_are_told_of_each(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="good", steps=["Good."]),
        ScriptRule(prompt="bad", steps=[ScriptStep(content="x", fault=Fault(status=400))]),
        ScriptRule(prompt="task-id", steps=["Heard.", "Heard."]),
        ScriptRule(prompt="go", steps=[[task("good 1"), task("bad"), task("good 2")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> events.TurnFinished | None:
            await engine.submit("go")
            return await engine.settle()

        done = drive(made, run)
        assert counts(made.of(events.TurnFinished)[-1].usage) == made.charged
    assert done is None or done.text in ("Heard.", "Outer.")
    assert sorted(field_of(text, "status") for text in notices(made)) == ["completed", "completed", "failed"]
    [failed] = [text for text in notices(made) if "<status>failed" in text]
    assert field_of(failed, "result").startswith("The agent failed: ")
    assert all(paired(path) for path in (made.path(), *agents(made)))
    sound(made.path())


def test_breaking_off_leaves_them_alone_and_closing_stops_them(tmp_path: Path) -> None:
    rules = [INNER, ScriptRule(prompt="go", steps=[[task("inner work")], [use("Wait")], "Never."])]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> events.TurnFinished:
            turn = asyncio.create_task(engine.submit("go"))
            while [told.name for told in made.of(events.CallStarted)].count("Wait") < 2:
                await asyncio.sleep(0.01)
            engine.interrupt()
            done = await turn
            assert [t.status for t in engine.tasks.values()] == ["running"]
            return done

        assert drive(made, run).is_interrupted
    assert [told.status for told in made.of(events.TaskFinished)] == ["killed"]
    assert [told.status for told in made.of(events.AgentFinished)] == ["stopped"]
    assert made.kinds()[-1] == "enqueue" and "was stopped" in made.lines()[-1]["content"]
    assert all(paired(path) for path in (made.path(), *agents(made)))
    sound(made.path())


def test_the_model_reads_and_stops_an_agent_and_is_not_told_again(tmp_path: Path) -> None:
    rules = [INNER, ScriptRule(prompt="go", steps=[[task("inner work")], "Outer."])]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            await engine.submit("go")
            [name] = engine.tasks
            scene = stage(tmp_path, state=engine.conversation.state)
            looked = await call(TASK_OUTPUT, scene, task_id=name, block=False)
            assert looked.detail["task"]["status"] == "running" and looked.detail["retrieval_status"] == "not_ready"
            stopped = await call(TASK_STOP, scene, task_id=name)
            assert stopped.detail["task_type"] == "local_agent" and not stopped.is_error
            looked = await call(TASK_OUTPUT, scene, task_id=name)
            assert looked.detail["task"]["status"] == "killed"
            assert "<status>killed</status>" in (await call(BASH_OUTPUT, scene, bash_id=name)).content

        drive(made, run)
    assert "enqueue" not in made.kinds()
    assert all(paired(path) for path in agents(made))


def test_the_person_puts_an_agent_aside(tmp_path: Path) -> None:
    rules = [
        INNER,
        ScriptRule(prompt="task-id", steps=["Heard."]),
        ScriptRule(
            prompt="go", steps=[[use("Task", description="do it", prompt="inner")], [use("Echo", text="a")], "Outer."]
        ),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            turn = asyncio.create_task(engine.submit("go"))
            while not [told for told in made.of(events.CallStarted) if told.name == "Wait"]:
                await asyncio.sleep(0.01)
            engine.send_to_background()
            assert (await turn).text == "Outer."
            engine.interrupt()  # what stops the conversation does not reach it any more
            release.set()
            heard = await engine.report_tasks() if engine.has_task_reports else None
            if heard is None:
                await engine.task_ended.wait()
                heard = await engine.report_tasks()
            assert heard is not None and heard.text == "Heard."

        drive(made, run)
    records = [line["toolUseResult"] for line in made.lines() if "toolUseResult" in line]
    assert [record.get("status") for record in records] == ["async_launched", None]
    assert [field_of(text, "status") for text in notices(made)] == ["completed"]
    sound(made.path())


def test_an_agent_waits_for_the_agents_that_it_sent(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="deepest", steps=[[use("Wait")], "Deep."]),
        ScriptRule(prompt="task-id", steps=["Heard deep."]),
        ScriptRule(prompt="middle", steps=[[task("deepest")], "Middle."]),
        ScriptRule(prompt="go", steps=[[use("Task", description="m", prompt="middle")], "Top."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> events.TurnFinished:
            turn = asyncio.create_task(engine.submit("go"))
            while "Middle." not in str([told.message for told in made.of(events.BlockCompleted)]):
                await asyncio.sleep(0.01)
            assert not turn.done()
            release.set()
            return await turn

        done = drive(made, run)
    assert done.text == "Top."
    [result] = [b for m in made.sent[-1]["messages"] for b in m["content"] if b["type"] == "tool_result"]
    assert result["content"][0]["text"] == "Heard deep."
    assert notices(made) == [] and "enqueue" not in made.kinds()
    depths = sorted(decode(p.with_suffix(".meta.json").read_bytes())["spawnDepth"] for p in agents(made))
    assert depths == [1, 2]
    assert counts(done.usage) == made.charged


@pytest.mark.parametrize(("command", "status", "end"), [
    ("echo out", "completed", "completed (exit code 0)"), ("echo out; exit 3", "failed", "failed (exit code 3)"),
])  # fmt: skip
def test_a_command_in_the_background_is_told_of(tmp_path: Path, command: str, status: str, end: str) -> None:
    begun = use("Bash", command=command, description="Say out", run_in_background=True)
    rules = [ScriptRule(prompt="task-id", steps=["Heard."]), ScriptRule(prompt="go", steps=[[begun], "Outer."])]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            await engine.submit("go")
            if not notices(made):
                await engine.task_ended.wait()
                await engine.report_tasks()

        drive(made, run)
    [text] = notices(made)
    assert field_of(text, "status") == status
    assert field_of(text, "summary") == f'Background command "Say out" {end}'
    assert Path(field_of(text, "output-file")).read_text() == "out\n"
    [over] = made.of(events.TaskFinished)
    assert (over.kind, over.exit_code) == ("local_bash", 0 if status == "completed" else 3)
    sound(made.path())


# -- when the program ends before they do


def left_running(made: World, *, is_told: bool = False, is_closed: bool = True) -> bytes:
    """A session that ends while an agent works, or when it has ended and nobody was told: its bytes."""

    async def run(engine: Engine, release: asyncio.Event) -> bytes:
        await engine.submit("go")
        if is_told:
            release.set()
            await engine.task_ended.wait()
        return made.path().read_bytes()

    found: bytes = drive(made, run)
    return made.path().read_bytes() if is_closed else found


def resumed(made: World, data: bytes) -> list[str]:
    """Go on with a session of these bytes: what is said in the next request."""
    made.path().write_bytes(data)
    done, path = ask(made, "NEXT", resume=str(made.path()))
    assert done.text == "Next."
    sound(path)
    return [str(block.get("text")) for block in made.sent[-1]["messages"][-1]["content"]]


@pytest.mark.req("R256")
@pytest.mark.parametrize(("case", "status"), [("closed", "killed"), ("killed", "killed"), ("ended", "completed")])
def test_who_resumes_is_told_of_what_the_last_program_left(tmp_path: Path, case: str, status: str) -> None:
    rules = [
        INNER,
        ScriptRule(prompt="NEXT", steps=["Next."]),
        ScriptRule(prompt="go", steps=[[task("inner work")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:
        data = left_running(made, is_told=case == "ended", is_closed=case == "closed")
        first, last = resumed(made, data)
        assert first.startswith("<task-notification>") and last == "NEXT"
        assert field_of(first, "status") == status
        assert field_of(first, "task-id") == agents(made)[0].stem.removeprefix("agent-")
        assert ("Inner" in first) == (case == "ended")
        assert resumed(made, made.path().read_bytes()) == ["NEXT"]  # once
    assert [k for k in made.kinds() if k == "user"].count("user") == 4


@pytest.mark.parametrize("tool", [TASK_OUTPUT, BASH_OUTPUT, TASK_STOP], ids=lambda tool: tool.name)
def test_what_the_model_asked_for_itself_is_not_told_to_who_resumes(tmp_path: Path, tool: SpecTool) -> None:
    is_stop = tool is TASK_STOP
    begun = use("Bash", command="sleep 600" if is_stop else "echo out", run_in_background=True)
    rules = [
        ScriptRule(prompt="NEXT", steps=["Next."]),
        ScriptRule(prompt="go", steps=[[begun], [use("Look")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def look(input: Json, scene: ToolContext) -> CallResult:
            [(name, running)] = scene.state.background.items()
            if not is_stop:
                await running.wait()
            return await tool.call({"bash_id" if tool is BASH_OUTPUT else "task_id": name}, scene)

        async def run(engine: Engine, release: asyncio.Event) -> None:
            await engine.submit("go")
            assert not engine.has_task_reports

        drive(made, run, SpecTool("Look", "Looks.", object_schema(), look))
        if not notices(made):  # unless it ended before the model could ask
            assert resumed(made, made.path().read_bytes()) == ["NEXT"]


def test_killed_behind_any_write_it_is_gone_on_from(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="inner", steps=[[use("Echo", text="inside")], "Inner."]),
        ScriptRule(prompt="NEXT", steps=["Next."]),
        ScriptRule(prompt="task-id", steps=["Heard.", "Heard."]),
        ScriptRule(prompt="go", steps=[[task("inner 1"), task("inner 2"), use("Echo", text="a")], "Outer."]),
    ]

    def work(made: World, number: int, log: Path) -> None:
        async def drive(engine: Engine) -> None:
            await engine.submit("go")
            await engine.settle()
            await engine.close()

        made.drive(drive, tools=(TASK, ECHO), journal={"write": Killed(number, log)})

    killed = 0
    for number in range(1, 60, 4):
        with world(tmp_path / str(number), rules=rules) as made:
            log = tmp_path / f"{number}.log"
            ended = in_child(lambda made=made, log=log, number=number: work(made, number, log))  # type: ignore[misc]
            killed += ended == -signal.SIGKILL
            for path, lines in acknowledged(log).items():
                assert [decode(raw) for raw in Path(path).read_bytes().splitlines()] == lines
            if any(line["type"] == "user" for line in made.lines()):
                assert resumed(made, made.path().read_bytes())[-1] == "NEXT"
    assert killed > 4


def test_what_a_person_takes_back_is_their_own(tmp_path: Path) -> None:
    rules = [INNER, ScriptRule(prompt="go", steps=[[task("inner work")], "Outer."])]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            await engine.submit("go")
            release.set()
            await engine.task_ended.wait()
            engine.queue("never mind")
            assert [said.text for said in engine.conversation.queue.take_back_prompts()] == ["never mind"]
            assert engine.has_task_reports

        drive(made, run)


def test_the_person_stops_a_task_and_the_model_hears_of_it(tmp_path: Path) -> None:
    rules = [
        INNER,
        ScriptRule(prompt="task-id", steps=["Heard."]),
        ScriptRule(prompt="go", steps=[[task("inner work")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            await engine.submit("go")
            [name] = engine.tasks
            with pytest.raises(NotFound):
                await engine.stop_task("nobody")
            await engine.stop_task(name)
            await engine.task_ended.wait()
            heard = await engine.report_tasks()
            assert heard is not None and heard.text == "Heard."

        drive(made, run)
    assert [field_of(text, "status") for text in notices(made)] == ["killed"]


@pytest.mark.parametrize("is_early", [True, False])
def test_an_sdk_gets_the_turn_that_an_agent_begins(tmp_path: Path, is_early: bool) -> None:
    rules = [
        INNER,
        ScriptRule(prompt="task-id", steps=["Heard."]),
        ScriptRule(prompt="go", steps=[[task("inner work")], "Outer."]),
    ]
    release = asyncio.Event()
    with world(tmp_path, rules=rules) as made:

        async def talk(sdk: Sdk) -> None:
            sdk.say(HELLO, prompt("go"))
            await sdk.result()
            if is_early:
                sdk.hang_up()  # the turn is not lost by that
            release.set()
            await sdk.result(2)
            if not is_early:
                sdk.hang_up()

        sdk = Sdk(made)
        code = sdk.run(talk, tools=(TASK, waiting(release, asyncio.Event())), tells_state=True)
    assert code == 0
    assert [frame["result"] for frame in sdk.of("result")] == ["Outer.", "Heard."]
    told = [frame for frame in sdk.of("system") if frame["subtype"] in ("task_started", "task_notification")]
    assert [frame["subtype"] for frame in told] == ["task_started", "task_notification"]
    assert told[1]["status"] == "completed" and told[1]["output_file"] == str(agents(made)[0])
    states = [frame["state"] for frame in sdk.of("system") if frame["subtype"] == "session_state_changed"]
    assert states == ["running", "idle", "running", "idle"]


def test_an_agent_asks_while_no_turn_runs(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="inner", steps=[[use("Save", path="x", text="y")], "Inner."]),
        ScriptRule(prompt="task-id", steps=["Heard."]),
        ScriptRule(prompt="go", steps=[[task("inner work")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine) -> None:
            async with asyncio.timeout(LIMIT):
                await engine.submit("go")
                while not (asked := made.of(events.PermissionRequested)):
                    await asyncio.sleep(0.01)
                assert not engine.is_busy and not engine.task_ended.is_set()
                asked[0].answer.set_result(Decision("allow"))
                await engine.task_ended.wait()
                await engine.report_tasks()
            await engine.close()

        made.drive(
            run, tools=(TASK, SAVE), change=lambda means: replace(means, permissions=AskFirst(), can_prompt_user=True)
        )
    assert (made.project / "x").read_text() == "y"
    assert [field_of(text, "status") for text in notices(made)] == ["completed"]
    snapshots = [line["snapshot"] for line in made.lines() if line["type"] == "file-history-snapshot"]
    assert "x" in snapshots[-1]["trackedFileBackups"]


def test_the_person_puts_a_command_aside_and_only_that_one(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    rules = [
        ScriptRule(prompt="task-id", steps=["Heard."]),
        ScriptRule(
            prompt="go", steps=[[use("Bash", command=f"cat {gate}"), use("Bash", command="echo two")], "Outer."]
        ),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            turn = asyncio.create_task(engine.submit("go"))
            while not made.of(events.CallStarted):
                await asyncio.sleep(0.01)
            engine.send_to_background()
            assert (await turn).text == "Outer."
            await asyncio.to_thread(gate.write_text, "through")
            await engine.task_ended.wait()
            await engine.report_tasks()

        drive(made, run)
    first, second = [line["toolUseResult"] for line in made.lines() if "toolUseResult" in line]
    assert "backgroundTaskId" in first and second["stdout"] == "two"
    [text] = notices(made)
    assert Path(field_of(text, "output-file")).read_text() == "through"


@pytest.mark.parametrize(
    ("command", "patience", "status"), [("echo out", LIMIT, "completed"), ("sleep 600", 0.1, "killed")]
)
def test_a_door_that_asks_once_waits_for_commands_too_but_not_for_ever(
    tmp_path: Path, command: str, patience: float, status: str
) -> None:
    begun = use("Bash", command=command, run_in_background=True)
    rules = [ScriptRule(prompt="task-id", steps=["Heard."]), ScriptRule(prompt="go", steps=[[begun], "Outer."])]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            await engine.submit("go")
            await engine.settle(patience)
            assert not engine.has_pending_tasks

        drive(made, run)
    assert [field_of(text, "status") for text in notices(made)] == [status]


def test_closing_ends_agents_below_agents_and_their_commands(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = use("Bash", command=f"echo $$ >> {pids}; sleep 600")
    rules = [
        ScriptRule(prompt="deepest", steps=[[command], "Never."]),
        ScriptRule(prompt="middle", steps=[[task("deepest 1"), task("deepest 2")], [command], "Never."]),
        ScriptRule(prompt="go", steps=[[task("middle")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run(engine: Engine, release: asyncio.Event) -> None:
            await engine.submit("go")
            while not pids.exists() or len(pids.read_text().split()) < 3:
                await asyncio.sleep(0.01)

        drive(made, run)
    assert [told.status for told in made.of(events.AgentFinished)] == ["stopped"] * 3
    assert all(paired(path) for path in (made.path(), *agents(made)))
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
    sound(made.path())
