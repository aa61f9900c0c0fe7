"""The lines that `clew chat -p` writes, read as JSON: a turn with parallel calls, changed files and an agent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from clew.api.mock.scripts import MockScript, ScriptRule
from clew.api.mock.server import running
from tests.cli.side_tree import SESSION, entry, prompt, reply, text, uuid, write_lines
from tests.cli.test_chat import surroundings

Json = dict[str, Any]


def tool(name: str, **given: Any) -> Json:
    return {"tool": name, "input": given}


LINK = "https://github.com/mira/plates/pull/7"
SCRIPT = MockScript(
    rules=[
        ScriptRule(prompt="greet", steps=["Hello."]),
        ScriptRule(
            prompt="publish",
            steps=[[tool("Bash", command=f"echo {LINK}")], [tool("Bash", command=f"echo {LINK}")], "Out."],
        ),
        ScriptRule(prompt="go on", steps=["On we go."]),
        ScriptRule(prompt="inner", steps=[[tool("Bash", command="echo inner")], "Seven."]),
        ScriptRule(
            prompt="work",
            steps=[
                ["I look.", tool("Bash", command="echo one"), tool("Bash", command="echo two")],
                [tool("Read", file_path="old.txt")],
                [tool("Edit", file_path="old.txt", old_string="two", new_string="three")],
                [tool("Write", file_path="new.txt", content="seven\n")],
                [tool("Task", description="Count", prompt="inner count", subagent_type="general-purpose")],
                "Done.",
            ],
        ),
    ]
)


class Written:
    """The project, and the lines of the session and of its agent."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        [self.path] = (folder / "claude" / "projects").glob("*/*.jsonl")
        [self.agent_path] = self.path.with_suffix("").glob("subagents/agent-*.jsonl")
        self.raw = self.path.read_bytes()
        self.lines: list[Json] = [json.loads(line) for line in self.raw.splitlines()]
        self.agent: list[Json] = [json.loads(line) for line in self.agent_path.read_bytes().splitlines()]
        self.messages = [line for line in self.lines if line["type"] in ("user", "assistant")]

    def results(self) -> list[tuple[Json, Json]]:
        """Each line with a result of a tool, and the block."""
        lists = [(line, line["message"]["content"]) for line in self.messages if line["type"] == "user"]
        return [
            (line, content[0]) for line, content in lists if isinstance(content, list) and "tool_use_id" in content[0]
        ]

    def calls(self) -> dict[str, tuple[Json, Json]]:
        """By the id of a call: its line, and the block."""
        spoken = [(line, line["message"]["content"]) for line in self.messages if line["type"] == "assistant"]
        return {b["id"]: (line, b) for line, blocks in spoken for b in blocks if b["type"] == "tool_use"}


@pytest.fixture
def written(tmp_path: Path) -> Written:
    project = tmp_path / "project"
    project.mkdir()
    (project / "old.txt").write_text("one\ntwo\n", encoding="utf-8")
    subprocess.run(["git", "init", "-q", "-b", "plates"], cwd=project, check=True)
    with running(SCRIPT) as server:
        words = [sys.executable, "-m", "clew", "chat", "-p", "work", "--dangerously-skip-permissions"]
        around = surroundings(server, tmp_path)
        done = subprocess.run(words, input="", capture_output=True, text=True, cwd=project, env=around, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Done.\n", "")
    return Written(tmp_path)


@pytest.mark.req("R242", "R243", "R244", "R241")
def test_each_line_is_compact_chained_dated_and_says_where_it_was_written(written: Written) -> None:
    assert written.raw.endswith(b"\n")
    for raw, line in zip(written.raw.splitlines(), written.lines, strict=True):
        assert raw.decode() == json.dumps(line, separators=(",", ":"), ensure_ascii=False)
    chained = [line for line in written.lines if "uuid" in line and line["type"] != "progress"]
    assert [line["parentUuid"] for line in chained] == [None, *(line["uuid"] for line in chained[:-1])]
    assert all(UUID(line["uuid"]).version == 4 for line in chained)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["timestamp"]) for line in chained)
    times = [datetime.fromisoformat(line["timestamp"]) for line in chained]
    assert times == sorted(times)
    for line in written.messages:
        assert (line["cwd"], line["gitBranch"]) == (str(written.project.resolve()), "plates")
        assert (line["userType"], line["isSidechain"], line["sessionId"]) == ("external", False, written.path.stem)
        assert re.fullmatch(r"\d+\.\d+\.\d+", line["version"])
    (slug,) = {line["slug"] for line in written.messages if "slug" in line}
    assert re.fullmatch(r"[a-z]+-[a-z]+-[a-z]+", slug)


@pytest.mark.req("R246", "R248")
def test_a_reply_is_one_line_for_each_block_and_only_the_last_says_why_it_ended(written: Written) -> None:
    spoken = [line for line in written.messages if line["type"] == "assistant"]
    assert all(len(line["message"]["content"]) == 1 for line in spoken)
    first = [line for line in spoken if line["message"]["id"] == spoken[0]["message"]["id"]]
    assert [line["message"]["content"][0]["type"] for line in first] == ["text", "tool_use", "tool_use"]
    assert [line["message"]["stop_reason"] for line in first] == [None, None, "tool_use"]
    assert len({line["requestId"] for line in first}) == 1
    assert spoken[-1]["message"]["stop_reason"] == "end_turn"


@pytest.mark.req("R247", "R248")
def test_each_result_is_one_line_with_its_record_and_its_caller(written: Written) -> None:
    calls, results = written.calls(), written.results()
    assert [block["tool_use_id"] for _, block in results] == list(calls)
    for line, block in results:
        assert len(line["message"]["content"]) == 1
        assert line["sourceToolAssistantUUID"] == calls[block["tool_use_id"]][0]["uuid"]
        assert not block.get("is_error", False)
    assert [line["toolUseResult"].get("stdout") for line, _ in results][:2] == ["one", "two"]


@pytest.mark.req("R111", "R245")
def test_files_are_saved_before_they_change_and_new_ones_have_no_patch(written: Written) -> None:
    snapshots = [line for line in written.lines if line["type"] == "file-history-snapshot"]
    (prompt,) = (line for line in written.messages if line["message"]["content"] == "work")
    assert snapshots[0]["messageId"] == prompt["uuid"] and not snapshots[0]["isSnapshotUpdate"]
    tracked = snapshots[-1]["snapshot"]["trackedFileBackups"]
    assert snapshots[-1]["isSnapshotUpdate"] and {Path(name).name for name in tracked} == {"old.txt", "new.txt"}
    (saved,) = (each for name, each in tracked.items() if Path(name).name == "old.txt")
    backup = next((written.path.parents[2] / "file-history").rglob(saved["backupFileName"]))
    assert backup.read_text(encoding="utf-8") == "one\ntwo\n"
    records = [line["toolUseResult"] for line, _ in written.results()]
    (made,) = (each for each in records if each.get("type") == "create")
    assert (made["structuredPatch"], made["originalFile"]) == ([], None)


@pytest.mark.req("R251")
def test_the_duration_of_the_turn_is_written(written: Written) -> None:
    (line,) = (each for each in written.lines if each.get("subtype") == "turn_duration")
    times = [datetime.fromisoformat(each["timestamp"]) for each in written.messages]
    took = (times[-1] - times[0]).total_seconds() * 1000
    assert 0.5 * took <= line["durationMs"] <= took + 60_000


@pytest.mark.req("R194", "R250", "R252")
def test_an_agent_has_a_file_of_its_own_and_its_totals_in_the_result(written: Written) -> None:
    id = written.agent_path.stem.removeprefix("agent-")
    first = written.agent[0]
    assert (first["parentUuid"], first["isSidechain"], first["agentId"]) == (None, True, id)
    chained = [line for line in written.agent if "uuid" in line]
    assert all(
        (line["isSidechain"], line["agentId"], line["sessionId"]) == (True, id, written.path.stem) for line in chained
    )
    record = written.results()[-1][0]["toolUseResult"]
    assert (record["status"], record["agentId"], record["totalToolUseCount"]) == ("completed", id, 1)
    assert record["totalTokens"] > 0 and record["totalDurationMs"] >= 0
    [progress] = [line for line in written.lines if line["type"] == "progress"]
    called, block = written.calls()[progress["parentToolUseID"]]
    assert (progress["data"]["type"], progress["parentUuid"], block["name"]) == (
        "agent_progress",
        called["uuid"],
        "Task",
    )


def typed(folder: Path, *words: str) -> list[Json]:
    """The bodies of the requests that `clew chat` sends in the project of a folder."""
    with running(SCRIPT, keeps_bodies=True) as server:
        command = [sys.executable, "-m", "clew", "chat", "-p", *words, "--dangerously-skip-permissions"]
        around = surroundings(server, folder)
        subprocess.run(command, input="", capture_output=True, cwd=folder / "project", env=around, check=True)
        return [row["body"] for row in server.rows if row["path"] == "/v1/messages"]


def kept(folder: Path) -> list[Json]:
    """The lines of the only session."""
    [path] = (folder / "claude" / "projects").glob("*/*.jsonl")
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.req("R249")
def test_the_body_of_a_skill_is_a_meta_line_below_its_command(tmp_path: Path) -> None:
    skill = tmp_path / "project" / ".claude" / "commands" / "greet.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: Greets.\n---\ngo and greet $ARGUMENTS", encoding="utf-8")
    typed(tmp_path, "/greet Ada")
    command, body = (line for line in kept(tmp_path) if line["type"] == "user")
    assert "<command-name>/greet</command-name>" in command["message"]["content"] and "isMeta" not in command
    assert (body["isMeta"], body["parentUuid"]) == (True, command["uuid"])
    assert body["message"]["content"] == "go and greet Ada"


@pytest.mark.req("R254")
def test_a_pull_request_is_linked_once(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    typed(tmp_path, "publish")
    [link] = [line for line in kept(tmp_path) if line["type"] == "pr-link"]
    assert (link["prNumber"], link["prUrl"], link["prRepository"]) == (7, LINK, "mira/plates")
    assert "timestamp" in link


@pytest.mark.req("R256")
def test_a_session_is_resumed_after_its_last_compaction(tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", str((tmp_path / "project").resolve()))
    (tmp_path / "project").mkdir()
    size = {"trigger": "manual", "preTokens": 1550}
    boundary = entry("system", uuid(3), None, 3, subtype="compact_boundary", content="Compacted", compactMetadata=size)
    lines = [
        prompt(1, None, "List all plates"),
        reply(2, 1, text("There are two.")),
        {**boundary, "logicalParentUuid": uuid(2)},
        prompt(4, 3, "This was said: plates were counted.", isCompactSummary=True),
        prompt(5, 4, "Which is the older one?"),
        reply(6, 5, text("The first.")),
    ]
    for line in lines:
        line["cwd"] = str((tmp_path / "project").resolve())
    write_lines(folder / f"{SESSION}.jsonl", *lines)
    body = typed(tmp_path, "go on", "--resume", SESSION)[-1]
    sent = json.dumps(body["messages"])
    said = ("This was said: plates were counted.", "Which is the older one?", "The first.", "go on")
    assert [sent.count(words) for words in said] == [1, 1, 1, 1]
    assert "List all plates" not in sent and "There are two." not in sent
