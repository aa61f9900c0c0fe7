"""The window of a model: a session is compacted when its model is full, and not before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.chat import events
from clew.chat.config.model_alias import resolve_alias
from clew.chat.sdk.result_json import result
from clew.chat.store.resume_session import resume
from clew.demo.talk import talk
from tests.chat.chat_fixture import World, sound, world
from tests.chat.test_resume_session import ask

SUMMARY = ScriptRule(prompt="Sum up this conversation", steps=["All that was said."])
RULES = [SUMMARY, ScriptRule(prompt="NEXT", steps=["Next."])]
WAITING = [SUMMARY, ScriptRule(prompt="NEXT", steps=[ScriptStep(content="Next.", fault=Fault(stream="hang", after=0))])]


def lay(made: World, model: str, tokens: int) -> Path:
    """A session whose last request had so many tokens."""
    told = talk(model=model).user("start").reply("begun").user("more").reply("done", usage={"input_tokens": tokens})
    path = made.path(told.session_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(told.bytes())
    return path


@pytest.mark.parametrize(
    ("model", "tokens", "compacts"),
    [
        ("claude-opus-5-5", 400_000, False),
        ("claude-haiku-5-5", 900_000, False),
        ("claude-fable-5-2", 400_000, False),
        ("claude-future-9", 400_000, False),
        ("claude-sonnet-4-5", 400_000, False),  # which shows that it was used with its long window
        ("claude-sonnet-4-5", 170_000, True),
        ("claude-opus-5-5", 990_000, True),
    ],
)
def test_a_large_session_is_compacted_only_if_its_model_is_full(
    tmp_path: Path, model: str, tokens: int, compacts: bool
) -> None:
    with world(tmp_path, rules=RULES) as made:
        path = lay(made, model, tokens)
        before = path.read_bytes()
        done, _ = ask(made, "NEXT", resume=path.stem)
    assert done.text == "Next." and bool(made.of(events.ConversationCompacted)) is compacts
    assert path.read_bytes().startswith(before)
    assert (b"compact_boundary" in path.read_bytes()) is compacts
    sound(path)


def test_a_compaction_is_written_with_the_answer_and_not_before(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        path = lay(made, "claude-opus-5-5", 990_000)
        before = path.read_bytes()
        seen: list[tuple[str, bool]] = []

        class Watching(list[Any]):
            def append(self, each: Any) -> None:
                seen.append((type(each).__name__, path.read_bytes() == before))

        made.events = Watching()
        ask(made, "NEXT", resume=path.stem)
    until = [name for name, is_same in seen if is_same]
    assert "ConversationCompacted" in until and "PromptRecorded" in until
    assert not dict(seen)["TurnFinished"] and b"NEXT" in path.read_bytes()


def test_killed_before_the_answer_the_file_is_as_it_was(tmp_path: Path) -> None:
    with world(tmp_path, rules=WAITING) as made:
        path = lay(made, "claude-opus-5-5", 990_000)
        made.project.mkdir(parents=True, exist_ok=True)
        before = path.read_bytes()
        command = [sys.executable, "-m", "clew", "chat", "-p", "NEXT", "--resume", path.stem]
        command += ["--claude-dir", str(made.root / "claude")]
        env = {**os.environ, "ANTHROPIC_BASE_URL": made.server.url, "ANTHROPIC_API_KEY": "sk-ant-test"}
        process = subprocess.Popen(command, cwd=made.project, env=env, stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while not any("NEXT" in str(body["messages"][-1]) for body in made.sent[1:]):
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    assert path.read_bytes() == before


def test_what_is_sent_and_reported_follows_the_table(tmp_path: Path) -> None:
    with world(tmp_path, rules=RULES) as made:
        path = lay(made, "claude-opus-5-5", 400_000)
        done, _ = ask(made, "NEXT", resume=path.stem)
    assert made.sent[-1]["model"] == "claude-opus-5-5" and made.sent[-1]["max_tokens"] == 128_000
    reported = result(done, path.stem, "u")["modelUsage"]["claude-opus-5-5"]
    assert (reported["contextWindow"], reported["maxOutputTokens"]) == (1_000_000, 128_000)
    assert resume(path).largest_requests["claude-opus-5-5"] >= 400_000


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("sonnet[1m]", "claude-sonnet-5-5"),
        ("opusplan", "claude-sonnet-5-5"),
        ("fable", "claude-fable-5-2"),
        ("claude-opus-5-5[1m]", "claude-opus-5-5"),
        ("claude-sonnet-4-5[1m]", "claude-sonnet-4-5"),
    ],
)
def test_a_short_name_is_never_sent(tmp_path: Path, name: str, sent: str) -> None:
    with world(tmp_path, rules=RULES) as made:
        ask(made, "NEXT", model=name)
    assert made.sent[-1]["model"] == sent and resolve_alias("inherit") == ""
