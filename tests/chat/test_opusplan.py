"""`opusplan`: opus is asked while the permission mode is plan, sonnet in all other modes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.api.mock.scripts import AnyStep, ScriptRule
from clew.chat import events
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.config.model_alias import model_in_mode, offered_models, resolve_alias, resolve_choice
from clew.chat.config.permission_mode import MODES, Mode
from clew.chat.engine import Engine
from clew.chat.permission.decision import Decision
from clew.chat.sdk.info_requests import describe_usage
from clew.chat.session_factory import ChatSession
from clew.console.status_bar import Status
from clew.demo.talk import talk
from tests.chat.chat_fixture import KINDS, World, use, world
from tests.chat.test_control import HELLO, Sdk, prompt
from tests.chat.test_control import ask as control
from tests.chat.test_resume_session import ask
from tests.chat.test_session_factory import steps, within, write

OPUS, SONNET = "claude-opus-5-5", "claude-sonnet-5-5"
NEXT = [ScriptRule(prompt="NEXT", steps=["Next."])]
THOUGHT = {"thinking": "Hm."}


class Answering(list[events.Event]):
    """The events of a world; each is also given to `answer`."""

    answer: Callable[[events.Event], None] = staticmethod(lambda each: None)

    def append(self, each: events.Event) -> None:
        super().append(each)
        self.answer(each)


def models(made: World) -> list[str]:
    return [body["model"] for body in made.sent]


def thoughts(body: dict[str, Any]) -> list[str]:
    blocks = [block for message in body["messages"] for block in message["content"]]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["opusplan", "OpusPlan", "opusplan[1m]"])
def test_the_mode_at_the_start_decides(tmp_path: Path, name: str, mode: Mode) -> None:
    with world(tmp_path, rules=NEXT) as made:
        ask(made, "NEXT", model=name, mode=mode)
    assert models(made) == [OPUS if mode == "plan" else SONNET]
    assert [begun.model for begun in made.of(events.TurnStarted)] == models(made)


def test_a_model_with_one_meaning_is_the_same_in_every_mode() -> None:
    for name in ("opus", "sonnet", "haiku", "default", "claude-opus-4-5", "qwen3-coder"):
        assert {model_in_mode(resolve_choice(name), mode) for mode in MODES} == {resolve_alias(name)}
    assert resolve_choice("inherit") == resolve_choice("") == ""
    assert "opusplan" in offered_models(SONNET) and offered_models("opusplan").count("opusplan") == 1


def test_planning_inside_a_turn_switches_the_model_and_sends_each_its_own_thinking(tmp_path: Path) -> None:
    """Claude Code 2.1.325 sends the same models and the same thinking for these replies."""
    plan: list[AnyStep] = [
        [{"thinking": "A"}, use("Glob", pattern="*")],
        [{"thinking": "B"}, use("EnterPlanMode")],
        [{"thinking": "C"}, use("Glob", pattern="*")],
        [{"thinking": "D"}, use("ExitPlanMode", plan="Write x.")],
        [{"thinking": "E"}, use("Write", file_path="PROJECT/x.txt", content="x")],
        "Done.",
    ]

    async def run(opened: ChatSession) -> events.TurnFinished:
        return await opened.say("go")

    def allow(each: events.Event) -> None:
        if isinstance(each, events.PermissionRequested):
            each.answer.set_result(Decision("allow"))

    with world(tmp_path, *steps(plan, tmp_path.resolve() / "project")) as made:
        made.events = answering = Answering()
        answering.answer = allow
        done = within(made, run, can_prompt_user=True, mode="acceptEdits", model="opusplan")
        assert [row["status"] for row in made.server.rows] == [200] * 6
    assert done.text == "Done." and (made.project / "x.txt").read_text() == "x"
    assert models(made) == [SONNET, SONNET, OPUS, OPUS, SONNET, SONNET]
    assert ["".join(thoughts(body)) for body in made.sent] == ["", "A", "", "C", "AB", "ABE"]
    assert all(body["thinking"]["type"] == "adaptive" for body in made.sent)
    written = [line["message"]["model"] for line in made.lines() if line["type"] == "assistant"]
    assert list(dict.fromkeys(written)) == [SONNET, OPUS] and "opusplan" not in made.path().read_text()
    assert set(done.models) == {SONNET, OPUS}


def test_a_change_of_the_mode_between_turns_changes_request_status_and_context(tmp_path: Path) -> None:
    shown: list[tuple[str, str]] = []
    modes: tuple[Mode, ...] = ("default", "plan", "acceptEdits")

    async def run(opened: ChatSession) -> None:
        for mode in modes:
            opened.engine.use_mode(mode)  # as Shift+Tab does
            shown.append((Status.of(opened).model, describe_usage(opened.engine)["model"]))
            await opened.say("go")

    with world(tmp_path, rules=[ScriptRule(prompt="go", steps=["One.", "Two.", "Three."])]) as made:
        within(made, run, model="opusplan")
    assert models(made) == [SONNET, OPUS, SONNET]
    assert shown == [(SONNET, SONNET), (OPUS, OPUS), (SONNET, SONNET)]


def test_a_change_of_the_mode_during_a_reply_counts_from_the_next_request(tmp_path: Path) -> None:
    with world(tmp_path, [THOUGHT, "Look:", use("Echo", text="a")], "Done.") as made:

        async def drive(engine: Engine) -> Engine:
            await engine.use_model("opusplan", None, "sdk")

            def plan(each: events.Event) -> None:
                if isinstance(each, events.BlockCompleted):
                    engine.use_mode("plan")

            answering.answer = plan
            await engine.submit("go")
            return engine

        made.events = answering = Answering()
        engine = made.drive(drive)
    assert models(made) == [SONNET, OPUS] and not thoughts(made.sent[1])
    assert set(engine.conversation.largest_requests) == {SONNET, OPUS}


def test_the_sdk_chooses_it_and_changes_the_mode(tmp_path: Path) -> None:
    with world(tmp_path, rules=[ScriptRule(prompt="go", steps=["One.", "Two.", "Three."])]) as here:
        sdk = Sdk(here)

        async def drive(sdk: Sdk) -> None:
            sdk.say(HELLO, control("set_model", model="opusplan"), prompt("go"))
            await sdk.result(1)
            sdk.say(control("set_permission_mode", mode="plan"), prompt("go"))
            await sdk.result(2)
            sdk.say(control("set_permission_mode", mode="default"), prompt("go"))
            await sdk.result(3)

        sdk.run(drive)
        assert models(here) == [SONNET, OPUS, SONNET]
        begun = [f["model"] for f in sdk.of("system") if f["subtype"] == "init"]
        assert begun == [SONNET, OPUS, SONNET]


@pytest.mark.parametrize(("mode", "model"), [("default", SONNET), ("plan", OPUS)])
@pytest.mark.parametrize("name", ["inherit", "", "opusplan"])
def test_an_agent_takes_the_model_that_the_session_has_when_it_starts(
    tmp_path: Path, name: str, mode: Mode, model: str
) -> None:
    kind: AgentKind = replace(KINDS["general-purpose"], model=name, mode="plan")  # its own mode decides nothing
    rules = [
        ScriptRule(prompt="inner", steps=["Inner."]),
        ScriptRule(
            prompt="go",
            steps=[[use("Task", description="a", prompt="inner", subagent_type="general-purpose")], "Outer."],
        ),
    ]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> None:
            await engine.use_model("opusplan", None, "sdk")
            engine.use_mode(mode)
            await engine.submit("go")

        made.drive(drive, kinds={"general-purpose": kind})
    assert models(made) == [model] * 3


@pytest.mark.parametrize(("mode", "model"), [(None, SONNET), ("plan", OPUS)])
def test_the_settings_name_it(tmp_path: Path, mode: Mode | None, model: str) -> None:
    async def run(opened: ChatSession) -> None:
        await opened.say("go")

    with world(tmp_path, "Done.") as made:
        write(made.root / "claude" / "settings.json", json.dumps({"model": "opusplan"}))
        within(made, run, model="", mode=mode)
    assert models(made) == [model]


@pytest.mark.parametrize(
    ("given", "options", "model"),
    [
        ("haiku", {"model": "opus"}, OPUS),  # the command line goes first
        (["haiku"], {"model": ""}, SONNET),  # no name: the default
        ("haiku", {"model": ""}, "claude-haiku-5-5"),
    ],
)
def test_the_settings_name_the_model_of_a_new_session(
    tmp_path: Path, given: object, options: dict[str, str], model: str
) -> None:
    async def run(opened: ChatSession) -> None:
        await opened.say("go")

    with world(tmp_path, "Done.") as made:
        write(made.root / "claude" / "settings.json", json.dumps({"model": given}))
        within(made, run, **options)
    assert models(made) == [model]


def test_the_settings_of_a_folder_that_is_not_trusted_name_no_model(tmp_path: Path) -> None:
    async def run(opened: ChatSession) -> None:
        await opened.say("go")

    with world(tmp_path, "Done.") as made:
        write(made.project / ".claude" / "settings.json", json.dumps({"model": "opus"}))
        within(made, run, model="")
    assert models(made) == [SONNET]


@pytest.mark.parametrize(("mode", "kept"), [("default", 1), ("plan", 0)])
def test_a_resume_sends_thinking_only_to_the_model_that_wrote_it(tmp_path: Path, mode: Mode, kept: int) -> None:
    told = talk(model=SONNET).user("start").reply("Begun.", thinking="Hm.")
    with world(tmp_path, rules=NEXT) as made:
        path = write(made.path(told.session_id), told.bytes().decode())
        ask(made, "NEXT", resume=path.stem, model="opusplan", mode=mode)
    assert models(made) == [OPUS if mode == "plan" else SONNET]
    assert len(thoughts(made.sent[0])) == kept
