"""Rounds as JSON and as short labels, the same in all commands and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from clew.conversation.rounds import Round
from clew.conversation.turns import Turn
from clew.facts.secrets.mask_secrets import mask_data
from clew.system.plural import plural
from clew.view.sanitize import format_duration
from clew.wire.json_codec import Json
from clew.wire.timestamps import format_timestamp


def round_fields(turn: Turn) -> Json:
    """Return the JSON fields of a turn about its round; null for a turn without a session."""
    round = turn.round
    return {
        "round": round.number if round else None,
        "round_kind": round.kind if round else None,
        "input": turn.input,
        "complexity": round.complexity if round else None,
    }


def round_json(round: Round, turn: int | None, mask: bool = True) -> Json:
    """Return a round as JSON, with its features; `turn` is the number of the turn that it starts."""
    value = {
        "kind": "round",
        "round": round.number,
        "round_kind": round.kind,
        "round_type": round.type,
        "input": round.input,
        "complexity": round.complexity,
        "turn": turn,
        "uuid": round.entry.uuid,
        "line": round.entry.line.number,
        "time": format_timestamp(round.time) if round.time else None,
        "seconds": round.seconds,
        "pause": round.pause,
        "permission_mode": round.permission_mode,
        "parent": round.entry.parent,
        "is_short": round.features.is_short,
        "is_active": round.is_active,
        "slug": round.slug,
        "text": round.text,
        "replies": len(round.replies),
        "calls": len(round.calls),
        "tools": dict(Counter(call.name for call in round.calls)),
        "thinking": round.thinking,
        "agents": round.agents,
        "errors": round.errors,
    }
    return dict(mask_data(value)[0]) if mask else value


def describe_round(value: Mapping[str, Any]) -> str:
    """Describe the features of a round (the fields of `round_json`), such as `after 2h05m, 3 calls, 1 error`."""
    parts = [f"after {format_duration(value['pause'])}"] if value["round_kind"] == "resume" else []
    parts += [
        plural(count, name)
        for name, count in (("call", value["calls"]), ("agent", value["agents"]), ("error", value["errors"]))
        if count
    ]
    parts += ["thinking"] if value["thinking"] else []
    parts += [] if value["is_active"] else ["left branch"]
    return ", ".join(parts)


def round_badge(turn: Turn) -> str:
    """Return the label of a turn's round, such as `round 3 · resume · ide_selection`; "" if it is unknown."""
    round = turn.round
    if round is None or not round.number:
        return ""
    input_kind = turn.input if turn.input != "text" else ""
    return " · ".join(part for part in (f"round {round.number}", round.kind, input_kind) if part)
