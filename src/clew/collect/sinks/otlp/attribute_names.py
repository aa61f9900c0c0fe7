"""Attribute names of the OpenTelemetry conventions for generative AI.

They are in one place because the conventions are still in development. Names that begin with `gen_ai.` or `error.`
are of the version below; those that begin with `clew.` are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.wire.content_block import Block
from clew.wire.json_codec import encode

SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
INTERNAL, CLIENT = 1, 3  # kinds of spans

OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
AGENT_ID = "gen_ai.agent.id"
AGENT_VERSION = "gen_ai.agent.version"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
RESPONSE_ID = "gen_ai.response.id"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"  # the whole prompt, including cache reads and writes
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE = "gen_ai.usage.cache_creation.input_tokens"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
CALL_ARGUMENTS = "gen_ai.tool.call.arguments"
CALL_RESULT = "gen_ai.tool.call.result"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
ERROR_TYPE = "error.type"

COST = "clew.cost.usd"
TURN_STATE = "clew.turn.state"
PROJECT = "clew.project"
HOOK = "hook"


def encode_message(role: str, text: str, uses: Sequence[Block] = (), finish: str | None = None) -> str:
    """Return a message in the JSON form of the conventions; empty if it has no content."""
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": use.id, "name": use.name, "arguments": use.input} for use in uses]
    if not parts:
        return ""
    return encode([{"role": role, "parts": parts, **({"finish_reason": finish} if finish else {})}]).decode()
