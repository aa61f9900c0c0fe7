"""The builder: the files it writes, with those of agents and of workflow runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clew.demo.talk import Talk, bash, talk, task, tool


def blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    content = entry["message"]["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def sample() -> Talk:
    return talk().user("hi").reply("hello", thinking="hm", call=bash("ls")).result("a").reply("done")


# -- files


def test_write_makes_a_new_file_and_only_that(tmp_path: Path) -> None:
    path = sample().write(tmp_path)
    assert path == tmp_path / "projects" / "-home-ada-garden" / f"{sample().session_id}.jsonl"
    assert path.read_bytes() == sample().bytes()
    with pytest.raises(FileExistsError):
        sample().write(tmp_path)


def test_write_keeps_a_torn_tail(tmp_path: Path) -> None:
    told = sample().raw(b'{"torn')
    assert told.write(tmp_path).read_bytes() == told.bytes()


def child(version: str) -> Talk:
    inner = talk(version=version).user("deeper").reply(call=bash("ls")).result("b").reply("deep")
    told = talk(version=version).user("look").reply(call=task("Deeper", "deeper")).agent(0, inner)
    return told.reply("found")


def parent(version: str) -> Talk:
    told = talk(version=version).user("go").reply("I ask.", call=task("Look", "look", "Explore"))
    return told.agent(0, child(version)).reply("done")


def test_agents_have_files_of_their_own(tmp_path: Path) -> None:
    told = parent("2.1.325")
    folder = told.write(tmp_path).with_suffix("") / "subagents"
    outer, inner = told.agents
    assert {path.name for path in folder.iterdir()} == {
        f"agent-{agent.id}{ending}" for agent in told.agents for ending in (".jsonl", ".meta.json")
    }
    lines = [json.loads(line) for line in (folder / f"agent-{outer.id}.jsonl").read_bytes().splitlines()]
    assert all(line["isSidechain"] and line["agentId"] == outer.id for line in lines)
    assert {line["sessionId"] for line in lines} == {told.session_id}
    assert (outer.meta["spawnDepth"], inner.meta["spawnDepth"]) == (1, 2)
    assert inner.meta["parentAgentId"] == outer.id
    assert outer.meta["toolUseId"] == blocks(told.data()[2])[0]["id"]


def test_the_parent_gets_the_totals_of_its_agent() -> None:
    told = parent("2.1.232")
    result = next(entry for entry in told.data() if "toolUseResult" in entry)
    detail = result["toolUseResult"]
    assert (detail["agentId"], detail["status"], detail["totalToolUseCount"]) == (told.agents[0].id, "completed", 1)
    assert detail["content"] == blocks(result)[0]["content"] == [{"type": "text", "text": "found"}]
    times = [line["timestamp"] for line in told.agents[0].lines if isinstance(line, dict)]
    assert told.data()[2]["timestamp"] < times[0] < times[-1] < result["timestamp"]


def test_agents_of_older_versions_lie_beside_the_session_or_in_it(tmp_path: Path) -> None:
    flat = parent("2.0.76")
    assert sorted(p.name for p in flat.write(tmp_path).parent.glob("agent-*")) == sorted(
        f"agent-{agent.id}.jsonl" for agent in flat.agents
    )
    inline = talk(version="1.0.117").user("go").reply(call=task("Look", "look"))
    inline = inline.agent(0, talk(version="1.0.117").user("look").reply("found")).reply("done")
    assert [entry["isSidechain"] for entry in inline.data()] == [False, False, True, True, False, False]
    assert not inline.agents


def test_a_background_agent_is_only_launched() -> None:
    told = (
        talk().user("go").reply(call=task("Look", "look")).agent(0, talk().user("look").reply("found"), background=True)
    )
    assert told.data()[-1]["toolUseResult"]["status"] == "async_launched"


def test_a_workflow_has_a_folder_of_its_own(tmp_path: Path) -> None:
    told = talk().user("go").reply(call=tool("Workflow", name="w"))
    told = told.workflow(0, {"one": talk().user("1").reply("a"), "two": talk().user("2").reply("b")}, run="wf_1")
    folder = told.write(tmp_path).with_suffix("")
    names = sorted(path.name for path in (folder / "subagents" / "workflows" / "wf_1").iterdir())
    assert len([name for name in names if name.endswith(".meta.json")]) == 2
    assert names[-1] == "journal.jsonl"
    assert (folder / "workflows" / "wf_1.json").exists()
