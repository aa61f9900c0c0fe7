"""How each Claude Code version writes its lines: fields, their order, and usage.

Each version named here is the first that is known to write the field in question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from enum import Enum
from functools import lru_cache
from typing import Any

from msgspec import Struct

Data = dict[str, Any]


class Absent(Enum):
    """The type of ABSENT, the value of a field that is left out."""

    ABSENT = 0


ABSENT = Absent.ABSENT


class Setup(Struct, frozen=True):
    """What all lines of a conversation share; `seed` is the namespace of its ids."""

    session_id: str
    cwd: str
    version: str
    branch: str
    model: str
    seed: str
    step: timedelta | None  # time between two lines; None for the gaps of real sessions
    mode: str = "default"
    entrypoint: str = "cli"
    name: str | None = None
    is_agent: bool = False

    def since(self, version: str) -> bool:
        return parse_version(self.version) >= parse_version(version)

    def within(self, first: str, last: str) -> bool:
        return parse_version(first) <= parse_version(self.version) <= parse_version(last)


@lru_cache(64)
def parse_version(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def default_model(version: str) -> str:
    """Return a model that was current when a version was."""
    at = parse_version(version)
    for first, model in _MODELS:
        if at >= parse_version(first):
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


def has_trailing_envelope(setup: Setup) -> bool:
    """Return whether the shared fields are at the end of a line; older versions write them at the beginning."""
    return setup.since("2.1.78")


def arrange(setup: Setup, fields: Mapping[str, Any]) -> Data:
    """Return the fields in the order of that version, without the absent ones."""
    kind = str(fields.get("type"))
    if kind == "assistant" and "isApiErrorMessage" in fields:
        kind = "synthetic"
    front, back = (_NEW_FRONT, _NEW_BACK) if has_trailing_envelope(setup) else (_OLD_FRONT, [])
    known = front + _BODY.get(kind, ["type", "uuid", "timestamp"])
    positioned = {*known, *back}
    order = [*known, *(key for key in fields if key not in positioned), *back]
    return {key: fields[key] for key in order if key in fields and fields[key] is not ABSENT}


def envelope(setup: Setup) -> Data:
    """Return the fields that every entry of a conversation has."""
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
    """Return the fields of a typed prompt next to its message."""
    fields: Data = {}
    if setup.within("1.0.117", "2.0.76"):
        fields["thinkingMetadata"] = {"level": "high", "disabled": False, "triggers": []}
    elif setup.within("2.1.0", "2.1.45"):
        fields["thinkingMetadata"] = {"maxThinkingTokens": 31999}
    if setup.within("2.0.50", "2.1.62"):
        fields["todos"] = todos
    if setup.since("2.1.15"):
        fields["permissionMode"] = mode
    if setup.since("2.1.92"):
        fields["origin"] = {"kind": "human"}
    if setup.since("2.1.169"):
        fields["promptSource"] = "typed"
    if setup.since("2.1.290"):
        fields["turnOrigin"] = "human"
        fields["turnPosition"] = {"promptIndex": turn, "turnIndex": turn}
    return fields


def reply_fields(setup: Setup, block: Mapping[str, Any], index: int, model: str, request: str) -> Data:
    """Return the fields of one line of a reply next to its message."""
    fields: Data = {"requestId": request}
    if setup.since("2.1.215"):
        fields["effort"] = "medium"
    if setup.since("2.1.260"):
        fields["apiBlockIndex"] = index
    if setup.since("2.1.290"):
        fields["perTurnEffort"] = "medium"
    if setup.since("2.1.310"):
        fields["requestedModel"] = model
        if block["type"] == "thinking":
            fields |= {"thinkingDurationMs": 900, "thinkingDisplay": "updates"}
    if setup.since("2.1.325"):
        fields |= {"promptCacheRequested": "5m", "madeBy": "model"}
        if block["type"] == "tool_use":
            fields["toolInputStreamMs"] = 12
    return fields


def result_fields(setup: Setup, owner: str, tool: str) -> Data:
    """Return the fields of a tool result next to its message and detail."""
    fields: Data = {}
    if setup.since("2.1.1"):
        fields["sourceToolAssistantUUID"] = owner
    if setup.since("2.1.310"):
        fields["permissionDecision"] = {"decision": "accept", "source": "config", "reasonType": "mode"}
        if tool == "Bash":
            fields["sandboxed"] = False
    return fields


# -- replies


def message(setup: Setup, ident: str, model: str, blocks: list[Data], stop: str | None, usage: Data) -> Data:
    """Return the API message of one line."""
    fields: Data = {"id": ident, "type": "message", "role": "assistant", "model": model}
    if setup.since("2.0.0"):
        fields = {"model": model, "id": ident, "type": "message", "role": "assistant"}
    fields |= {"content": blocks, "stop_reason": stop, "stop_sequence": None}
    if setup.since("2.1.100"):
        fields["stop_details"] = None
    return fields | {"usage": usage}


def tool_use(setup: Setup, ident: str, name: str, arguments: Mapping[str, Any]) -> Data:
    block: Data = {"type": "tool_use", "id": ident, "name": name, "input": dict(arguments)}
    if setup.since("2.1.40"):
        block["caller"] = {"type": "direct"}
    return block


def stop_reasons(setup: Setup, count: int, final: str | None) -> list[str | None]:
    """Return the stop reason of each line of a reply: on all lines, only on the last, or on none."""
    if setup.since("2.1.97") or setup.within("2.0.36", "2.0.44"):
        return [final] * count
    if setup.since("2.1.59") or setup.within("2.0.45", "2.1.8"):
        return [*[None] * (count - 1), final]
    return [None] * count


def output_tokens(setup: Setup, count: int, total: int) -> list[int]:
    """Return the output tokens of each line; 2.1.9 to 2.1.56 only wrote the number from the start of the stream."""
    if setup.since("2.1.97") or setup.within("2.0.36", "2.0.44"):
        return [total] * count
    stub = min(total, 2)
    return [*[stub] * (count - 1), stub if setup.within("2.1.9", "2.1.56") else total]


def usage(setup: Setup, fresh: int, written: int, reused: int, output: int) -> Data:
    """Return `message.usage` with the fields and in the order of the version."""
    fields: Data = {
        "input_tokens": fresh,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": reused,
    }
    creation = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
    if not setup.since("2.1.50"):
        if setup.since("1.0.90"):
            fields["cache_creation"] = creation
        return fields | {"output_tokens": output, "service_tier": "standard"}
    fields["output_tokens"] = output
    if setup.since("2.1.228"):
        fields["output_tokens_details"] = {"thinking_tokens": 0}
    return fields | {
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": written},
        "inference_geo": "",
        "iterations": [],
        "speed": "standard",
    }
