"""Errands: a sub-agent's conversation, made part of the session whose call began it.

The child was built on its own; here it gets its parent's session, folder and time, and ids of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from clew.demo import identifiers
from clew.demo.line_script import AgentScript, Beside, LineScript, NewestLines, Said, Use
from clew.demo.version_layout import Data, Setup, arrange, envelope, is_new
from clew.wire.json_codec import encode
from clew.wire.timestamps import format_timestamp, parse_timestamp

S = TypeVar("S", bound=LineScript)

_TIMES = ("timestamp", "backupTime")
_TYPED_ONLY = {
    "permissionMode",
    "origin",
    "promptSource",
    "turnOrigin",
    "turnPosition",
    "todos",
    "thinkingMetadata",
}


@dataclass(frozen=True, slots=True)
class AgentOutcome(Generic[S]):
    """The parent with the agent attached, and how the agent fared."""

    parent: S
    agent_id: str
    took: timedelta


@dataclass(frozen=True, slots=True)
class Move:
    """What changes when a conversation becomes an agent of another one."""

    names: Mapping[str, str]
    shift: timedelta
    setup: Setup
    prompt: str
    kind: str


def send(
    parent: S,
    child: LineScript,
    use: Use,
    *,
    agent_id: str | None = None,
    agent_type: str | None = None,
    run: str = "",
) -> AgentOutcome[S]:
    """Attach a conversation to a call; the parent's clock goes on behind the agent's last line."""
    kind = agent_type or str(use.call.input.get("subagent_type") or "general-purpose")
    number = agent_id or _agent_id(parent.setup, use.id, parent.made, len(parent.agents))
    begun = _first_time(child)
    timed = parent._wait("note")
    names = {old: _renew(old, parent.setup.seed, number) for old in _ids(child)} | {child.session_id: parent.session_id}
    setup = replace(parent.setup, is_agent=True)
    move = Move(names, timed.now - begun, setup, parent.prompt, kind)
    lines = tuple(_moved(said, move, number) for said in child._said())
    own = AgentScript(number, lines, _meta(parent.setup, use, kind, run), run)
    nested = tuple(_nested(agent, move, number) for agent in child.agents)
    took = child.now - begun
    talk = replace(timed, now=timed.now + took)._wait("note")  # after the agent's last line
    if not parent.setup.since("2.0.28"):
        for said in lines:
            talk = replace(talk, newest=NewestLines(talk.newest, said))
        return AgentOutcome(talk, number, took)
    return AgentOutcome(replace(talk, agents=(*parent.agents, own, *nested)), number, took)


def run_all(parent: S, children: Mapping[str, LineScript], use: Use, run: str) -> S:
    """Attach all agents of a workflow run, with the journal and the closing report that the run leaves."""
    talk, journal, told = parent, list[Data](), list[Data]()
    for number, (label, child) in enumerate(children.items(), 1):
        agent_id = "a" + identifiers.hexadecimal(16, run, label)
        text = last_text(child)
        sent = send(talk, child, use, agent_id=agent_id, agent_type="workflow-subagent", run=run)
        talk = sent.parent
        key = f"v1:{identifiers.hexadecimal(12, run, label, 'key')}"
        journal += [{"type": "started", "key": key, "agentId": agent_id}]
        journal += [{"type": "result", "key": key, "agentId": agent_id, "result": text}]
        told += [{"type": "workflow_agent", "index": number, "label": label, "agentId": agent_id, "state": "done"}]
    report = {"runId": run, "status": "completed", "timestamp": format_timestamp(talk.now), "workflowProgress": told}
    folder = "{project}/{session}"
    beside = (
        Beside(f"{folder}/subagents/workflows/{run}/journal.jsonl", b"".join(encode(j) + b"\n" for j in journal)),
        Beside(f"{folder}/workflows/{run}.json", encode(report)),
    )
    return replace(talk, beside=(*talk.beside, *beside))


def totals(setup: Setup, child: LineScript, use: Use, sent: AgentOutcome[Any]) -> Data:
    """The detail of the parent's result: what the agent said and what it took."""
    replies = [e["message"] for e in child._chain() if e["type"] == "assistant"]
    usage = replies[-1]["usage"] if replies else {}
    used = [b["name"] for m in replies for b in m["content"] if b["type"] == "tool_use"]
    found: Data = {}
    if setup.since("2.0.28"):
        found = {"status": "completed", "prompt": use.call.input.get("prompt", ""), "agentId": sent.agent_id}
    if setup.since("2.1.114"):
        found["agentType"] = use.call.input.get("subagent_type", "general-purpose")
    if setup.since("2.1.325"):
        found |= {"toolsUsed": sorted(set(used)), "resolvedModel": setup.model}
    return found | {
        "content": [{"type": "text", "text": last_text(child)}],
        "totalDurationMs": int(sent.took / timedelta(milliseconds=1)),
        "totalTokens": sum(v for k, v in usage.items() if k.endswith("_tokens") and isinstance(v, int)),
        "totalToolUseCount": len(used),
        "usage": usage,
    }


def launch(setup: Setup, use: Use, agent_id: str) -> Data:
    """The detail of the result when the agent works on in the background."""
    return {
        "isAsync": True,
        "status": "async_launched",
        "agentId": agent_id,
        "description": use.call.input.get("description", ""),
        "resolvedModel": setup.model,
        "prompt": use.call.input.get("prompt", ""),
        "outputFile": f"/tmp/claude/{setup.session_id}/tasks/{agent_id}.output",
        "canReadOutputFile": True,
    }


def last_text(child: LineScript) -> str:
    """The last words of a conversation: what an agent reports."""
    for entry in reversed(child._chain()):
        if entry["type"] == "assistant":
            texts = [block["text"] for block in entry["message"]["content"] if block["type"] == "text"]
            if texts:
                return str(texts[-1])
    return ""


def renamed(said: Said, names: Mapping[str, str]) -> Said:
    """The same line with other ids: every string that is a known id, and no part of a string."""
    return said if isinstance(said, bytes) else _renamed(said, names)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(v, names) for key, v in value.items()}
    if isinstance(value, list):
        return [_renamed(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


def _moved(said: Said, move: Move, agent_id: str) -> Said:
    if isinstance(said, bytes):
        return said
    line: Data = _shifted(_renamed(said, move.names), move.shift)
    if "uuid" not in line:
        return line
    if isinstance(line.get("toolUseResult"), dict) and move.setup.since("2.1.1"):
        del line["toolUseResult"]
    line = {key: value for key, value in line.items() if key not in _TYPED_ONLY}
    line |= envelope(move.setup)
    if move.setup.since("2.0.28"):
        line["agentId"] = agent_id
    if line["type"] == "user" and is_new(move.setup):
        line["promptId"] = move.prompt
    if line["type"] == "assistant" and move.setup.since("2.1.140"):
        line["attributionAgent"] = move.kind
    return arrange(move.setup, line)


def _nested(agent: AgentScript, move: Move, parent_id: str) -> AgentScript:
    """An agent of the agent: flat in the same folder, one step deeper."""
    number = move.names[agent.id]
    lines = tuple(_moved(said, move, number) for said in agent.lines)
    meta = dict(_renamed(dict(agent.meta), move.names))
    if "spawnDepth" in meta:
        meta["spawnDepth"] += 1
        meta.setdefault("parentAgentId", parent_id)
    return AgentScript(number, lines, meta, agent.run)


def _shifted(value: Any, by: timedelta) -> Any:
    if isinstance(value, list):
        return [_shifted(v, by) for v in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, inner in value.items():
        moment = parse_timestamp(inner) if key in _TIMES and isinstance(inner, str) else None
        found[key] = format_timestamp(moment + by) if moment else _shifted(inner, by)
    return found


def _ids(child: LineScript) -> Iterator[str]:
    """Every id that the lines of a conversation and its agents define."""
    for said in [*child._said(), *(line for agent in child.agents for line in agent.lines)]:
        if not isinstance(said, dict):
            continue
        message = said.get("message")
        inner = message if isinstance(message, dict) else {}
        content = inner.get("content")
        uses = [b.get("id") for b in content if b.get("type") == "tool_use"] if isinstance(content, list) else []
        for found in (said.get("uuid"), said.get("requestId"), said.get("promptId"), inner.get("id"), *uses):
            if isinstance(found, str):
                yield found
    yield from (agent.id for agent in child.agents)


def _renew(old: str, seed: str, agent_id: str) -> str:
    """A new id of the same form."""
    if old.startswith("msg_"):
        return identifiers.message_id(seed, agent_id, old)
    if old.startswith("req_"):
        return "req_" + identifiers.message_id(seed, agent_id, old)[4:]
    if old.startswith("toolu_"):
        return identifiers.call_id(seed, agent_id, old)
    if len(old) == 36:
        return identifiers.uuid(seed, agent_id, old)
    return old[:1] + identifiers.hexadecimal(len(old) - 1, seed, agent_id, old)


def _agent_id(setup: Setup, *parts: object) -> str:
    if not setup.since("2.0.76"):
        return identifiers.hexadecimal(8, setup.seed, *parts)
    return "a" + identifiers.hexadecimal(16 if setup.since("2.1.50") else 6, setup.seed, *parts)


def _meta(setup: Setup, use: Use, kind: str, run: str) -> Data:
    if run:
        return {"agentType": kind, "spawnDepth": 1}
    found: Data = {"agentType": kind}
    if setup.since("2.1.325"):
        found["isBuiltIn"] = kind in ("general-purpose", "Explore", "Plan")
    found["description"] = use.call.input.get("description", "")
    if setup.since("2.1.200"):
        found |= {"toolUseId": use.id, "spawnDepth": 1}
    if setup.since("2.1.325"):
        found |= {"requestShape": "foreground", "requestNonInteractive": False, "finished": True}
    return found


def _first_time(child: LineScript) -> datetime:
    for said in child._said():
        moment = parse_timestamp(said.get("timestamp")) if isinstance(said, dict) else None
        if moment:
            return moment
    return child.now
