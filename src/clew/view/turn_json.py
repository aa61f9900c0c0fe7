"""Export turns as JSON, with agents nested at their calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clew.conversation.agent_sessions import Agent
from clew.conversation.prompt_queue import Timeline
from clew.conversation.replies import Call, Reply
from clew.conversation.session import Session
from clew.conversation.turns import Turn, split_turns
from clew.facts.secrets.mask_secrets import mask_data
from clew.facts.token_usage import count, usage
from clew.facts.tool_catalog import call_diff, label, result_kind, return_code_meaning
from clew.view.mask_rows import MaskCount
from clew.view.round_labels import round_fields
from clew.wire.entry import Entry
from clew.wire.entry_types import PrLink, QueueOperation
from clew.wire.json_codec import Json
from clew.wire.overflow_files import Overflow
from clew.wire.timestamps import format_timestamp

MAX_OUTPUT = 16 << 20  # bytes of a long output in a JSON value


def session_json(session: Session, mask: bool = True, tally: MaskCount | None = None) -> Json:
    """Return the facts of a session; `tally` counts masked secrets."""
    total = usage(session).total
    return _mask(
        {
            "kind": "session",
            "id": session.id,
            "title": session.title,
            "cwd": session.cwd,
            "branch": session.branch_name,
            "versions": session.versions,
            "models": session.models,
            "started": _format_time(session.started),
            "ended": _format_time(session.ended),
            "slug": session.slug,
            "tag": session.tag or None,
            "turns": len(session.turns),
            "rounds": len(session.rounds),
            "branches": len(session.branches),
            "compactions": [
                {"trigger": c.detail.trigger, "before": c.detail.pre_tokens, "time": _format_time(c.boundary.time)}
                for c in session.compactions
            ],
            "working_seconds": session.working_seconds,
            "queue": _queue_json(session.queue),
            "pull_requests": [PrLink.of(e).url for e in session.entries if e.type == "pr-link"],
            "damaged_lines": len(session.damage),
            "tokens": {
                "input": total.input,
                "output": total.output,
                "cache_write": total.cache_write,
                "cache_read": total.cache_read,
            },
        },
        mask,
        tally,
    )


def _queue_json(timeline: Timeline) -> Json:
    """Return the queued messages and their outcome, and the operations that match no message."""
    return {
        "messages": [
            {
                "text": message.text,
                "time": _format_time(message.entry.time),
                "outcome": message.outcome,
                "reason": message.reason or None,
                "seconds": message.seconds,
            }
            for message in timeline.messages
        ],
        "unmatched": [
            {"operation": QueueOperation.of(entry).operation, "line": entry.line.number} for entry in timeline.strays
        ],
    }


def turn_json(session: Session, turn: Turn, mask: bool = True, tally: MaskCount | None = None) -> Json:
    """Return one complete turn."""
    return _mask(_turn_fields(session, turn), mask, tally)


def _turn_fields(session: Session, turn: Turn) -> Json:
    calls = {call.id: call for call in turn.calls}
    return {
        "kind": "turn",
        "number": turn.number,
        "uuid": turn.prompt.uuid,
        "time": _format_time(turn.time),
        "prompt": turn.text,
        **round_fields(turn),
        "state": turn.state,
        "seconds": turn.seconds,
        "images": len(turn.images),
        "todos": turn.todos,
        "is_queued": turn.is_queued,
        "replies": [_reply_json(session, reply, calls) for reply in turn.replies],
    }


def _reply_json(session: Session, reply: Reply, calls: Mapping[str, Call]) -> Json:
    tokens = reply.tokens
    return {
        "id": reply.id,
        "model": reply.model,
        "time": _format_time(reply.time),
        "stop_reason": reply.stop_reason,
        "error": reply.is_error,
        "synthetic": reply.is_synthetic,
        "text": reply.text,
        "thinking": reply.thinking,
        "calls": [_call_json(session, calls[use.id]) for use in reply.uses if use.id and use.id in calls],
        "output_tokens": count(tokens).output if tokens else None,
    }


def _call_json(session: Session, call: Call) -> Json:
    return {
        "id": call.id,
        "tool": call.name,
        "label": label(call, session.cwd),
        "input": call.use.input,
        "output": call.output,
        "long_output": _long_output_json(session.overflow(call)),
        "return_code_meaning": return_code_meaning(call.detail) or None,
        "record": result_kind(call.detail) or None,
        "failed": call.failed,
        "open": call.is_open,
        "seconds": call.seconds,
        "diff": "\n".join(call_diff(call)) or None,
        "agents": [_agent_json(session, agent) for agent in session.agents_for(call)],
    }


def _long_output_json(overflow: Overflow | None) -> Json | None:
    """Return the file with the complete output of a call, and its text up to a limit."""
    if overflow is None:
        return None
    text = "" if overflow.is_binary else overflow.first(MAX_OUTPUT)
    is_whole = overflow.size <= MAX_OUTPUT and bool(text)
    return {"path": str(overflow.path), "bytes": overflow.size, "text": text, "is_whole": is_whole}


def _agent_json(session: Session, agent: Agent) -> Json:
    before, agent_turns = split_turns(agent.session.active)
    agent_turns = agent.session.turns or agent_turns  # entries that are not marked as an agent's form no turns
    return {
        "id": agent.id,
        "type": agent.kind,
        "description": agent.description,
        "model": agent.model,
        "totals": agent.totals,
        "turns": [_agent_turn(session, agent, turn) for turn in agent_turns] or _promptless_turn(session, before),
    }


def _agent_turn(session: Session, agent: Agent, turn: Turn) -> Json:
    fields = _turn_fields(agent.session, turn)
    calls = {call.id: call for call in turn.calls}
    for reply in fields["replies"]:
        for call in reply["calls"]:
            call["agents"] = [_agent_json(session, inner) for inner in session.agents_for(calls[call["id"]])]
    return fields


def _promptless_turn(session: Session, entries: tuple[Entry, ...]) -> list[Json]:
    """Return the entries of an agent without a prompt as one turn."""
    if not entries:
        return []
    return [_turn_fields(session, Turn(1, entries))]


def _mask(value: Json, mask: bool, tally: MaskCount | None) -> Json:
    if not mask:
        return value
    masked, secrets = mask_data(value)
    if tally:
        tally.secrets += secrets
    return dict(masked)


def _format_time(moment: Any) -> str | None:
    return format_timestamp(moment) if moment else None


def session_document(
    session: Session,
    mask: bool = True,
    turns: Sequence[Turn] | None = None,
    tally: MaskCount | None = None,
    others: Sequence[tuple[int, Sequence[Turn]]] = (),
) -> Iterator[Json]:
    """Yield the session, then its turns, or some of them, then those of other branches with the branch's number."""
    yield session_json(session, mask, tally)
    if turns is None and any(entry.type == "assistant" for entry in session.preamble):  # the first prompt is missing
        yield {**turn_json(session, Turn(0, session.preamble), mask, tally), "prompt": ""}
    for turn in session.turns if turns is None else turns:
        yield turn_json(session, turn, mask, tally)
    for number, own in others:
        yield from ({**turn_json(session, turn, mask, tally), "branch": number} for turn in own)
