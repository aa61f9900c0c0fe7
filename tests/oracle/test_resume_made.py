"""Sessions that the CLI recorded itself, and sessions that clew's builder made, resume as clew says."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.demo.demo_tree import write_demo
from clew.demo.talk import Talk, bash, edit, read, talk, task
from tests.oracle.claude import LATEST, VERSIONS, Box
from tests.oracle.conftest import Claude
from tests.oracle.judge import Verdict, bench, judge
from tests.oracle.mock_api import Reply, text, thinking, tool_use

pytestmark = pytest.mark.oracle

# Recorded by the CLI

LIST = tool_use("Bash", command="echo hi", description="Say hi")
FAIL = tool_use("Bash", command="exit 3", description="Fail")
WORDS = tool_use("Glob", pattern="*.none")
DONE = Reply([text("Done.")])

RECORDED: dict[str, list[Reply]] = {
    "a text": [DONE],
    "thinking and a text": [Reply([thinking("Hm."), text("Hello.")])],
    "one call": [Reply([text("Look:"), LIST]), DONE],
    "three parallel calls": [Reply([thinking("Three."), LIST, WORDS, LIST]), DONE],
    "an error": [Reply([FAIL]), DONE],
    "two calls in a row": [Reply([LIST]), Reply([FAIL]), DONE],
}


def record(box: Box, replies: Sequence[Reply]) -> str:
    recorded = box.record("Go", "--permission-mode", "bypassPermissions", replies=replies)
    assert recorded.rc == 0, recorded.stderr
    return recorded.session_id


def check(box: Box, session: str) -> None:
    """The file as the CLI left it is written back as it was, and resumed."""
    path = box.sessions / f"{session}.jsonl"
    judge(box, path.read_bytes(), session).check()


@pytest.mark.parametrize("what", RECORDED)
def test_a_recorded_session(claude: Claude, what: str) -> None:
    with claude() as box:
        check(box, record(box, RECORDED[what]))


def test_a_session_of_two_runs(claude: Claude) -> None:
    with claude() as box:
        session = record(box, RECORDED["one call"])
        assert box.resume(session, "And then?").rc == 0
        check(box, session)
        check(box, session)  # with the prompt and reply of the check before


def test_a_session_compacted_by_the_cli(claude: Claude) -> None:
    with claude() as box:
        session = record(box, RECORDED["one call"])
        for _ in range(2):
            box.api.replies.append(Reply([text("<summary>All in all.</summary>")]))
            compacted = box.run("-r", session, "-p", "/compact")
            assert compacted.rc == 0, compacted.stderr
            assert b"compact_boundary" in (box.sessions / f"{session}.jsonl").read_bytes()
            check(box, session)


# Made by the builder


def plain() -> Talk:
    return talk().user("hi").reply("hello").user("and?").reply("bye", thinking="Well.")


def tools() -> Talk:
    return (
        talk()
        .user("look")
        .reply("So:", call=bash("ls"))
        .result("a\nb")
        .reply(call=bash("false"))
        .result("no", error=True)
        .reply("done")
        .turn_duration()
    )


def parallel() -> Talk:
    told = talk().user("all").reply("So:", thinking="Three.", calls=[bash("a"), bash("b"), read("/home/ada/garden/x")])
    return told.result("C", for_=2).result("A", for_=0).result("B", for_=1).reply("done")


def compaction() -> Talk:
    told = plain().user("more").reply(call=bash("ls")).result("a").reply("listed").compact("In short.", keep=2)
    return told.user("go on").reply("on")


def branches() -> Talk:
    return plain().rewind(to=2).user("instead").reply("other").last_prompt().rewind(to=1).user("anew").reply("again")


def agents() -> Talk:
    child = talk().user("Find.").reply(call=bash("ls")).result("x").reply("Found.")
    return talk().user("go").reply(call=task("Find", "Find.")).agent(0, child).reply("thanks")


def interrupted() -> Talk:
    return talk().user("go").reply("wait", call=edit("/home/ada/garden/x", "a", "b")).interrupt(in_tool=True)


MADE = (plain, tools, parallel, compaction, branches, agents, interrupted)


@pytest.mark.parametrize("version", VERSIONS)
def test_made_sessions(claude: Claude, version: str) -> None:
    with bench(claude, version) as boxes:
        files = {make.__name__: make() for make in MADE}
        judged = {name: boxes.judge(made.bytes(), made.session_id, f"builder/{name}") for name, made in files.items()}
        for future in judged.values():
            future.result().check()


def test_the_sessions_of_the_demo(claude: Claude, tmp_path: Path) -> None:
    made = write_demo(tmp_path / "demo", datetime(2026, 3, 1, tzinfo=UTC))
    stories = {session: story for story, session in made.sessions.items()}
    files = sorted((tmp_path / "demo").glob("projects/*/*.jsonl"))
    assert len(files) > 5
    with bench(claude, LATEST) as boxes:
        judged = {path.stem: boxes.judge(path.read_bytes(), path.stem, f"demo/{path.stem}") for path in files}
        wrong = {stories.get(session, session): why for session, future in judged.items() if (why := faults(future))}
    assert not wrong


def faults(future: Future[Verdict]) -> str:
    try:
        future.result().check()
    except AssertionError as difference:
        return str(difference)
    return ""
