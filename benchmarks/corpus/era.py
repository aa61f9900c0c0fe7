"""How Claude Code wrote its lines, version by version: the envelope, the ids, the stop reason, the usage."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from benchmarks.corpus.truth import Usage
from benchmarks.corpus.words import Pen

Json = dict[str, object]

DAY = 86_400_000  # milliseconds
EPOCH = int(datetime(2026, 8, 15, tzinfo=UTC).timestamp() * 1000)  # the corpus' now


@dataclass(frozen=True, slots=True)
class Era:
    """What one range of versions has in common."""

    name: str
    versions: tuple[str, ...]
    models: tuple[str, ...]
    helper: str  # the model of most agents
    agents: Literal["inline", "flat", "nested"]
    usage: Literal["last", "half", "stub", "every"]  # where the right output_tokens are
    stop: Literal["null", "some", "last", "every"]  # where the stop_reason is
    linear: bool = False  # results chained behind the reply, not each below its own call
    late: bool = False  # userType, cwd and the rest behind the message
    progress: bool = False
    attachments: bool = False
    snapshots: bool = True
    tasks: bool = False  # TaskCreate and TaskUpdate, no TodoWrite
    delegate: str = "Task"
    titles: bool = False  # last-prompt, ai-title, custom-title
    breakdown: bool = True  # cache writes by lifetime


ERAS = (
    Era(
        name="1.0",
        versions=("1.0.44", "1.0.83", "1.0.98", "1.0.128"),
        models=("claude-sonnet-4-20250514", "claude-opus-4-1-20250805"),
        helper="claude-sonnet-4-20250514",
        agents="inline",
        usage="last",
        stop="null",
        linear=True,
        snapshots=False,
        breakdown=False,
    ),
    Era(
        name="2.0",
        versions=("2.0.76",),
        models=("claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101"),
        helper="claude-haiku-4-5-20251001",
        agents="flat",
        usage="half",
        stop="some",
        linear=True,
    ),
    Era(
        name="2.1.29",
        versions=("2.1.12", "2.1.29"),
        models=("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929"),
        helper="claude-haiku-4-5-20251001",
        agents="nested",
        usage="stub",
        stop="null",
        progress=True,
    ),
    Era(
        name="2.1.80",
        versions=("2.1.80",),
        models=("claude-opus-4-6", "claude-sonnet-4-6"),
        helper="claude-haiku-4-5-20251001",
        agents="nested",
        usage="last",
        stop="last",
        progress=True,
        tasks=True,
        delegate="Agent",
        titles=True,
    ),
    Era(
        name="2.1.232",
        versions=("2.1.205", "2.1.217", "2.1.232"),
        models=("claude-opus-4-7", "claude-opus-5", "claude-sonnet-4-6"),
        helper="claude-haiku-4-5-20251001",
        agents="nested",
        usage="every",
        stop="every",
        late=True,
        attachments=True,
        tasks=True,
        delegate="Agent",
        titles=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Scene:
    """What stays the same from line to line of one file."""

    era: Era
    version: str
    model: str
    session: str
    cwd: str
    branch: str
    entrypoint: str
    slug: str = ""
    agent: str = ""  # the id of an agent with a file of its own
    sidechain: bool = False
    gateway: str = ""  # anthropic if empty, else the kind of ids of another back end
    requests: bool = True  # requestId is written
    hour: bool = False  # the cache lives an hour
    head: Json = field(init=False, repr=False)
    tail: Json = field(init=False, repr=False)

    def __post_init__(self) -> None:
        place: Json = {"userType": "external"}
        if self.era.late:
            place["entrypoint"] = self.entrypoint
        place |= {
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": self.branch,
        }
        head: Json = {"isSidechain": self.sidechain}
        mark: Json = {"agentId": self.agent} if self.agent else {}
        if self.slug:
            mark["slug"] = self.slug
        object.__setattr__(self, "head", head | mark if self.era.late else head | place | mark)
        object.__setattr__(self, "tail", place if self.era.late else {})


def stamp(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def folder_name(cwd: str) -> str:
    """The project folder of a working directory (short, and of the basic plane)."""
    return re.sub(r"[^a-zA-Z0-9]", "-", cwd)


def message_id(pen: Pen, scene: Scene) -> str:
    if not scene.gateway:
        return "msg_01" + pen.token(22)
    if scene.gateway == "bedrock":
        return "msg_bdrk_01" + pen.token(22)
    return pen.uuid() if scene.gateway == "uuid" else "chatcmpl-" + pen.hexadecimal(32)


def call_id(pen: Pen, scene: Scene) -> str:
    prefix = {"": "toolu_01", "bedrock": "tooluse_", "uuid": "call_00_", "chat": "call_"}[scene.gateway]
    return prefix + pen.token(22)


def agent_id(pen: Pen, era: Era) -> str:
    if era.agents == "flat":
        return pen.hexadecimal(8)
    return "a" + pen.hexadecimal(16 if era.titles else 6)


def outputs(pen: Pen, era: Era, final: int, lines: int) -> list[int]:
    """The output_tokens that each line of a reply shows."""
    if era.usage == "every":
        return [final] * lines
    stub = pen.between(1, 9)
    if era.usage == "stub" or (era.usage == "half" and pen.chance(0.5)):
        return [stub] * lines
    return [min(stub, final)] * (lines - 1) + [final]


def stops(pen: Pen, era: Era, final: str, lines: int) -> list[str | None]:
    """The stop_reason that each line of a reply shows."""
    if era.stop == "every":
        return [final] * lines
    last = era.stop == "last" or (era.stop == "some" and pen.chance(0.25))
    return [None] * (lines - 1) + [final if last else None]


def usage_json(scene: Scene, usage: Usage) -> Json:
    """Usage as the version writes it; the newest repeats it in `iterations`."""
    written = usage.cache_creation_5m + usage.cache_creation_1h
    short: Json = {
        "ephemeral_5m_input_tokens": usage.cache_creation_5m,
        "ephemeral_1h_input_tokens": usage.cache_creation_1h,
    }
    start: Json = {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cache_read,
    }
    if not scene.era.late:
        lifetimes: Json = {"cache_creation": short} if scene.era.breakdown else {}
        geo: Json = {"inference_geo": "not_available"} if scene.era.progress else {}
        return start | lifetimes | {"output_tokens": usage.output, "service_tier": "standard"} | geo
    long = dict(reversed(short.items()))
    once: Json = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation_input_tokens": written,
        "cache_creation": short,
        "type": "message",
    }
    return start | {
        "output_tokens": usage.output,
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "service_tier": "standard",
        "cache_creation": long,
        "inference_geo": "not_available",
        "iterations": [once],
        "speed": "standard",
    }


def message_json(scene: Scene, id_: str, block: Json, stop: str | None, usage: Json) -> Json:
    """An assistant message with its one block."""
    start: Json = {"model": scene.model, "id": id_, "type": "message", "role": "assistant"}
    if scene.era.name == "1.0":
        start = {"id": id_, "type": "message", "role": "assistant", "model": scene.model}
    end: Json = {"stop_reason": stop, "stop_sequence": None}
    if scene.era.late:
        end["stop_details"] = None
    return start | {"content": [block]} | end | {"usage": usage}
