"""Sessions in the format of each version that early descriptions name, read by one reader."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import clew
from clew.demo.talk import Talk, bash, read, talk, task
from clew.wire.entry import read as read_items
from tests.conversation.lines import texts

NAMED = ("2.0.36", "2.0.37", "2.0.42", "2.0.50", "2.0.76", "2.1.4", "2.1.29", "2.1.45")
PARALLEL = 2

# The six lines of the full example in an early description of the protocol, retyped.
EXAMPLE = """\
{"type":"file-history-snapshot","messageId":"aaa-111","snapshot":{"messageId":"aaa-111","trackedFileBackups":{},"timestamp":"2026-01-03T10:00:00.000Z"},"isSnapshotUpdate":false}
{"type":"user","parentUuid":null,"sessionId":"sess-001","uuid":"aaa-111","timestamp":"2026-01-03T10:00:00.000Z","isSidechain":false,"isMeta":false,"userType":"external","cwd":"/home/user/project","version":"2.1.29","gitBranch":"main","message":{"role":"user","content":"Read the README and tell me what this project does"}}
{"type":"assistant","parentUuid":"aaa-111","sessionId":"sess-001","uuid":"bbb-222","timestamp":"2026-01-03T10:00:02.000Z","requestId":"req_001","isSidechain":false,"userType":"external","cwd":"/home/user/project","version":"2.1.29","gitBranch":"main","message":{"model":"claude-opus-4-5-20251101","id":"msg_001","type":"message","role":"assistant","content":[{"type":"tool_use","id":"toolu_001","name":"Read","input":{"file_path":"/home/user/project/README.md"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":500,"output_tokens":50}}}
{"type":"user","parentUuid":"bbb-222","sessionId":"sess-001","uuid":"ccc-333","timestamp":"2026-01-03T10:00:03.000Z","isSidechain":false,"isMeta":false,"userType":"external","cwd":"/home/user/project","version":"2.1.29","gitBranch":"main","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_001","content":"# My Project\\n\\nA CLI tool for managing widgets."}]},"toolUseResult":{"type":"text","file":{"filePath":"/home/user/project/README.md","content":"# My Project\\n\\nA CLI tool for managing widgets.","numLines":3,"startLine":1,"totalLines":3}}}
{"type":"assistant","parentUuid":"ccc-333","sessionId":"sess-001","uuid":"ddd-444","timestamp":"2026-01-03T10:00:05.000Z","requestId":"req_002","isSidechain":false,"userType":"external","cwd":"/home/user/project","version":"2.1.29","gitBranch":"main","message":{"model":"claude-opus-4-5-20251101","id":"msg_002","type":"message","role":"assistant","content":[{"type":"text","text":"This project is a CLI tool for managing widgets."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":600,"output_tokens":20}}}
{"type":"system","parentUuid":"ddd-444","sessionId":"sess-001","uuid":"eee-555","timestamp":"2026-01-03T10:00:05.500Z","subtype":"turn_duration","durationMs":5500,"isMeta":false,"isSidechain":false,"userType":"external","cwd":"/home/user/project","version":"2.1.29","gitBranch":"main"}
"""  # noqa: E501


def told(version: str) -> Talk:
    """Two turns: parallel calls and an errand in the first, a plain answer in the second."""
    errand = talk(version=version).user("Look around.").reply(call=bash("ls")).result("gate").reply("A gate.")
    asked = talk(version=version).snapshot().user("What is there?")
    asked = (
        asked.reply("I look.", thinking="Hm.", calls=[read("gate.md", "It squeaks."), bash("ls")])
        .result()
        .result("gate")
    )
    asked = asked.reply("I send someone.", call=task("Look", "Look around.")).agent(0, errand).reply("A gate.")
    return asked.queue("enqueue", "later").queue("dequeue").user("Thanks").reply("You are welcome.")


@pytest.mark.req("R347")
@pytest.mark.parametrize("version", NAMED)
def test_a_session_of_each_named_version_reads_alike(version: str, tmp_path: Path) -> None:
    found = clew.read(told(version).write(tmp_path))
    assert found.damage == ()
    assert found.graph.problems == ()
    assert [(turn.text, turn.answer) for turn in found.turns] == [
        ("What is there?", "A gate."),
        ("Thanks", "You are welcome."),
    ]
    assert [turn.state for turn in found.turns] == ["complete", "complete"]
    first = found.turns[0].replies[0]
    assert [block.type for block in first.blocks] == ["thinking", "text", "tool_use", "tool_use"]
    assert [call.name for call in found.turns[0].calls] == ["Read", "Bash", "Task"]
    assert found.pairing.open == found.pairing.orphans == ()
    (agent,) = found.agents
    assert agent.call is not None
    assert agent.session.turns[0].answer == "A gate."
    assert list(found.versions) == [version]
    assert len(clew.usage(found).replies) == len(found.replies) + len(agent.session.replies)
    assert len(found.branches) == 1
    assert found.title == "What is there?"


@pytest.mark.req("R347")
@pytest.mark.parametrize("version", NAMED)
def test_each_version_resumes_its_own_session(version: str) -> None:
    session = clew.Session(told(version).bytes())
    messages = clew.request(session, version, prompt="More?").messages
    assert [m["role"] for m in messages] == ["user", "assistant"] * 4 + ["user"]
    assert texts(messages)[-3:] == ["user: Thanks", "assistant: You are welcome.", "user: More?"]


@pytest.mark.req("R347")
def test_the_sessions_really_differ_in_what_the_versions_wrote(tmp_path: Path) -> None:
    """So that the tests above do not read the same file eight times."""
    shapes = {}
    for version in NAMED:
        path = told(version).write(tmp_path / version)
        entries = clew.read(path).entries
        results = [e for e in entries if e.results][:PARALLEL]
        stops = [e.message.stop_reason for e in entries if e.type == "assistant" and e.message][:4]
        own = all(e.source_tool_assistant == e.parent for e in results)
        flat = any(p.name.startswith("agent-") for p in path.parent.iterdir())
        shapes[version] = (own, flat, [stop is not None for stop in stops])
    chained, last, none = (False, True), [False, False, False, True], [False] * 4
    assert shapes["2.0.36"] == shapes["2.0.37"] == shapes["2.0.42"] == (*chained, [True] * 4)
    assert shapes["2.0.50"] == shapes["2.0.76"] == (*chained, last)
    assert shapes["2.1.4"] == (True, False, last)
    assert shapes["2.1.29"] == shapes["2.1.45"] == (True, False, none)


@pytest.mark.req("R055")
@pytest.mark.req("R056")
def test_a_session_may_cross_versions() -> None:
    crossing = talk(version="2.0.37")
    for number in range(30):
        crossing = crossing.user(str(number)).reply("ok")
    crossing = crossing.change(version="2.0.42")
    for number in range(326):
        crossing = crossing.user(str(number)).reply("ok")
    found = clew.Session(crossing.bytes())
    assert found.versions == {"2.0.37": 60, "2.0.42": 652}
    assert len(found.turns) == 356


@pytest.mark.req("R258")
def test_the_full_example_of_an_early_description() -> None:
    raw = EXAMPLE.encode()
    assert b"".join(item.raw for item in read_items(raw)) == raw
    found = clew.Session(raw)
    (turn,) = found.turns
    assert (turn.text, turn.seconds) == ("Read the README and tell me what this project does", 5.5)
    (call,) = turn.calls
    assert (call.name, call.output) == ("Read", "# My Project\n\nA CLI tool for managing widgets.")
    assert call.detail["file"]["numLines"] == 3
    assert clew.usage(found).total == clew.Count(input=1100, output=70)
    lines = [json.loads(line) for line in EXAMPLE.splitlines()]
    assert clew.request(found, "2.1.29").messages == [
        {"role": "user", "content": [{"type": "text", "text": lines[1]["message"]["content"]}]},
        {"role": "assistant", "content": lines[2]["message"]["content"]},
        {"role": "user", "content": lines[3]["message"]["content"]},
        {"role": "assistant", "content": lines[4]["message"]["content"]},
    ]
