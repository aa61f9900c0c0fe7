"""The harness itself: the real CLI records, resumes and stops as the other oracle tests count on."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.claude import VERSIONS
from tests.oracle.conftest import Claude
from tests.oracle.mock_api import Json, Reply, text, thinking, tool_use
from tests.oracle.verbatim import without_context

pytestmark = pytest.mark.oracle

SESSION = "11111111-1111-4111-8111-111111111111"


def entries(*said: str) -> Iterator[Json]:
    """A chain of prompts and answers in turn, with no more fields than a resume needs."""
    parent = None
    for number, words in enumerate(said):
        uuid = f"00000000-0000-4000-8000-{number:012d}"
        role = "assistant" if number % 2 else "user"
        message: Json = {"role": role, "content": words}
        if role == "assistant":
            message |= {"id": f"msg_{number}", "type": "message", "content": [text(words)]}
        when = f"2026-01-01T00:00:{number:02d}.000Z"
        yield {"type": role, "uuid": uuid, "parentUuid": parent, "timestamp": when, "message": message}
        parent = uuid


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def assistant(*content: Json) -> Json:
    return {"role": "assistant", "content": list(content)}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_hand_written_session_resumes(claude: Claude, version: str) -> None:
    with claude(version) as box:
        path = box.write(SESSION, entries("one", "first", "two", "second"))
        resumed = box.resume(SESSION)
        assert (resumed.rc, resumed.result, resumed.session_id) == (0, "ok", SESSION), resumed.stderr
        assert without_context(resumed.messages) == [
            user(text("one")),
            assistant(text("first")),
            user(text("two")),
            assistant(text("second")),
            user(text("NEXT")),
        ]
        assert "NEXT" in path.read_text(encoding="utf-8")  # a resume appends to the file


def test_a_recorded_session_lies_in_the_project_folder_and_resumes(claude: Claude) -> None:
    with claude() as box:
        recorded = box.record("Hello", replies=[Reply([text("Hi there.")])])
        assert (recorded.rc, recorded.result) == (0, "Hi there."), recorded.stderr
        assert recorded.path == box.sessions / f"{recorded.session_id}.jsonl"
        types = [json.loads(line)["type"] for line in recorded.path.read_bytes().splitlines()]
        assert {"user", "assistant"} <= set(types)

        resumed = box.resume(recorded.session_id, "Go on")
        assert resumed.session_id == recorded.session_id
        assert resumed.model
        assert without_context(resumed.messages) == [
            user(text("Hello")),
            assistant(text("Hi there.")),
            user(text("Go on")),
        ]


def test_a_recorded_call_runs_and_is_sent_again(claude: Claude) -> None:
    call = tool_use("Bash", command="echo hi", description="Say hi")
    replies = [Reply([thinking("A greeting."), text("Look:"), call]), Reply([text("Done.")])]
    with claude() as box:
        recorded = box.record("Greet", "--permission-mode", "bypassPermissions", replies=replies)
        assert recorded.result == "Done.", recorded.stderr
        prompt, reply, result, *rest = without_context(box.resume(recorded.session_id).messages)
    assert prompt == user(text("Greet"))
    assert [block["type"] for block in reply["content"]] == ["thinking", "text", "tool_use"]
    assert result["content"][0]["tool_use_id"] == reply["content"][2]["id"]
    assert result["content"][0]["content"] == "hi"
    assert rest == [assistant(text("Done.")), user(text("NEXT"))]


def test_an_unknown_session_is_refused_in_words(claude: Claude) -> None:
    with claude() as box:
        resumed = box.resume(SESSION)
    assert resumed.rc == 1
    assert SESSION in resumed.stderr
    assert resumed.messages == []


def test_only_the_mock_is_asked(claude: Claude) -> None:
    with claude() as box:
        box.record("Hello")
        assert {seen.path for seen in box.api.received} <= {"/", "/v1/messages", "/v1/messages/count_tokens"}


def test_a_run_that_takes_too_long_is_killed_with_its_children(claude: Claude) -> None:
    with claude() as box:
        alive = box.home / "alive"
        os.mkfifo(alive)
        reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
        box.command = ["/bin/sh", "-c", f"sleep 600 > '{alive}' & echo started > '{box.home}/started'; wait"]
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                box.run(timeout=1)
            assert Path(box.home / "started").exists()
            assert ends(reader, seconds=10), "the child outlived its parent"
        finally:
            os.close(reader)


def ends(reader: int, seconds: float) -> bool:
    """Whether all writers of this pipe are gone before the time is up."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            return os.read(reader, 1) == b""
        except BlockingIOError:  # a writer is there and says nothing
            time.sleep(0.01)
    return False
