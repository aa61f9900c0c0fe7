"""Hooks that are told that the model changes or that a folder was added, and that can refuse another model."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.chat.set_up import CLEW, Place
from tests.oracle.mock_api import Json, MockApi
from tests.oracle.stream_talk import StreamTalk

OPUS, HAIKU = "claude-opus-5-5", "claude-haiku-5-5"
ASKS = {"hookEventName": "PreModelSwitch", "permissionDecision": "ask", "permissionDecisionReason": "sure?"}
ADDS = {"hookEventName": "PostModelSwitch", "additionalContext": "CHEAPER NOW"}


def hook(log: Path, *then: str, matcher: str = "") -> list[Json]:
    command = "; ".join((f"(cat; echo) >> {log}", *then))
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]


def say(answer: Json) -> str:
    return f"echo '{json.dumps({'hookSpecificOutput': answer})}'"


class Talk:
    """A program that is driven like an SDK does, with hooks that write down what they are told."""

    def __init__(self, root: Path, **hooks: list[Json]) -> None:
        self.place = Place(root)
        self.log = root / "log"
        self.place.user({"hooks": hooks})

    @property
    def told(self) -> list[Json]:
        lines = self.log.read_text().split("\n") if self.log.exists() else []
        return [json.loads(line) for line in lines if line]

    def run(self, *requests: tuple[str, Json]) -> tuple[list[Json], Json]:
        """Return the answers to requests between two turns, and the last request to the API."""
        with MockApi(scripted=lambda body: bool(body.get("tools"))) as api:
            variables = {**self.place.environment(), "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-none"}
            command = [*CLEW, "-p", "--model", OPUS]
            with StreamTalk(command, self.place.project, {**variables, "NO_PROXY": "127.0.0.1"}) as talk:
                talk.turn("hi")
                answers = [talk.request(kind, **fields) for kind, fields in requests]
                talk.turn("again")
            return answers, [body for body in api.requests if body.get("tools")][-1]


def test_a_change_of_the_model_is_told_before_and_after(tmp_path: Path) -> None:
    log = tmp_path / "log"
    talk = Talk(tmp_path, PreModelSwitch=hook(log), PostModelSwitch=hook(log, say(ADDS)))
    _, body = talk.run(("set_model", {"model": "haiku"}), ("set_model", {"model": HAIKU}))
    before, after = talk.told  # the second request changes nothing
    assert (before.pop("hook_event_name"), after.pop("hook_event_name")) == ("PreModelSwitch", "PostModelSwitch")
    assert before == after
    shared = ("session_id", "transcript_path", "cwd", "prompt_id")
    assert all(before.pop(name) for name in shared)
    assert before == {
        "from_model": OPUS,
        "to_model": HAIKU,
        "requested_model": "haiku",
        "source": "sdk",
        "context_tokens": 15,
        "prompt_cache_warm": True,
        "cache_ttl": "5m",
        "estimated_cache_write_usd": 0,
        "pricing": "catalog",
    }
    assert body["model"] == HAIKU and "CHEAPER NOW" in json.dumps(body["messages"])


@pytest.mark.parametrize(
    ("then", "reason"), [("echo too dear >&2; exit 2", "too dear"), (say(ASKS), "sure?")], ids=["blocks", "asks"]
)
def test_a_hook_refuses_a_model(tmp_path: Path, then: str, reason: str) -> None:
    log = tmp_path / "log"
    talk = Talk(tmp_path, PreModelSwitch=hook(log, then, matcher=HAIKU), PostModelSwitch=hook(log))
    [refused], body = talk.run(("set_model", {"model": "haiku"}))
    assert refused["error"].startswith("Model switch blocked by a PreModelSwitch hook: ")
    assert refused["error"].endswith(reason)
    assert (refused["error_code"], refused["model"], body["model"]) == ("blocked_by_hook", OPUS, OPUS)
    assert [each["hook_event_name"] for each in talk.told] == ["PreModelSwitch"]


def test_a_model_that_the_matcher_does_not_name_is_not_refused(tmp_path: Path) -> None:
    talk = Talk(tmp_path, PreModelSwitch=hook(tmp_path / "log", "exit 2", matcher="claude-sonnet-5-5"))
    [answer], body = talk.run(("set_model", {"model": "haiku"}))
    assert answer["response"] == {"model": HAIKU} and body["model"] == HAIKU and not talk.told


def test_an_added_folder_is_told(tmp_path: Path) -> None:
    talk = Talk(tmp_path, DirectoryAdded=hook(tmp_path / "log", matcher="register_repo_root"))
    folder = talk.place.project / "sub"
    folder.mkdir()
    talk.run(("register_repo_root", {"directory": str(folder)}))
    [told] = talk.told
    assert (told["directory"], told["source"]) == (str(folder), "register_repo_root")
    assert "permission_mode" not in told and "effort" not in told


def console(talk: Talk, *lines: str) -> subprocess.CompletedProcess[str]:
    with MockApi() as api:
        variables = {**talk.place.environment(), "ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-none"}
        return subprocess.run(
            [*CLEW, "--plain", "--model", OPUS],
            input="\n".join((*lines, "/exit", "")),
            cwd=talk.place.project,
            env=variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )


@pytest.mark.parametrize(("answer", "model"), [("1", ""), ("2", HAIKU)])
def test_the_console_asks_if_a_hook_wants_that(tmp_path: Path, answer: str, model: str) -> None:
    talk = Talk(tmp_path, PreModelSwitch=hook(tmp_path / "log", say(ASKS)))
    ran = console(talk, "/model haiku", answer)
    assert "sure?" in ran.stdout
    assert (f"The model is now {HAIKU}." in ran.stdout) is bool(model), ran.stdout
    assert ("blocked by a PreModelSwitch hook: sure?" in ran.stdout) is not bool(model)
    assert [(each["source"], each["requested_model"]) for each in talk.told] == [("command", "haiku")]


def test_a_folder_added_in_the_console_is_told(tmp_path: Path) -> None:
    talk = Talk(tmp_path, DirectoryAdded=hook(tmp_path / "log"))
    console(talk, "/add-dir ..", "/add-dir ..")
    [told] = talk.told
    assert (told["directory"], told["source"]) == (str(talk.place.home), "slash_command")
