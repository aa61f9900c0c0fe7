"""Check requests against the rules of the Messages API before they are sent.

Clients check their requests with it, editors their results, and the mock server answers 400 by it. Content that the
real API accepts but a careful client avoids is reported too, as advice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from clew.api.lint_blocks import Violation, check_blocks, check_mark_shape
from clew.api.open_turn import join_roles, start_without_thinking
from clew.api.request_body import count_cache_marks
from clew.wire.content_block import THINKING_TYPES
from clew.wire.json_codec import Json

__all__ = ["Violation", "lint", "violations"]


MAX_MARKS = 4
MAX_IMAGES = 100
MIN_BUDGET = 1024
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
_FIELDS = {
    *("model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking", "temperature", "top_p", "top_k"),
    *("stop_sequences", "stream", "metadata", "service_tier", "container", "mcp_servers", "inference_geo"),
    *("output_config", "cache_control"),
}


def violations(body: Mapping[str, Any], betas: Sequence[str] = ()) -> list[Violation]:
    """Return every rule that the body of a request violates, in the order of the body. A beta allows unknown fields."""
    all_violations = [*_check_fields(body), *_check_tools(body), *_check_system(body), *lint(body.get("messages"))]
    if not betas:
        all_violations += [
            Violation("extra", str(name), "Extra inputs are not permitted") for name in body if name not in _FIELDS
        ]
    return [*all_violations, *_check_thinking(body), *_check_marks(body), *_check_encoding(body)]


def lint(messages: Any) -> list[Violation]:
    """Return every rule that these messages violate by themselves."""
    if not isinstance(messages, list | tuple):
        return [
            Violation("field", "messages", "Field required" if messages is None else "Input should be a valid list")
        ]
    if not messages:
        return [Violation("messages", "messages", "at least one message is required.")]
    all_violations: list[Violation] = []
    last = len(messages) - 1
    for index, message in enumerate(messages):
        all_violations += _check_message(message, f"messages.{index}", index == last)
    if all(isinstance(m, dict) for m in messages):
        all_violations += [*_check_order(messages), *_check_pairs(messages), *_check_images(messages)]
    return all_violations


# -- fields other than the messages


def _check_fields(body: Mapping[str, Any]) -> Iterator[Violation]:
    for name, kind in (("model", str), ("max_tokens", int)):
        if name not in body:
            yield Violation("field", name, "Field required")
        elif not isinstance(body[name], kind) or isinstance(body[name], bool) or not body[name]:
            yield Violation("field", name, "Input is of the wrong type, or empty")
    limit = body.get("max_tokens")
    if isinstance(limit, int) and limit < 0:
        yield Violation("field", "max_tokens", "must be greater than or equal to 1.")
    temperature = body.get("temperature")
    if temperature is not None and not (isinstance(temperature, int | float) and 0 <= temperature <= 1):
        yield Violation("temperature", "temperature", "range: 0..1")
    for name in ("stop_sequences", "tools"):
        if body.get(name) is not None and not isinstance(body[name], list):
            yield Violation("field", name, "Input should be a valid list")
    for text in _list(body, "stop_sequences"):
        if not isinstance(text, str) or not text.strip():
            yield Violation("stop", "stop_sequences", "each stop sequence must contain non-whitespace.")


def _list(body: Mapping[str, Any], name: str) -> list[Any]:
    value = body.get(name)
    return value if isinstance(value, list) else []


def _check_tools(body: Mapping[str, Any]) -> Iterator[Violation]:
    tools = _list(body, "tools")
    names = Counter(str(t.get("name")) for t in tools if isinstance(t, dict))
    if any(count > 1 for count in names.values()):
        yield Violation("tools", "tools", "Tool names must be unique.")
    for index, tool in enumerate(tools):
        where = f"tools.{index}"
        if not isinstance(tool, dict):
            yield Violation("tools", where, "a tool must be an object.")
        elif tool.get("type", "custom") == "custom":
            if not _TOOL_NAME.fullmatch(str(tool.get("name") or "")):
                yield Violation("tools", f"{where}.custom.name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
            schema = tool.get("input_schema")
            if not isinstance(schema, dict) or schema.get("type") != "object":
                yield Violation("tools", f"{where}.custom.input_schema.type", "Input should be 'object'")
    choice = body.get("tool_choice")
    if isinstance(choice, dict):
        if not tools:
            yield Violation("tool_choice", "tool_choice", "may only be specified while providing `tools`.")
        elif choice.get("type") == "tool" and str(choice.get("name")) not in names:
            yield Violation("tool_choice", "tool_choice", f"Tool {choice.get('name')!r} not found in provided tools.")


def _check_system(body: Mapping[str, Any]) -> Iterator[Violation]:
    system = body.get("system")
    if isinstance(system, list):
        for violation in check_blocks(system, "system", "system"):
            where = violation.where.replace("system.content.", "system.", 1)
            yield Violation(violation.rule, where, violation.message)
    elif system is not None and not isinstance(system, str):
        yield Violation("system", "system", "must be a text or a list of text blocks.")


# -- the messages


def _check_message(message: Any, where: str, is_last: bool) -> Iterator[Violation]:
    if not isinstance(message, dict):
        yield Violation("message", where, "a message must be an object.")
        return
    role, content = message.get("role"), message.get("content")
    known = ("role", "content", "output_config") if role == "system" else ("role", "content")
    for name in message:
        if name not in known:
            yield Violation("extra", f"{where}.{name}", "Extra inputs are not permitted")
    if role not in ("user", "assistant", "system"):
        yield Violation("role", f"{where}.role", "Input should be 'user' or 'assistant'")
        return
    if content in ("", []):
        if not (is_last and role == "assistant"):
            yield Violation(
                "empty",
                where,
                "all messages must have non-empty content except for the optional final assistant message.",
            )
        return
    yield from check_blocks(content, role, where)
    if role == "assistant" and isinstance(content, list) and _type(content[-1]) in THINKING_TYPES:
        yield Violation("thinking", where, "the final block in an assistant message cannot be `thinking`.")
    if role == "assistant":
        yield from _check_thinking_first(content, where)
    if is_last and role == "assistant" and _last_text(content) != _last_text(content).rstrip():
        yield Violation("trailing", where, "final assistant content cannot end with trailing whitespace.")


def _check_thinking_first(content: Any, where: str) -> Iterator[Violation]:
    kinds = [_type(b) in THINKING_TYPES for b in content] if isinstance(content, list) else []
    if any(kinds) and not kinds[0]:
        yield Violation("thinking_first", where, "thinking should come first in its message.", is_refused=False)


def _last_text(content: Any) -> str:
    last = content[-1] if isinstance(content, list) and content else content
    text = last.get("text") if isinstance(last, dict) else last
    return text if isinstance(text, str) else ""


def _check_order(messages: Sequence[Json]) -> Iterator[Violation]:
    """Check that the user comes first and roles alternate; system messages can stand anywhere and do not count."""
    conversation = [(i, m) for i, m in enumerate(messages) if m.get("role") != "system"]
    if conversation and conversation[0][1].get("role") != "user":
        yield Violation("first", "messages", 'first message must use the "user" role.')
    for (_, before), (index, message) in pairwise(conversation):
        if before.get("role") == message.get("role"):
            role = message.get("role")
            yield Violation(
                "turns", f"messages.{index}", f"roles should alternate, and this is a second {role} in a row.", False
            )
    if conversation and conversation[-1][1].get("role") == "assistant":
        yield Violation(
            "prefill", f"messages.{conversation[-1][0]}", "the last message is from the assistant (a prefill).", False
        )


def _check_pairs(messages: Sequence[Json]) -> Iterator[Violation]:
    """Check that each call has one result, at the beginning of the next message, and each result its call."""
    turns = join_roles(messages)
    used: set[str] = set()
    for position, (index, role, content) in enumerate(turns):
        calls = _made_calls(content) if role == "assistant" else []
        if not used.isdisjoint(calls) or len({*calls}) < len(calls):
            yield Violation("unique", f"messages.{index}", "`tool_use` ids must be unique.")
        used.update(calls)
        next_turn = turns[position + 1] if position + 1 < len(turns) else None
        answers = {*_answered_calls(next_turn[2])} if next_turn and next_turn[1] == "user" else ()
        if missing := [call for call in calls if call not in answers]:
            yield Violation(
                "unanswered",
                f"messages.{index}",
                f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}.",
            )
        if role == "user":
            yield from _check_results(content, turns[position - 1] if position else None, f"messages.{index}")


def _check_results(
    content: Sequence[Json], before: tuple[int, str, Sequence[Json]] | None, where: str
) -> Iterator[Violation]:
    calls = {*_made_calls(before[2])} if before and before[1] == "assistant" else ()
    answered: set[str] = set()
    has_text = False
    for position, block in enumerate(content):
        if block.get("type") != "tool_result":
            has_text = True
            continue
        call, location = str(block.get("tool_use_id")), f"{where}.content.{position}"
        if call not in calls:
            yield Violation("orphan", location, f"unexpected `tool_use_id` found in `tool_result` blocks: {call}.")
        elif call in answered:
            yield Violation("twice", location, f"each tool_use must have a single result, and {call} has more.")
        elif has_text:
            yield Violation("late", location, f"the result of {call} must come before everything else in its message.")
        answered.add(call)


def _made_calls(content: Sequence[Json]) -> list[str]:
    return [str(b.get("id")) for b in content if b.get("type") == "tool_use"]


def _answered_calls(content: Sequence[Json]) -> list[str]:
    return [str(b.get("tool_use_id")) for b in content if b.get("type") == "tool_result"]


def _check_images(messages: Sequence[Json]) -> Iterator[Violation]:
    count = 0
    for message in messages:
        todo = message["content"] if isinstance(message.get("content"), list) else []
        for block in todo:
            kind = _type(block)
            if kind == "image":
                count += 1
            elif kind == "tool_result" and isinstance(block.get("content"), list):
                count += sum(_type(b) == "image" for b in block["content"])
    if count > MAX_IMAGES:
        yield Violation("images", "messages", f"too many images: {count} > {MAX_IMAGES}.")


def _type(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


# -- rules for the complete request


def _check_thinking(body: Mapping[str, Any]) -> Iterator[Violation]:
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    budget, limit = thinking.get("budget_tokens"), body.get("max_tokens")
    if not isinstance(budget, int) or budget < MIN_BUDGET:
        yield Violation(
            "budget", "thinking.enabled.budget_tokens", f"Input should be greater than or equal to {MIN_BUDGET}"
        )
    elif isinstance(limit, int) and limit <= budget:
        yield Violation("budget", "max_tokens", "must be greater than `thinking.budget_tokens`.")
    if body.get("temperature") not in (None, 1):
        yield Violation("temperature", "temperature", "may only be set to 1 when thinking is enabled.")
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") in ("any", "tool"):
        yield Violation("tool_choice", "tool_choice", "thinking may not be enabled when a tool is forced.")
    messages = body.get("messages")
    is_sound = isinstance(messages, list) and all(isinstance(m, dict) for m in messages)
    if is_sound and (start := start_without_thinking(messages or [])):
        message = f"Expected `thinking` or `redacted_thinking`, but found `{start[1]}`."
        yield Violation("thinking_start", f"messages.{start[0]}.content.0.type", message)


def _check_marks(body: Mapping[str, Any]) -> Iterator[Violation]:
    count = count_cache_marks(dict(body))
    if count > MAX_MARKS:
        yield Violation(
            "marks", "", f"A maximum of {MAX_MARKS} blocks with cache_control may be provided. Found {count}."
        )
    for index, tool in enumerate(_list(body, "tools")):
        if isinstance(tool, dict) and tool.get("cache_control") is not None:
            yield from check_mark_shape(tool["cache_control"], f"tools.{index}.cache_control")
    lifetimes = list(_lifetimes(body))
    if "1h" in lifetimes and "5m" in lifetimes and "1h" in lifetimes[lifetimes.index("5m") :]:
        yield Violation("mark_order", "", "a ttl='1h' cache_control block must not come after a ttl='5m' one.")


def _lifetimes(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lifetimes of the cache marks, in the order in which the API reads a request."""
    parts = [*_list(body, "tools"), *_list(body, "system")]
    for message in _list(body, "messages"):
        parts += message["content"] if isinstance(message, dict) and isinstance(message.get("content"), list) else ()
    for part in parts:
        mark = part.get("cache_control") if isinstance(part, dict) else None
        if isinstance(mark, dict):
            yield str(mark.get("ttl") or "5m")


def _check_encoding(body: Mapping[str, Any]) -> Iterator[Violation]:
    try:
        msgspec.json.encode(body)
    except UnicodeEncodeError:
        yield Violation("text", "", "The request body is not valid JSON: it contains half a surrogate pair.")
    except RecursionError:
        yield Violation("depth", "", "The request body is nested too deeply.")
