"""Rounds as JSON values and in a few words, the same in every command and page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from clew.conversation.rounds import Round
from clew.conversation.turns import Turn
from clew.facts.secrets.mask_secrets import mask_data
from clew.system.plural import plural
from clew.view.sanitize import duration
from clew.wire.timestamps import stamp

Json = dict[str, Any]


def round_fields(turn: Turn) -> Json:
    """The fields of a turn that say which round it begins. They are null for a turn that was made without its session."""
    found = turn.round
    return {
        "round": found.number if found else None,
        "round_kind": found.kind if found else None,
        "input": turn.input,
        "complexity": found.complexity if found else None,
    }


def round_json(each: Round, turn: int | None, mask: bool = True) -> Json:
    """A round with its marks and features; `turn` is the number of the turn that it begins."""
    value = {
        "kind": "round",
        "round": each.number,
        "round_kind": each.kind,
        "round_type": each.type,
        "input": each.input,
        "complexity": each.complexity,
        "turn": turn,
        "uuid": each.entry.uuid,
        "line": each.entry.line.number,
        "time": stamp(each.time) if each.time else None,
        "seconds": each.seconds,
        "pause": each.pause,
        "permission_mode": each.permission_mode,
        "parent": each.entry.parent,
        "is_short": each.features.is_short,
        "is_active": each.is_active,
        "slug": each.slug,
        "text": each.text,
        "replies": len(each.replies),
        "calls": len(each.calls),
        "tools": dict(Counter(call.name for call in each.calls)),
        "thinking": each.thinking,
        "agents": each.agents,
        "errors": each.errors,
    }
    return dict(mask_data(value)[0]) if mask else value


def describe_round(value: Mapping[str, Any]) -> str:
    """The features of a round (the fields of `round_json`) in a few words, such as `after 2h05m, 3 calls, 1 error`."""
    parts = [f"after {duration(value['pause'])}"] if value["round_kind"] == "resume" else []
    parts += [
        plural(count, name)
        for name, count in (("call", value["calls"]), ("agent", value["agents"]), ("error", value["errors"]))
        if count
    ]
    parts += ["thinking"] if value["thinking"] else []
    parts += [] if value["is_active"] else ["left branch"]
    return ", ".join(parts)


def badge(facts: Mapping[str, Any]) -> str:
    """The round of a turn in a heading, such as `round 3 · resume · ide_selection`; empty if it is not known."""
    if not facts.get("round"):
        return ""
    parts = [f"round {facts['round']}", str(facts.get("round_kind") or "")]
    parts += [str(facts["input"])] if facts.get("input") not in (None, "text") else []
    return " · ".join(part for part in parts if part)
