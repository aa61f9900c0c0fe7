"""How each version of Claude Code lays out its lines: which fields, in which order, with what usage.

The versions named here are the first that were seen to write the field in question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from typing import Any

Data = dict[str, Any]


class Absent(Enum):
    """The value of a field that is to be left out."""

    ABSENT = 0


ABSENT = Absent.ABSENT


@dataclass(frozen=True, slots=True)
class Setup:
    """What all lines of a conversation share; `seed` is the namespace of its ids."""

    session_id: str
    cwd: str
    version: str
    branch: str
    model: str
    seed: str
    step: timedelta | None  # between two lines; None for the gaps of real sessions
    mode: str = "default"
    entrypoint: str = "cli"
    name: str | None = None
    is_agent: bool = False

    def since(self, version: str) -> bool:
        return numbers(self.version) >= numbers(version)

    def within(self, first: str, last: str) -> bool:
        return numbers(first) <= numbers(self.version) <= numbers(last)


@lru_cache(64)
def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def default_model(version: str) -> str:
    """A model that was current when a version was."""
    at = numbers(version)
    for first, model in _MODELS:
        if at >= numbers(first):
            return model
    return _MODELS[-1][1]


_MODELS = (
    ("2.1.260", "claude-opus-5-5"),
    ("2.1.200", "claude-opus-5"),
    ("2.1.100", "claude-opus-4-7"),
    ("2.1.30", "claude-opus-4-6"),
    ("2.1.0", "claude-opus-4-5-20251101"),
    ("2.0.0", "claude-sonnet-4-5-20250929"),
    ("0", "claude-sonnet-4-20250514"),
)

# -- the order of keys


def _keys(names: str) -> list[str]:
    return names.split()


_OLD_FRONT = _keys(
    "parentUuid logicalParentUuid isSidechain userType entrypoint cwd sessionId version gitBranch agentId slug"
)
_NEW_FRONT = _keys("parentUuid logicalParentUuid isSidechain promptId agentId")
_NEW_BACK = _keys("session_id userType entrypoint cwd sessionId version gitBranch slug")
_BODY = {
    "user": _keys(
        "type message isMeta turnCompanion isVisibleInTranscriptOnly isCompactSummary uuid timestamp"
        " toolUseResult thinkingMetadata todos imagePasteIds toolDenialKind sandboxed sourceToolAssistantUUID"
        " permissionDecision permissionMode origin promptSource turnOrigin turnPosition"
    ),
    "assistant": _keys(
        "message thinkingDurationMs thinkingDisplay toolInputStreamMs apiBlockIndex requestId requestRef"
        " requestedModel promptCacheRequested attributionAgent attributionMcpServer attributionMcpTool type"
        " uuid timestamp isAbortedMidStream effort perTurnEffort madeBy"
    ),
    "synthetic": _keys("type uuid timestamp message error isApiErrorMessage apiErrorStatus madeBy"),
    "system": _keys("type subtype content durationMs messageCount isMeta timestamp uuid level compactMetadata"),
    "progress": _keys("type data toolUseID parentToolUseID uuid timestamp"),
    "attachment": _keys("attachment type uuid timestamp rendered renderedRole"),
}


def is_new(setup: Setup) -> bool:
    """Whether the shared fields stand at the end of a line; in older versions they stand at its beginning."""
    return setup.since("2.1.78")


def arrange(setup: Setup, fields: Mapping[str, Any]) -> Data:
    """The fields in the order in which that version writes them, without the absent ones."""
    kind = str(fields.get("type"))
    if kind == "assistant" and "isApiErrorMessage" in fields:
        kind = "synthetic"
    front, back = (_NEW_FRONT, _NEW_BACK) if is_new(setup) else (_OLD_FRONT, [])
    known = front + _BODY.get(kind, ["type", "uuid", "timestamp"])
    named = {*known, *back}
    order = [*known, *(key for key in fields if key not in named), *back]
    return {key: fields[key] for key in order if key in fields and fields[key] is not ABSENT}


def envelope(setup: Setup) -> Data:
    """The fields that every entry of a conversation carries."""
    shared: Data = {
        "isSidechain": setup.is_agent,
        "userType": "external",
        "cwd": setup.cwd,
        "sessionId": setup.session_id,
        "version": setup.version,
    }
    if setup.since("1.0.55"):
        shared["gitBranch"] = setup.branch
    if setup.since("2.1.78"):
        shared["entrypoint"] = setup.entrypoint
    if setup.name and setup.within("2.0.55", "2.1.217"):
        shared["slug"] = setup.name
    return shared


def prompt_fields(setup: Setup, mode: str, turn: int, todos: list[Data]) -> Data:
    """What a typed prompt carries beside its message."""
    found: Data = {}
    if setup.within("1.0.117", "2.0.76"):
        found["thinkingMetadata"] = {"level": "high", "disabled": False, "triggers": []}
    elif setup.within("2.1.0", "2.1.45"):
        found["thinkingMetadata"] = {"maxThinkingTokens": 31999}
    if setup.within("2.0.50", "2.1.62"):
        found["todos"] = todos
    if setup.since("2.1.15"):
        found["permissionMode"] = mode
    if setup.since("2.1.92"):
        found["origin"] = {"kind": "human"}
    if setup.since("2.1.169"):
        found["promptSource"] = "typed"
    if setup.since("2.1.290"):
        found["turnOrigin"] = "human"
        found["turnPosition"] = {"promptIndex": turn, "turnIndex": turn}
    return found


def reply_fields(setup: Setup, block: Mapping[str, Any], index: int, model: str, request: str) -> Data:
    """What one line of a reply carries beside its message."""
    found: Data = {"requestId": request}
    if setup.since("2.1.215"):
        found["effort"] = "medium"
    if setup.since("2.1.260"):
        found["apiBlockIndex"] = index
    if setup.since("2.1.290"):
        found["perTurnEffort"] = "medium"
    if setup.since("2.1.310"):
        found["requestedModel"] = model
        if block["type"] == "thinking":
            found |= {"thinkingDurationMs": 900, "thinkingDisplay": "updates"}
    if setup.since("2.1.325"):
        found |= {"promptCacheRequested": "5m", "madeBy": "model"}
        if block["type"] == "tool_use":
            found["toolInputStreamMs"] = 12
    return found


def result_fields(setup: Setup, owner: str, tool: str) -> Data:
    """What a tool's result carries beside its message and its detail."""
    found: Data = {}
    if setup.since("2.1.1"):
        found["sourceToolAssistantUUID"] = owner
    if setup.since("2.1.310"):
        found["permissionDecision"] = {"decision": "accept", "source": "config", "reasonType": "mode"}
        if tool == "Bash":
            found["sandboxed"] = False
    return found


# -- replies


def message(setup: Setup, ident: str, model: str, blocks: list[Data], stop: str | None, usage: Data) -> Data:
    """The API message of one line."""
    found: Data = {"id": ident, "type": "message", "role": "assistant", "model": model}
    if setup.since("2.0.0"):
        found = {"model": model, "id": ident, "type": "message", "role": "assistant"}
    found |= {"content": blocks, "stop_reason": stop, "stop_sequence": None}
    if setup.since("2.1.100"):
        found["stop_details"] = None
    return found | {"usage": usage}


def tool_use(setup: Setup, ident: str, name: str, arguments: Mapping[str, Any]) -> Data:
    found: Data = {"type": "tool_use", "id": ident, "name": name, "input": dict(arguments)}
    if setup.since("2.1.40"):
        found["caller"] = {"type": "direct"}
    return found


def stops(setup: Setup, count: int, final: str | None) -> list[str | None]:
    """The stop reason on each line of a reply: on all, on the last alone, or on none."""
    if setup.since("2.1.97") or setup.within("2.0.36", "2.0.44"):
        return [final] * count
    if setup.since("2.1.59") or setup.within("2.0.45", "2.1.8"):
        return [*[None] * (count - 1), final]
    return [None] * count


def outputs(setup: Setup, count: int, total: int) -> list[int]:
    """The output tokens on each line; 2.1.9 to 2.1.56 only wrote the number from the start of the stream."""
    if setup.since("2.1.97") or setup.within("2.0.36", "2.0.44"):
        return [total] * count
    stub = min(total, 2)
    return [*[stub] * (count - 1), stub if setup.within("2.1.9", "2.1.56") else total]


def usage(setup: Setup, fresh: int, written: int, reused: int, output: int) -> Data:
    """`message.usage` with the fields and in the order of the version."""
    found: Data = {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": reused,
    }
    creation = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
    if not setup.since("2.1.50"):
        if setup.since("1.0.90"):
            found["cache_creation"] = creation
        return found | {"output_tokens": output, "service_tier": "standard"}
    found["output_tokens"] = output
    if setup.since("2.1.228"):
        found["output_tokens_details"] = {"thinking_tokens": 0}
    return found | {
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": written},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }
