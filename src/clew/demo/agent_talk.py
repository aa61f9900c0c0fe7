"""Attach a sub-agent's conversation to the call that started it.

The child is built separately; here it gets its parent's session, folder and time, and new ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from clew.demo import identifiers
from clew.demo.line_script import AgentScript, LineContent, LineScript, NewestLines, PendingUse, SideFile
from clew.demo.version_layout import Data, Setup, arrange, envelope, has_trailing_envelope
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


class AgentOutcome(Struct, Generic[S], frozen=True):
    """The parent with the agent attached, and the agent's id and duration."""

    parent: S
    agent_id: str
    took: timedelta


class Transfer(Struct, frozen=True):
    """What changes when a conversation becomes an agent of another one."""

    names: Mapping[str, str]
    shift: timedelta
    setup: Setup
    prompt: str
    kind: str


def attach_agent(
    parent: S,
    child: LineScript,
    use: PendingUse,
    *,
    agent_id: str | None = None,
    agent_type: str | None = None,
    run: str = "",
) -> AgentOutcome[S]:
    """Attach a conversation to a call; the parent's clock continues after the agent's last line."""
    kind = agent_type or str(use.call.input.get("subagent_type") or "general-purpose")
    number = agent_id or _agent_id(parent.setup, use.id, parent.made, len(parent.agents))
    child_start = _first_time(child)
    timed = parent._wait("note")
    names = {old: _new_id(old, parent.setup.seed, number) for old in _defined_ids(child)} | {
        child.session_id: parent.session_id
    }
    setup = replace(parent.setup, is_agent=True)
    move = Transfer(names, timed.now - child_start, setup, parent.prompt, kind)
    lines = tuple(_transfer_line(line, move, number) for line in child._lines())
    script = AgentScript(number, lines, _agent_meta(parent.setup, use, kind, run), run)
    nested = tuple(_transfer_agent(agent, move, number) for agent in child.agents)
    took = child.now - child_start
    talk = replace(timed, now=timed.now + took)._wait("note")  # the result comes after the agent's last line
    if not parent.setup.since("2.0.28"):
        for line in lines:
            talk = replace(talk, newest=NewestLines(talk.newest, line))
        return AgentOutcome(talk, number, took)
    return AgentOutcome(replace(talk, agents=(*parent.agents, script, *nested)), number, took)


def attach_workflow(parent: S, children: Mapping[str, LineScript], use: PendingUse, run: str) -> S:
    """Attach all agents of a workflow run, with its journal and final report."""
    talk, journal, progress = parent, list[Data](), list[Data]()
    for number, (label, child) in enumerate(children.items(), 1):
        agent_id = "a" + identifiers.hexadecimal(16, run, label)
        text = last_text(child)
        sent = attach_agent(talk, child, use, agent_id=agent_id, agent_type="workflow-subagent", run=run)
        talk = sent.parent
        key = f"v1:{identifiers.hexadecimal(12, run, label, 'key')}"
        journal += [{"type": "started", "key": key, "agentId": agent_id}]
        journal += [{"type": "result", "key": key, "agentId": agent_id, "result": text}]
        progress += [{"type": "workflow_agent", "index": number, "label": label, "agentId": agent_id, "state": "done"}]
    report = {
        "runId": run,
        "status": "completed",
        "timestamp": format_timestamp(talk.now),
        "workflowProgress": progress,
    }
    folder = "{project}/{session}"
    beside = (
        SideFile(f"{folder}/subagents/workflows/{run}/journal.jsonl", b"".join(encode(j) + b"\n" for j in journal)),
        SideFile(f"{folder}/workflows/{run}.json", encode(report)),
    )
    return replace(talk, beside=(*talk.beside, *beside))


def agent_totals(setup: Setup, child: LineScript, use: PendingUse, sent: AgentOutcome[Any]) -> Data:
    """Return the detail of the parent's result: the agent's reply and usage."""
    replies = [e["message"] for e in child._chain() if e["type"] == "assistant"]
    usage = replies[-1]["usage"] if replies else {}
    used = [b["name"] for m in replies for b in m["content"] if b["type"] == "tool_use"]
    totals: Data = {}
    if setup.since("2.0.28"):
        totals = {"status": "completed", "prompt": use.call.input.get("prompt", ""), "agentId": sent.agent_id}
    if setup.since("2.1.114"):
        totals["agentType"] = use.call.input.get("subagent_type", "general-purpose")
    if setup.since("2.1.325"):
        totals |= {"toolsUsed": sorted(set(used)), "resolvedModel": setup.model}
    return totals | {
        "content": [{"type": "text", "text": last_text(child)}],
        "totalDurationMs": int(sent.took / timedelta(milliseconds=1)),
        "totalTokens": sum(v for k, v in usage.items() if k.endswith("_tokens") and isinstance(v, int)),
        "totalToolUseCount": len(used),
        "usage": usage,
    }


def background_launch(setup: Setup, use: PendingUse, agent_id: str) -> Data:
    """Return the detail of the result of an agent that runs in the background."""
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
    """Return the last text of a conversation, which an agent reports."""
    for entry in reversed(child._chain()):
        if entry["type"] == "assistant":
            texts = [block["text"] for block in entry["message"]["content"] if block["type"] == "text"]
            if texts:
                return str(texts[-1])
    return ""


def rename_line(line: LineContent, names: Mapping[str, str]) -> LineContent:
    """Return a line with other ids: every string that is a known id, but no part of a string."""
    return line if isinstance(line, bytes) else _rename_ids(line, names)


def _rename_ids(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _rename_ids(v, names) for key, v in value.items()}
    if isinstance(value, list):
        return [_rename_ids(v, names) for v in value]
    return names.get(value, value) if isinstance(value, str) else value


def _transfer_line(original: LineContent, move: Transfer, agent_id: str) -> LineContent:
    if isinstance(original, bytes):
        return original
    line: Data = _shift_times(_rename_ids(original, move.names), move.shift)
    if "uuid" not in line:
        return line
    if isinstance(line.get("toolUseResult"), dict) and move.setup.since("2.1.1"):
        del line["toolUseResult"]
    line = {key: value for key, value in line.items() if key not in _TYPED_ONLY}
    line |= envelope(move.setup)
    if move.setup.since("2.0.28"):
        line["agentId"] = agent_id
    if line["type"] == "user" and has_trailing_envelope(move.setup):
        line["promptId"] = move.prompt
    if line["type"] == "assistant" and move.setup.since("2.1.140"):
        line["attributionAgent"] = move.kind
    return arrange(move.setup, line)


def _transfer_agent(agent: AgentScript, move: Transfer, parent_id: str) -> AgentScript:
    """Transfer an agent of the agent: into the same folder, one level deeper."""
    number = move.names[agent.id]
    lines = tuple(_transfer_line(line, move, number) for line in agent.lines)
    meta = dict(_rename_ids(dict(agent.meta), move.names))
    if "spawnDepth" in meta:
        meta["spawnDepth"] += 1
        meta.setdefault("parentAgentId", parent_id)
    return AgentScript(number, lines, meta, agent.run)


def _shift_times(value: Any, by: timedelta) -> Any:
    if isinstance(value, list):
        return [_shift_times(v, by) for v in value]
    if not isinstance(value, dict):
        return value
    shifted = {}
    for key, inner in value.items():
        moment = parse_timestamp(inner) if key in _TIMES and isinstance(inner, str) else None
        shifted[key] = format_timestamp(moment + by) if moment else _shift_times(inner, by)
    return shifted


def _defined_ids(child: LineScript) -> Iterator[str]:
    """Yield every id that the lines of a conversation and its agents define."""
    for line_data in [*child._lines(), *(line for agent in child.agents for line in agent.lines)]:
        if not isinstance(line_data, dict):
            continue
        message = line_data.get("message")
        inner = message if isinstance(message, dict) else {}
        content = inner.get("content")
        uses = [b.get("id") for b in content if b.get("type") == "tool_use"] if isinstance(content, list) else []
        for identifier in (
            line_data.get("uuid"),
            line_data.get("requestId"),
            line_data.get("promptId"),
            inner.get("id"),
            *uses,
        ):
            if isinstance(identifier, str):
                yield identifier
    yield from (agent.id for agent in child.agents)


def _new_id(old: str, seed: str, agent_id: str) -> str:
    """Return a new id of the same form."""
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


def _agent_meta(setup: Setup, use: PendingUse, kind: str, run: str) -> Data:
    if run:
        return {"agentType": kind, "spawnDepth": 1}
    meta: Data = {"agentType": kind}
    if setup.since("2.1.325"):
        meta["isBuiltIn"] = kind in ("general-purpose", "Explore", "Plan")
    meta["description"] = use.call.input.get("description", "")
    if setup.since("2.1.200"):
        meta |= {"toolUseId": use.id, "spawnDepth": 1}
    if setup.since("2.1.325"):
        meta |= {"requestShape": "foreground", "requestNonInteractive": False, "finished": True}
    return meta


def _first_time(child: LineScript) -> datetime:
    for line in child._lines():
        moment = parse_timestamp(line.get("timestamp")) if isinstance(line, dict) else None
        if moment:
            return moment
    return child.now
