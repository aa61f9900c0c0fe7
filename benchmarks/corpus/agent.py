"""Agents: conversations that a call begins, in the three places where versions keep them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec

from benchmarks.corpus.era import ERAS, Json, Scene, agent_id, stamp, usage_json
from benchmarks.corpus.lines import agent_progress
from benchmarks.corpus.talk import Asked, Stage, Talk
from benchmarks.corpus.tools import Call
from benchmarks.corpus.turn import report, step
from benchmarks.corpus.words import Pen
from benchmarks.corpus.writer import Writer, write_side


def run_agent(root: Path, above: Talk, asked: Asked) -> Call:
    """Write the agent's conversation; the call with its result."""
    pen, stage, era = above.pen, above.stage, above.scene.era
    prompt = str(asked.call.input["prompt"])
    agent = agent_id(pen, era)
    talk = _open(root, above, agent)
    talk.prompt_id = above.prompt_id
    began = stage.clock
    until = stage.budget.left - stage.budget.room(0.05 + 0.25 * pen.rng.random(), 2000, 250_000)
    talk.user(prompt)
    while stage.budget.left > until:
        step(talk, agents=0.0)
    answer = report(talk)
    if talk.writer is not above.writer:
        _close(root, above, talk, asked)
    if era.progress:
        for message in talk.echo:
            data = agent_progress(message, prompt, agent, pen.uuid(), stamp(stage.clock))
            above.progress(data, f"agent_{asked.message}", asked.id, asked.owner)
    if asked.call.input.get("run_in_background"):
        return _launched(asked.call, agent, talk)
    return _finished(asked.call, agent, talk, answer, stage.clock - began)


def warm_up(root: Path, pen: Pen, stage: Stage) -> None:
    """The stub that old versions left beside the sessions: one line, now and then an answer to it."""
    era = ERAS[1]
    session, agent = pen.uuid(), agent_id(pen, era)
    scene = Scene(
        era,
        era.versions[0],
        era.helper,
        session,
        stage.project.cwd,
        "main",
        "cli",
        agent=agent,
        sidechain=True,
    )
    name = f"projects/{stage.project.folder}/agent-{agent}.jsonl"
    talk = Talk(scene, pen, Writer(root, name, stage.ledger, stage.budget), stage)
    talk.user("Warmup")
    if pen.chance(0.5):
        report(talk)
    talk.writer.close(stage.clock)
    stage.ledger.events["agents"] += 1
    stage.ledger.events["warmups"] += 1


def _open(root: Path, above: Talk, agent: str) -> Talk:
    era, scene, stage = above.scene.era, above.scene, above.stage
    model = era.helper if above.pen.chance(0.7) else scene.model
    if era.agents == "inline":
        return Talk(replace(scene, sidechain=True, model=model), above.pen, above.writer, stage)
    folder = f"projects/{stage.project.folder}"
    if era.agents == "nested":
        folder += f"/{scene.session}/subagents"
    writer = Writer(root, f"{folder}/agent-{agent}.jsonl", stage.ledger, stage.budget)
    return Talk(replace(scene, sidechain=True, model=model, agent=agent), above.pen, writer, stage)


def _close(root: Path, above: Talk, talk: Talk, asked: Asked) -> None:
    stage, name = talk.stage, talk.writer.name
    talk.writer.close(stage.clock)
    stage.ledger.events["agents"] += 1
    if not talk.scene.era.titles:
        return
    meta: Json = {
        "agentType": asked.call.input["subagent_type"],
        "description": asked.call.input["description"],
    }
    if talk.scene.era.late:
        meta |= {"toolUseId": asked.id, "spawnDepth": 1}
    path = root / (name.removesuffix(".jsonl") + ".meta.json")
    write_side(path, msgspec.json.encode(meta), stage.ledger, stage.budget, stage.clock)


def _finished(call: Call, agent: str, talk: Talk, answer: str, took: int) -> Call:
    """The result holds the sum of the agent's usage: it must not be counted again."""
    blocks = [{"type": "text", "text": answer}]
    spent = talk.spent
    result: Json = {
        "status": "completed",
        "prompt": call.input["prompt"],
        "agentId": agent,
        "content": blocks,
    }
    if talk.scene.era.agents == "inline":
        result = {"content": blocks}
    result |= {
        "totalDurationMs": took,
        "totalTokens": spent.input + spent.output + spent.cache_creation_5m + spent.cache_creation_1h,
        "totalToolUseCount": talk.calls,
        "usage": usage_json(talk.scene, spent),
    }
    return replace(call, content=blocks, result=result)


def _launched(call: Call, agent: str, talk: Talk) -> Call:
    text = f"The agent {agent} works in the background; word comes when it has finished."
    result: Json = {
        "isAsync": True,
        "status": "async_launched",
        "agentId": agent,
        "description": call.input["description"],
        "resolvedModel": talk.scene.model,
        "prompt": call.input["prompt"],
        "outputFile": f"/tmp/claude/tasks/{agent}.output",
        "canReadOutputFile": True,
    }
    return replace(call, content=[{"type": "text", "text": text}], result=result)


def notification(agent: str, summary: str) -> tuple[str, Json]:
    """The user entry that says that a background agent has finished: nobody typed it."""
    text = (
        f"<task-notification>\n<task-id>{agent}</task-id>\n<status>completed</status>\n"
        f"<summary>{summary}</summary>\n</task-notification>"
    )
    return text, {"origin": {"kind": "task-notification"}, "promptSource": "system"}


def torn_line(talk: Talk) -> bytes:
    """The first part of a line that was never finished."""
    pen = talk.pen
    message: Json = {"role": "user", "content": pen.sentence(40)}
    line: Json = {"parentUuid": talk.parent, **talk.scene.head, "type": "user", "message": message}
    data = msgspec.json.encode(line)
    return data[: pen.between(len(data) // 3, len(data) - 10)]
