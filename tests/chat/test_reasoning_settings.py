"""Thinking and effort of a chat: from options, variables, settings, agents and a model that takes over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.api.reasoning import Reasoning
from clew.chat import events
from clew.chat.config.reasoning_settings import save_effort
from clew.chat.session_factory import ChatSession
from clew.errors import Refused
from tests.chat.chat_fixture import World, sound, use, world
from tests.chat.test_session_factory import say, within, write

OPUS, OLD = "claude-opus-5-5", "claude-opus-4-8"


def efforts(made: World) -> list[str]:
    return [body.get("output_config", {}).get("effort", "") for body in made.sent]


@pytest.mark.parametrize(
    ("settings", "model", "effort"),
    [
        ({"effortLevel": "low"}, OPUS, "medium"),  # newer models have an entry of their own
        ({"effortLevel": "low"}, OLD, "low"),
        ({"modelSettings": {OPUS: {"effortLevel": "low"}}}, OPUS, "low"),
        ({"modelSettings": {OPUS: {"effortLevel": "low"}}}, OLD, "high"),
        ({"modelSettings": {OPUS: {"effortLevel": "nonsense"}}}, OPUS, "medium"),
        ({"modelSettings": "nonsense", "effortLevel": 3}, OPUS, "medium"),
    ],
)
def test_the_users_settings_give_a_model_its_effort(tmp_path: Path, settings: Any, model: str, effort: str) -> None:
    with world(tmp_path, "Said.") as made:
        write(made.root / "claude" / "settings.json", json.dumps(settings))
        say(made, "go", model=model)
    assert efforts(made) == [effort]


def test_variables_come_before_options_and_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_EFFORT_LEVEL", "max")
    with world(tmp_path, "Said.") as made:
        say(made, "go", model=OPUS, reasoning=Reasoning(effort="low"))
    assert efforts(made) == ["max"]


def test_effort_and_thinking_change_between_two_turns(tmp_path: Path) -> None:
    async def run(opened: ChatSession) -> None:
        await opened.say("go")
        opened.engine.use_effort("low")
        await opened.say("go")
        opened.engine.use_thinking(0)
        await opened.say("go")

    with world(tmp_path, "Said.") as made:
        within(made, run, model=OLD)
    assert efforts(made) == ["high", "low", "low"]
    assert [body["thinking"]["type"] for body in made.sent] == ["adaptive", "adaptive", "disabled"]


def test_an_agent_has_the_effort_of_its_file_and_its_models_own_limits(tmp_path: Path) -> None:
    send = [use("Task", description="d", prompt="inner", subagent_type=kind) for kind in ("small", "quick")]
    rules = [ScriptRule(prompt="inner", steps=["In."]), ScriptRule(prompt="go", steps=[send, "Out."])]
    with world(tmp_path, rules=rules) as made:
        agents = made.root / "claude" / "agents"
        write(agents / "small.md", "---\nname: small\ndescription: d\nmodel: claude-sonnet-4-5\n---\nYou look.")
        write(agents / "quick.md", f"---\nname: quick\ndescription: d\nmodel: {OLD}\neffort: low\n---\nYou look.")
        say(made, "go", model=OPUS, reasoning=Reasoning(effort="max"))
    found = {
        body["model"]: (body["max_tokens"], body.get("output_config"), body["thinking"]["type"]) for body in made.sent
    }
    assert found == {
        OPUS: (128_000, {"effort": "max"}, "adaptive"),
        "claude-sonnet-4-5": (32_000, None, "enabled"),
        OLD: (64_000, {"effort": "low"}, "adaptive"),
    }


def test_the_model_that_takes_over_is_asked_in_its_own_form(tmp_path: Path) -> None:
    rules = [
        ScriptRule(model="haiku-4-5", steps=["Small."]),
        ScriptRule(steps=[ScriptStep(content="x", fault=Fault(status=529))]),
    ]
    with world(tmp_path, rules=rules) as made:
        done = made.run("go", change=lambda means: replace(means, fallback="claude-haiku-4-5"))
    assert done.text == "Small."
    assert made.sent[-1]["thinking"]["type"] == "enabled" and made.sent[-1]["max_tokens"] == 32_000


def test_a_server_that_knows_none_of_it_is_asked_without(tmp_path: Path) -> None:
    with world(tmp_path, "Said.", unknown_fields=["thinking", "output_config", "context_management"]) as made:
        done = say(made, "go", model=OPUS)
    assert done.text == "Said."
    assert not {"thinking", "output_config", "context_management"} & {*made.sent[-1]}
    assert len([e for e in made.of(events.Notice) if "does not support" in e.text]) == 3


def test_thinking_is_kept_with_its_signature_and_sent_again_after_a_resume(tmp_path: Path) -> None:
    rules = [ScriptRule(prompt="go", steps=[[{"thinking": "Hm."}, "Said."]]), ScriptRule(prompt="NEXT", steps=["On."])]
    with world(tmp_path, rules=rules, signatures="own") as made:
        say(made, "go", model=OPUS)
        say(made, "NEXT", session_id="", resume=made.path().stem, model="")
        sound(made.path())
    kept = [b for line in made.lines() if line["type"] == "assistant" for b in line["message"]["content"]]
    thought = next(block for block in kept if block["type"] == "thinking")
    assert thought["thinking"] == "Hm." and thought["signature"]
    assert thought in made.sent[-1]["messages"][1]["content"] and made.sent[-1]["thinking"]["type"] == "adaptive"


def test_an_effort_is_saved_beside_what_the_settings_have(tmp_path: Path) -> None:
    path = write(tmp_path / "settings.json", '{"model": "opus", "modelSettings": {"x": {"y": 1}}}')
    assert save_effort(tmp_path, OPUS, "low") == path
    saved = {"model": "opus", "modelSettings": {"x": {"y": 1}, OPUS: {"effortLevel": "low"}}}
    assert json.loads(path.read_text()) == saved
    save_effort(tmp_path, OPUS, "")
    assert json.loads(path.read_text())["modelSettings"][OPUS] == {}
    path.write_text("{")
    with pytest.raises(Refused):
        save_effort(tmp_path, OPUS, "low")
    assert path.read_text() == "{"


def test_an_unknown_effort_on_the_command_line_is_named(tmp_path: Path) -> None:
    with world(tmp_path, "Said.") as made:
        made.project.mkdir()
        command = [sys.executable, "-m", "clew", "chat", "-p", "go", "--effort", "huge", "--base-url", made.server.url]
        env = {**os.environ, "ANTHROPIC_API_KEY": "sk-ant-test", "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
        done = subprocess.run(
            command, cwd=made.project, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
    assert done.returncode == 0 and "unknown effort 'huge'" in done.stderr and "xhigh" in done.stderr


def test_the_beta_of_the_long_window_is_taken_and_others_are_named(tmp_path: Path) -> None:
    with world(tmp_path, "Said.") as made:
        made.project.mkdir()
        command = [sys.executable, "-m", "clew", "chat", "-p", "go", "--base-url", made.server.url]
        command += [
            "--model",
            "claude-sonnet-4-5",
            "--output-format",
            "json",
            "--betas",
            "context-1m-2025-08-07,other-1",
        ]
        env = {**os.environ, "ANTHROPIC_API_KEY": "sk-ant-test", "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
        done = subprocess.run(
            command, cwd=made.project, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
    assert "without effect: other-1" in done.stderr and made.sent[0]["model"] == "claude-sonnet-4-5"
    assert json.loads(done.stdout)["modelUsage"]["claude-sonnet-4-5[1m]"]["contextWindow"] == 1_000_000
