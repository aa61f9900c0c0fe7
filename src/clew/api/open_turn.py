"""Join messages as the API reads them, and check whether a continued turn begins with thinking."""

from __future__ import annotations

from collections.abc import Sequence

from clew.wire.content_block import THINKING_TYPES
from clew.wire.json_codec import Json


def join_roles(messages: Sequence[Json]) -> list[tuple[int, str, Sequence[Json]]]:
    """Join consecutive messages of one role: the index of the first, the role, and the blocks of all."""
    turns: list[tuple[int, str, Sequence[Json]]] = []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
        if role == "user" and isinstance(content, str):
            blocks = [{"type": "text", "text": content}]
        if turns and turns[-1][1] == role:
            turns[-1] = (turns[-1][0], role, [*turns[-1][2], *blocks])
        elif role in ("user", "assistant"):
            turns.append((index, role, blocks))
    return turns


def start_without_thinking(messages: Sequence[Json]) -> tuple[int, str] | None:
    """Return the index and first block type of the assistant message that the last tool results answer.

    The API rejects such a request if `thinking` is `enabled`. None if the message begins with thinking, or if the
    request does not continue a turn.
    """
    turns = join_roles(messages)
    if len(turns) < 2 or turns[-1][1] != "user" or not any(b.get("type") == "tool_result" for b in turns[-1][2]):
        return None
    index, _, content = turns[-2]
    first_type = content[0].get("type") if content else None
    return None if not content or first_type in THINKING_TYPES else (index, str(first_type))
