"""Extract the searchable text of an entry: the only definition of what can be searched and shown.

Fields: prompt, reply, thinking, input (of a tool), result (of a tool), summary (of a compaction), meta (text that the
program added: output of commands, notifications, editor selections, mentioned files, hooks). Images and other base64
data are never included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from clew.conversation.speaker import prompt_text, queued_text, speaker
from clew.wire.content_block import result_text
from clew.wire.entry import BaseEntry
from clew.wire.json_codec import decode_readable

FIELDS = ("prompt", "reply", "thinking", "input", "result", "summary", "meta")
_FIELD_OF_SPEAKER = {"prompt": "prompt", "command": "prompt", "bash": "prompt", "teammate": "prompt", "peer": "prompt"}
# Attachments with content of the user's files and programs. Others repeat the same listings in every session.
_CONTENT_ATTACHMENTS = frozenset(
    (
        *("file", "directory", "nested_memory", "edited_text_file", "selected_lines_in_ide", "opened_file_in_ide"),
        *("hook_additional_context", "hook_success", "hook_blocking_error", "hook_non_blocking_error"),
        *("async_hook_response", "queued_command", "task_status", "mcp_resource", "plan_file_reference"),
    )
)
_ADDED = re.compile(
    r"<(ide_selection|ide_opened_file|ide_diagnostics|system-reminder)>(?P<text>.*?)</\1>", re.DOTALL
)  # what an editor and the program add to a prompt
_COMMAND_TAGS = re.compile(r"<(local-command-std(out|err)|bash-std(out|err)|command-(name|message))>")
_MIN_ENCODED = 256  # characters; longer than any word or digest
_ENCODED = re.compile(rf"(data:[^,\s]{{0,80}};base64,)?[A-Za-z0-9+/_-]{{{_MIN_ENCODED},}}={{0,2}}")


class Words(Struct, frozen=True, gc=False):
    """A piece of text, the field it belongs to, and the tool it concerns."""

    field: str
    text: str
    tool: str = ""
    failed: bool = False


def words(entry: BaseEntry, tools: Sequence[str] = ()) -> list[Words]:
    """Return the pieces of an entry, in order; none for entries without text.

    `tools` are the names of the tools whose results the entry contains, for those results that have text.
    """
    kind = entry.type
    if kind == "assistant":
        return _reply_pieces(entry)
    if kind == "user":
        return _user_pieces(entry, tools)
    if kind == "attachment":
        return _attachment_pieces(entry)
    return _command_pieces(entry) if kind == "system" else []


def _reply_pieces(entry: BaseEntry) -> list[Words]:
    message = entry.message
    content = message.content if message is not None else None
    field = "meta" if entry.is_synthetic and not entry.is_api_error else "reply"
    if not isinstance(content, list):
        return [Words(field, content)] if content else []
    pieces = []
    for block in content:
        kind = block.type
        if kind == "tool_use" or kind == "server_tool_use":
            if text := input_text(block.input):
                pieces.append(Words("input", text, block.name or ""))
        elif kind == "text":
            if block.text:
                pieces.append(Words(field, block.text))
        elif kind == "thinking" and block.thinking:
            pieces.append(Words("thinking", block.thinking))
    return pieces


def _user_pieces(entry: BaseEntry, tools: Sequence[str]) -> list[Words]:
    message = entry.message
    content = message.content if message is not None else None
    if not isinstance(content, list):
        return _prompt_pieces(entry)
    pieces: list[Words] = []
    results = 0
    for block in content:
        if block.type == "tool_result":
            results += 1
            text = block.content
            if not isinstance(text, str):
                text = result_text(text)
            if text:
                failed = block.is_error
                if failed is None:
                    failed = entry.failed(block, tools[len(pieces)] if len(pieces) < len(tools) else "")
                pieces.append(Words("result", text, "", failed))
    if not results:
        return _prompt_pieces(entry)
    if results < len(content) and (beside := entry.text):
        pieces.append(Words("meta", beside))
    return pieces


def _prompt_pieces(entry: BaseEntry) -> list[Words]:
    """Return what the user typed and what the program added to it; or a text that the program wrote."""
    whole = entry.text
    if not whole:
        return []
    kind = speaker(entry)
    if kind not in _FIELD_OF_SPEAKER:
        return [Words("summary" if kind == "summary" else "meta", whole)]
    text = prompt_text(entry, kind)
    added = "\n".join(match["text"].strip() for match in _ADDED.finditer(whole)) if len(text) < len(whole) else ""
    return [Words(field, piece) for field, piece in ((_FIELD_OF_SPEAKER[kind], text), ("meta", added)) if piece]


def _attachment_pieces(entry: BaseEntry) -> list[Words]:
    """Return the text that the user typed while the model was working, or the content of another attachment."""
    text = queued_text(entry)
    if text.strip():
        return [Words("prompt", text)]
    attachment = decode_readable(entry.attachment)
    if not isinstance(attachment, dict) or attachment.get("type") not in _CONTENT_ATTACHMENTS:
        return []
    text = input_text({key: value for key, value in attachment.items() if key not in ("type", "rendered")})
    return [Words("meta", text)] if text.strip() else []


def _command_pieces(entry: BaseEntry) -> list[Words]:
    """Return the output of a command of Claude Code, which newer versions write as a system entry."""
    if not bytes(entry.content).startswith(b'"<'):
        return []
    text = decode_readable(entry.content)
    return [Words("meta", text)] if isinstance(text, str) and _COMMAND_TAGS.match(text) else []


def input_text(value: Any) -> str:
    """Return the strings of a tool's input, one per line."""
    if not isinstance(value, dict):
        return "\n".join(_strings(value))
    flat = []
    for member in value.values():
        if isinstance(member, str):
            if len(member) >= _MIN_ENCODED and ("media_type" in value or _ENCODED.fullmatch(member)):
                return "\n".join(_strings(value))
            flat.append(member)
        elif isinstance(member, (dict, list)):
            return "\n".join(_strings(value))
    return "\n".join(flat)


def _strings(value: Any) -> list[str]:
    strings: list[str] = []
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if not _ENCODED.fullmatch(item):
                strings.append(item)
        elif isinstance(item, dict):
            hidden = "data" if "media_type" in item else None  # the source of an image of any size
            stack.extend([v for k, v in item.items() if k != hidden][::-1])
        elif isinstance(item, list):
            stack.extend(item[::-1])
    return strings
