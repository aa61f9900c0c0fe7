"""Agents: their files, their totals, several at once, below each other, failing, and broken off."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clew.api.mock.scripts import Fault, ScriptRule, ScriptStep
from clew.chat import events
from clew.chat.agents.agent_files import load_agent_kinds
from clew.chat.agents.agent_kind import AgentKind
from clew.chat.engine import Engine
from clew.chat.tools.builtin.todo_write import TODO_WRITE
from clew.chat.tools.builtin.use_skill import SkillBody
from clew.facts.token_usage import usage
from clew.wire.json_codec import decode
from clew.wire.layout import Tree
from clew.wire.side_files import read_todos
from tests.chat.chat_fixture import (
    AGENT,
    ECHO,
    KINDS,
    SAVE,
    SESSION,
    World,
    counts,
    limited,
    open_engine,
    sound,
    use,
    waiting,
    world,
)
from tests.chat.test_resume_session import spec


def agents(made: World) -> list[Path]:
    return sorted((made.path().with_suffix("") / "subagents").glob("agent-*.jsonl"), key=lambda p: p.stat().st_ino)


def task(prompt: str, **more: str) -> Any:
    return use("Task", description="do it", prompt=prompt, **more)


@pytest.mark.req("R252", "R250", "R194")
def test_an_agent_has_a_file_of_its_own_and_totals(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="inner", steps=[[use("Echo", text="a"), use("Save", path="x", text="y")], "Inner done."]),
        ScriptRule(prompt="go", steps=[[task("inner work")], "Outer done."]),
    ]
    with world(tmp_path, rules=rules, strict="advice") as made:
        done = made.run("go")
    assert done.text == "Outer done."
    [path] = agents(made)
    lines = [decode(line) for line in path.read_bytes().splitlines()]
    agent_id = path.stem.removeprefix("agent-")
    assert all(line["isSidechain"] and line["agentId"] == agent_id for line in lines if "uuid" in line)
    assert {line["sessionId"] for line in lines} == {made.session().id}
    assert lines[0]["parentUuid"] is None and lines[0]["message"]["content"] == "inner work"
    assert not any("toolUseResult" in line for line in lines)
    meta = decode(path.with_suffix(".meta.json").read_bytes())
    [result] = [line for line in made.lines() if "toolUseResult" in line]
    call_id = result["message"]["content"][0]["tool_use_id"]
    assert (meta["agentType"], meta["toolUseId"], meta["spawnDepth"]) == ("general-purpose", call_id, 1)
    record = result["toolUseResult"]
    assert (record["status"], record["agentId"], record["totalToolUseCount"]) == ("completed", agent_id, 2)
    last = lines[-1]["message"]["usage"]
    assert record["totalTokens"] == sum(counts(last).values())
    assert record["content"] == [{"type": "text", "text": "Inner done."}]
    assert any(line.get("data", {}).get("type") == "agent_progress" for line in made.lines())
    snapshots = [line for line in made.lines() if line["type"] == "file-history-snapshot"]
    assert "x" in snapshots[-1]["snapshot"]["trackedFileBackups"]
    assert counts(done.usage) == made.charged
    [agent] = made.session().agents
    assert agent.call is not None and agent.call.id == call_id
    assert usage(made.session()).total.output == made.charged["output_tokens"]
    sound(made.path())


def repository(folder: Path) -> None:
    """A repository with one commit, and a hook that must not run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kept.txt").write_text("committed\n")
    name = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    for arguments in (("init", "-q", "-b", "main"), ("add", "."), (*name, "commit", "-q", "-m", "one")):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    hook = folder / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {folder / 'hook-ran'}\n")
    hook.chmod(0o755)


def worktrees(made: World) -> list[str]:
    listed = subprocess.run(["git", "worktree", "list"], cwd=made.project, check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()[1:]


def test_an_isolated_agent_changes_only_its_own_checkout(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="idle", steps=["Nothing to do."]),
        ScriptRule(prompt="inner", steps=[[use("Save", path="kept.txt", text="changed")], "Inner done."]),
        ScriptRule(
            prompt="go",
            steps=[[task("inner work", isolation="worktree"), task("idle", isolation="worktree")], "Outer done."],
        ),
    ]
    with world(tmp_path, rules=rules) as made:
        repository(made.project)
        assert made.run("go", is_trusted=True).text == "Outer done."
    changed, idle = (block["content"][0]["text"] for block in made.sent[-1]["messages"][-1]["content"])
    [tree] = worktrees(made)
    folder, branch = Path(tree.split()[0]), tree.split()[-1].strip("[]")
    assert changed == f"Inner done.\n\nworktreePath: {folder}\nworktreeBranch: {branch}"
    assert idle == "Nothing to do."  # its worktree and branch are gone
    assert folder.parent == made.project / ".claude" / "worktrees"
    assert (folder / "kept.txt").read_text() == "changed"
    assert (made.project / "kept.txt").read_text() == "committed\n"
    assert not (made.project / "hook-ran").exists()
    assert {path.name for path in folder.parent.iterdir()} == {folder.name}
    path = made.path().with_suffix("") / "subagents" / f"{folder.name}.jsonl"
    lines = [decode(line) for line in path.read_bytes().splitlines()]
    assert {(line["cwd"], line["gitBranch"]) for line in lines if "uuid" in line} == {(str(folder), branch)}
    assert decode(path.with_suffix(".meta.json").read_bytes())["worktreePath"] == str(folder)


@pytest.mark.parametrize(
    ("is_trusted", "reason"), [(False, "does not trust this folder"), (True, "not in a git repository")]
)
def test_an_agent_that_cannot_be_isolated_is_not_started(tmp_path: Path, is_trusted: bool, reason: str) -> None:
    rules = [ScriptRule(prompt="go", steps=[[task("inner", isolation="worktree")], "Outer done."])]
    with world(tmp_path, rules=rules) as made:
        if not is_trusted:
            repository(made.project)
        made.run("go", is_trusted=is_trusted)
    [result] = made.sent[-1]["messages"][-1]["content"]
    assert result["is_error"] and reason in result["content"]
    assert agents(made) == [] and not (made.project / ".claude").exists()


def test_agents_run_side_by_side_and_one_may_fail(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="good", steps=["Good."]),
        ScriptRule(prompt="bad", steps=[ScriptStep(content="x", fault=Fault(status=400))]),
        ScriptRule(prompt="go", steps=[[task("good"), task("bad"), task("x", subagent_type="nobody")], "Done."]),
    ]
    with world(tmp_path, rules=rules) as made:
        done = made.run("go")
    good, bad, unknown = made.sent[-1]["messages"][-1]["content"]
    assert good["content"][0]["text"] == "Good." and "is_error" not in good
    assert bad["is_error"] and "The agent failed" in bad["content"]
    assert unknown["is_error"] and "general-purpose" in unknown["content"]
    assert len(agents(made)) == 2 and done.text == "Done."
    assert [e.status for e in made.of(events.AgentFinished)].count("failed") == 1
    assert counts(done.usage) == made.charged


def test_agents_send_agents(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="deepest", steps=["Deep."]),
        ScriptRule(prompt="middle", steps=[[task("deepest")], "Middle."]),
        ScriptRule(prompt="go", steps=[[task("middle")], "Top."]),
    ]
    with world(tmp_path, rules=rules) as made:
        assert made.run("go").text == "Top."
    depths = sorted(decode(p.with_suffix(".meta.json").read_bytes())["spawnDepth"] for p in agents(made))
    assert depths == [1, 2]


def test_breaking_off_ends_the_agents_and_leaves_all_files_whole(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="inner", steps=[[use("Wait")], "Never."]),
        ScriptRule(prompt="go", steps=[[task("inner one"), task("inner two")], "Never."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> events.TurnFinished:
            turn = asyncio.create_task(engine.submit("go"))
            await begun.wait()
            engine.interrupt()
            return await turn

        begun = asyncio.Event()
        wait = waiting(asyncio.Event(), begun)
        done = made.drive(drive, tools=(AGENT, ECHO, SAVE, wait))
    assert done.is_interrupted
    for path in (made.path(), *agents(made)):
        entries = [decode(line) for line in path.read_bytes().splitlines()]
        asked = {b["id"] for e in entries for b in blocks(e) if b["type"] == "tool_use"}
        answered = {b["tool_use_id"] for e in entries for b in blocks(e) if b["type"] == "tool_result"}
        assert asked == answered
    sound(made.path())


def blocks(line: dict[str, object]) -> list[dict[str, str]]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


AGENT_FILE = """---
name: keeper
description: Keeps things.
tools: Echo, Agent(keeper, other), mcp__shelf
disallowedTools: Save
model: haiku
permissionMode: plan
maxTurns: 2
background: true
skills: sorting, nothing
memory: project
---
You keep things.
"""


class Shelf:
    """Skills from a shelf."""

    def names(self) -> Sequence[str]:
        return ["sorting"]

    async def body(self, name: str, arguments: str) -> SkillBody | None:
        return SkillBody("Sort by size.", Path("/shelf")) if name == "sorting" else None


@pytest.mark.req("R252")
def test_what_a_definition_says_is_heeded(tmp_path: Path) -> None:
    folder = tmp_path / "project" / ".claude"
    (folder / "agents").mkdir(parents=True)
    (folder / "agents" / "keeper.md").write_text(AGENT_FILE)
    (folder / "agent-memory" / "keeper").mkdir(parents=True)
    (folder / "agent-memory" / "keeper" / "MEMORY.md").write_text("Blue ones are fragile.\n" + "x\n" * 300 + "too far")
    kinds, notices = load_agent_kinds(tmp_path / "project", tmp_path / "home", True)
    assert notices == []
    rules = [
        ScriptRule(prompt="inner", steps=[[use("Echo", text="a")], [use("Echo", text="b")], "Never."]),
        ScriptRule(prompt="task-id", steps=["Heard."]),
        ScriptRule(prompt="go", steps=[[task("inner work", subagent_type="keeper")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def drive(engine: Engine) -> None:
            await engine.submit("go")
            await engine.settle()
            await engine.close()

        made.drive(drive, kinds=kinds, change=lambda means: replace(means, skills=Shelf()))
    [inner, *_] = [body for body in made.sent if "inner work" in str(body["messages"][0])]
    assert inner["model"].startswith("claude-haiku")
    system = inner["system"][0]["text"]
    assert system.startswith("You keep things.") and "Blue ones are fragile." in system and "too far" not in system
    assert "Sort by size." in str(inner["messages"][0])
    assert [tool["name"] for tool in inner["tools"]] == ["Echo", "Task"]
    assert [note.text for note in made.of(events.Notice)] == [
        "The agent keeper runs without a skill: there is no skill 'nothing'"
    ]
    [begun], [ended] = made.of(events.AgentStarted), made.of(events.AgentFinished)
    assert begun.is_background and ended.status == "failed"  # two turns and no more
    assert [e.mode for e in made.of(events.TurnStarted) if e.agent] == ["plan"]


def test_an_agent_sends_only_the_kinds_that_it_may(tmp_path: Path) -> None:
    kinds = {
        "general-purpose": AgentKind("general-purpose", "Anything.", "You are an agent.", subagent_kinds=("other",)),
        "other": AgentKind("other", "Other things.", "You are another."),
    }
    rules = [
        ScriptRule(prompt="inner", steps=[[task("x"), task("y", subagent_type="other")], "Inner."]),
        ScriptRule(prompt="go", steps=[[task("inner")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:
        made.run("go", kinds=kinds)
    results = [b for body in made.sent for m in body["messages"] for b in m["content"] if b["type"] == "tool_result"]
    [refused] = {b["content"] for b in results if b.get("is_error")}
    assert "There is no agent of the type 'general-purpose'. There are: other." in refused
    assert sorted(e.kind for e in made.of(events.AgentStarted)) == ["general-purpose", "other"]


@pytest.mark.parametrize(
    ("tool", "may"),
    [
        ("Task", True),
        ("Agent", True),
        ("BashOutput", True),
        ("Write", False),
        ("mcp__a__b", True),
        ("mcp__c__d", False),
    ],
)
def test_tools_are_known_by_all_their_names(tool: str, may: bool) -> None:
    assert (
        AgentKind("k", "d", "p", tools=("Agent", "TaskOutput", "mcp__a"), disallowed_tools=("Edit",)).may_use(tool)
        is may
    )


def test_agents_share_the_budget(tmp_path: Path) -> None:
    rules = [
        ScriptRule(prompt="inner", steps=[[use("Echo", text="a")], [use("Echo", text="b")], "Inner."]),
        ScriptRule(prompt="go", steps=[[task("inner 1"), task("inner 2")], "Never."]),
    ]
    with world(tmp_path, rules=rules) as made:
        done = made.run("go", change=limited(dollars=0.00001))
    assert done.ending == "error_max_budget_usd"
    assert [e.status for e in made.of(events.AgentFinished)] == ["failed", "failed"]
    assert counts(done.usage) == made.charged
    sound(made.path())


def test_lists_are_kept_in_files_of_their_own(tmp_path: Path) -> None:
    def todo(status: str) -> Any:
        return use("TodoWrite", todos=[{"content": "Sort", "status": status, "activeForm": "Sorting"}])

    rules = [
        ScriptRule(prompt="inner", steps=[[todo("in_progress")], "Inner."]),
        ScriptRule(prompt="go", steps=[[todo("pending")], [task("inner")], [todo("completed")], "Outer."]),
    ]
    with world(tmp_path, rules=rules) as made:

        async def run() -> None:
            described = spec(made, session_id=SESSION)
            async with open_engine(made, described, (AGENT, TODO_WRITE), KINDS) as engine:
                await engine.submit("go")

        asyncio.run(run())
        [agent] = made.session().agents
        found = {
            path.stem.partition("-agent-")[2]: read_todos(path) for path in Tree(made.root / "claude").todos(SESSION)
        }
    assert {whose: [todo.status for todo in todos] for whose, todos in found.items()} == {
        SESSION: [],  # done
        agent.id: ["in_progress"],
    }
