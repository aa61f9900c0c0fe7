"""Repair messages that the API would refuse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from clew.api.lint import MAX_IMAGES, Violation, lint
from clew.errors import ApiError
from clew.wire.content_block import THINKING_TYPES
from clew.wire.json_codec import Json

LOST = "The result of this call was lost."
OLD_IMAGE = "[An old image was left out: there are more than a request may hold.]"
_LOCATION = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")
_MAX_ROUNDS = 100


def repair_messages(messages: Sequence[Json]) -> tuple[list[Json], list[str]]:
    """Return messages that the API accepts, and a sentence for each rule that was broken. Raises ApiError if that
    fails.
    """
    # A repair can break another rule (a dropped block may leave its message empty), so repeat until none is left.
    # Example: [user "a", user "b", assistant call 1] becomes [user "a" "b", assistant call 1, user result 1 "lost"].
    violations = [v for v in lint(messages) if v.is_refused]
    reports = [str(violation) for violation in violations]
    repaired = list(messages)
    for _ in range(_MAX_ROUNDS):
        if not violations:
            return repaired, reports
        if any(v.rule == "images" for v in violations):
            repaired = _limit_images(repaired)
        repaired = _pair_and_alternate(_drop_blocks(repaired, violations))
        violations = [v for v in lint(repaired) if v.is_refused]
    raise ApiError(f"The request breaks a rule of the API that cannot be repaired: {violations[0]}", "rule")


def _drop_blocks(messages: Sequence[Json], violations: Iterable[Violation]) -> list[Json]:
    """Drop the blocks that are invalid by themselves; pairing and order are repaired later."""
    dropped: set[tuple[int, int]] = set()
    for violation in violations:
        location = _LOCATION.match(violation.where)
        if location and location[2] and violation.rule not in ("orphan", "twice", "late"):
            dropped.add((int(location[1]), int(location[2])))
    repaired = []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        blocks = [b for i, b in enumerate(_blocks(content)) if (index, i) not in dropped]
        if role in ("user", "assistant") or (role == "system" and blocks):
            repaired.append({"role": role, "content": blocks})
    return repaired


def _limit_images(messages: Sequence[Json]) -> list[Json]:
    """Keep the newest images that fit into a request; replace the others by a note."""
    room = MAX_IMAGES
    limited: list[Json] = []

    def limit(blocks: Sequence[Any]) -> list[Any]:
        nonlocal room
        newest_first = []
        for block in reversed(blocks):
            if isinstance(block, dict) and block.get("type") == "image":
                room -= 1
                block = block if room >= 0 else {"type": "text", "text": OLD_IMAGE}
            elif (
                isinstance(block, dict)
                and block.get("type") == "tool_result"
                and isinstance(block.get("content"), list)
            ):
                block = {**block, "content": limit(block["content"])}
            newest_first.append(block)
        return newest_first[::-1]

    for message in reversed(messages):
        content = message.get("content")
        limited.append({**message, "content": limit(content)} if isinstance(content, list) else message)
    return limited[::-1]


def _pair_and_alternate(messages: Sequence[Json]) -> list[Json]:
    """Let roles alternate, starting with the user, with one result for each call and one call for each result."""
    # Example: assistant (calls 1, 2), user (result 2, text) becomes assistant (calls 1, 2), user (lost result 1, result
    # 2, text). A call at the end of the conversation gets a lost result in a message of its own.
    repaired: list[Json] = []
    used_ids: set[str] = set()
    for message in _merge_roles(messages):
        role, content = message["role"], message["content"]
        previous = _last_turn(repaired)
        if role == "system":
            repaired.append(message)
            continue
        if role == "assistant":
            content = [b for b in content if b.get("type") != "tool_use" or _is_new(str(b.get("id")), used_ids)]
            while content and content[-1].get("type") in THINKING_TYPES:
                content = content[:-1]
        elif previous is not None:
            content = _order_results(content, repaired[previous]["content"])
        else:
            content = [b for b in content if b.get("type") != "tool_result"]
        if content and (repaired or role == "user"):
            repaired.append({"role": role, "content": content})
    repaired = _merge_roles(repaired)
    if (last := _last_turn(repaired)) is not None and (calls := _calls(repaired[last])):
        repaired.append({"role": "user", "content": [_lost_result(call) for call in calls]})
    return repaired


def _is_new(call: str, used: set[str]) -> bool:
    """Return whether the id was not used before; marks it as used."""
    is_new = call not in used
    used.add(call)
    return is_new


def _merge_roles(messages: Iterable[Json]) -> list[Json]:
    """Merge consecutive messages of one role; system messages between them follow the merged one."""
    merged: list[Json] = []
    for message in messages:
        last = _last_turn(merged)
        if message["role"] == "system":
            if last is not None:  # the first message must be the user's
                merged.append(message)
        elif last is not None and merged[last]["role"] == message["role"]:
            merged[last] = {**merged[last], "content": [*merged[last]["content"], *message["content"]]}
        elif message["content"]:
            merged.append(message)
    return merged


def _last_turn(messages: Sequence[Json]) -> int | None:
    """Return the index of the last message that is not a system message."""
    return next((i for i in range(len(messages) - 1, -1, -1) if messages[i]["role"] != "system"), None)


def _order_results(content: Sequence[Json], reply: Sequence[Json]) -> list[Json]:
    """Put the results first, one for each call, in the order of the calls."""
    results: dict[str, Json] = {}
    for block in content:
        if block.get("type") == "tool_result":
            results.setdefault(str(block.get("tool_use_id")), block)
    calls = [str(b["id"]) for b in reply if b.get("type") == "tool_use"]
    others = [b for b in content if b.get("type") != "tool_result"]
    return [*(results.get(call) or _lost_result(call) for call in calls), *others]


def _calls(message: Json) -> list[str]:
    return [str(b["id"]) for b in message["content"] if b.get("type") == "tool_use"]


def _lost_result(call: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": LOST, "is_error": True}


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
