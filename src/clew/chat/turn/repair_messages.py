"""Mending: messages that the API would refuse, made so that it takes them. What was mended is told, never sent broken."""

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
_PLACE = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")
_ROUNDS = 100


def mended(messages: Sequence[Json]) -> tuple[list[Json], list[str]]:
    """The messages as they can be sent, and a sentence for each rule that they broke. Raises ApiError if none can be."""
    found = [v for v in lint(messages) if v.is_refused]
    told = [str(violation) for violation in found]
    made = list(messages)
    for _ in range(_ROUNDS):
        if not found:
            return made, told
        if any(v.rule == "images" for v in found):
            made = _fewer_images(made)
        made = _sound(_without(made, found))
        found = [v for v in lint(made) if v.is_refused]
    raise ApiError(f"The request breaks a rule of the API that cannot be mended: {found[0]}", "rule")


def _without(messages: Sequence[Json], found: Iterable[Violation]) -> list[Json]:
    """Without the blocks that are wrong by themselves; what is wrong between blocks is left to the rest."""
    gone: set[tuple[int, int]] = set()
    for violation in found:
        place = _PLACE.match(violation.where)
        if place and place[2] and violation.rule not in ("orphan", "twice", "late"):
            gone.add((int(place[1]), int(place[2])))
    made = []
    for index, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        kept = [b for i, b in enumerate(_blocks(content)) if (index, i) not in gone]
        if role in ("user", "assistant") or (role == "system" and kept):
            made.append({"role": role, "content": kept})
    return made


def _fewer_images(messages: Sequence[Json]) -> list[Json]:
    """The newest images stay; in the place of the others stands a word."""
    room = MAX_IMAGES
    made: list[Json] = []

    def kept(blocks: Sequence[Any]) -> list[Any]:
        nonlocal room
        found = []
        for block in reversed(blocks):
            if isinstance(block, dict) and block.get("type") == "image":
                room -= 1
                block = block if room >= 0 else {"type": "text", "text": OLD_IMAGE}
            elif (
                isinstance(block, dict)
                and block.get("type") == "tool_result"
                and isinstance(block.get("content"), list)
            ):
                block = {**block, "content": kept(block["content"])}
            found.append(block)
        return found[::-1]

    for message in reversed(messages):
        content = message.get("content")
        made.append({**message, "content": kept(content)} if isinstance(content, list) else message)
    return made[::-1]


def _sound(messages: Sequence[Json]) -> list[Json]:
    """In turn, starting with the user, each call with one result and each result with its call."""
    made: list[Json] = []
    used: set[str] = set()
    for message in _in_turn(messages):
        role, content = message["role"], message["content"]
        asked = _last_spoken(made)
        if role == "system":
            made.append(message)
            continue
        if role == "assistant":
            content = [b for b in content if b.get("type") != "tool_use" or _is_new(str(b.get("id")), used)]
            while content and content[-1].get("type") in THINKING_TYPES:
                content = content[:-1]
        elif asked is not None:
            content = _answering(content, made[asked]["content"])
        else:
            content = [b for b in content if b.get("type") != "tool_result"]
        if content and (made or role == "user"):
            made.append({"role": role, "content": content})
    made = _in_turn(made)
    if (last := _last_spoken(made)) is not None and (calls := _calls(made[last])):
        made.append({"role": "user", "content": [_lost(call) for call in calls]})
    return made


def _is_new(call: str, used: set[str]) -> bool:
    """Whether the id was not used before; from now on it is."""
    is_new = call not in used
    used.add(call)
    return is_new


def _in_turn(messages: Iterable[Json]) -> list[Json]:
    """Messages of one role in a row as one, system turns between them behind it."""
    made: list[Json] = []
    for message in messages:
        at = _last_spoken(made)
        if message["role"] == "system":
            if at is not None:  # the user has the first word
                made.append(message)
        elif at is not None and made[at]["role"] == message["role"]:
            made[at] = {**made[at], "content": [*made[at]["content"], *message["content"]]}
        elif message["content"]:
            made.append(message)
    return made


def _last_spoken(messages: Sequence[Json]) -> int | None:
    """Where the last message is that is no system turn."""
    return next((i for i in range(len(messages) - 1, -1, -1) if messages[i]["role"] != "system"), None)


def _answering(content: Sequence[Json], asked: Sequence[Json]) -> list[Json]:
    """The results first, one for each call and in their order."""
    results: dict[str, Json] = {}
    for block in content:
        if block.get("type") == "tool_result":
            results.setdefault(str(block.get("tool_use_id")), block)
    calls = [str(b["id"]) for b in asked if b.get("type") == "tool_use"]
    rest = [b for b in content if b.get("type") != "tool_result"]
    return [*(results.get(call) or _lost(call) for call in calls), *rest]


def _calls(message: Json) -> list[str]:
    return [str(b["id"]) for b in message["content"] if b.get("type") == "tool_use"]


def _lost(call: str) -> Json:
    return {"type": "tool_result", "tool_use_id": call, "content": LOST, "is_error": True}


def _blocks(content: object) -> list[Json]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
