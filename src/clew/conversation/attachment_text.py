"""Render attachments that were stored without the text that the model received.

Since 2.1.290 Claude Code stores the text that it sent (`rendered`). Attachments of older versions contain only their
data, and a resume renders it again. The short phrases around the stored values are part of the request; kinds that
Claude Code surrounds with its own instructions are omitted here and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from clew.conversation.cli_version import Era
from clew.wire.json_codec import JsonView, as_text

Parts = list[str] | None  # None: the text that is sent is not known

# Kinds that are sent inside instructions of Claude Code, which are not reproduced here
OMITTED_KINDS = frozenset(
    {
        "agent_mention",
        "auto_mode",
        "auto_mode_exit",
        "budget_usd",
        "deferred_tools_delta",
        "diagnostics",
        "edited_text_file",
        "environment",
        "instructions",
        "invoked_skills",
        "mcp_resource",
        "opened_file_in_ide",
        "output_style",
        "output_token_usage",
        "pdf_reference",
        "plan_file_reference",
        "plan_mode",
        "plan_mode_exit",
        "plan_mode_reentry",
        "read_truncation_notice",
        "relevant_memories",
        "selected_lines_in_ide",
        "session_context",
        "task_status",
        "token_usage",
        "ultrathink_effort",
    }
)
_OMITTED_BEFORE_2_1_290 = ("date_change", "todo_reminder")  # worded differently before 2.1.290
_UNKNOWN_BEFORE_2_1_100 = ("agent_listing_delta", "mcp_instructions_delta", "model", "silent_turn_reminder")
_QUEUED = "The user sent a new message while you were working:\n{}\n\n{}"
_QUEUED_NOTE = (
    "This is how Claude Code surfaces messages the user sends mid-turn — within the running turn, often alongside the next "
    "tool result, rather than as a separate conversation turn. Address the message above as you continue this turn."
)
_QUEUED_NOTE_BEFORE_2_1_260 = (  # before 2.1.260
    "IMPORTANT: After completing your current task, you MUST address the user's message above. Do not ignore it."
)
_CALLED = "Called the {} tool with the following input: {}"
_RESULT = "Result of calling the {} tool:\n{}"
_EMPTY = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
_REPORTED_HOOKS = ("SessionStart", "UserPromptSubmit", "UserPromptExpansion")  # hooks whose output is sent to the model


def render_attachment(attachment: JsonView, has_system_turns: bool, era: Era) -> Parts:
    """Return the texts that a version sends for an attachment, one for each part; an empty list if it is not sent,
    None if the text is not known.
    """
    kind = as_text(attachment.get("type"))
    if kind == "task_reminder":  # newer versions do not remind models that take system turns
        return [] if has_system_turns and era.renders_attachments else None
    if kind in OMITTED_KINDS or (kind in _OMITTED_BEFORE_2_1_290 and not era.renders_attachments):
        return None
    if (kind == "date" and not era.renders_attachments) or (kind in _UNKNOWN_BEFORE_2_1_100 and not era.knows_listings):
        return []
    if not era.knows_listings and kind in ("file", "directory"):  # worded differently before 2.1.100
        return None
    if not era.reads_bom and kind == "queued_command":  # worded differently before 2.1.9
        return None
    if kind == "queued_command":
        return _queued(attachment, _QUEUED_NOTE if era.reminds_of_tasks else _QUEUED_NOTE_BEFORE_2_1_260)
    render = _BY_KIND.get(str(kind))
    return render(attachment) if render else []


def is_typed(attachment: JsonView) -> bool:
    """Return whether the user typed this while the model was working."""
    origin = attachment.get("origin")
    by_others = isinstance(origin, dict) and origin.get("kind") not in (None, "human")
    is_prompt = attachment.get("type") == "queued_command" and attachment.get("commandMode") in (None, "prompt")
    return is_prompt and not by_others and attachment.get("isMeta") is not True


def typed_text(attachment: JsonView) -> str:
    """Return the text that the user typed while the model was working."""
    prompt = attachment.get("prompt")
    if isinstance(prompt, str):
        return prompt
    parts = prompt if isinstance(prompt, list) else []
    texts = (p.get("text") for p in parts if isinstance(p, dict) and p.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def attached_images(attachment: JsonView) -> list[dict[str, Any]]:
    """Return the images that were queued with a prompt; they are sent in addition to its text."""
    prompt = attachment.get("prompt")
    parts = prompt if isinstance(prompt, list) and attachment.get("type") == "queued_command" else []
    return [dict(p) for p in parts if isinstance(p, dict) and p.get("type") == "image"]


def _queued(attachment: JsonView, note: str) -> Parts:
    by_person = is_typed({**attachment, "commandMode": None}) and attachment.get("commandMode") != "task-notification"
    return [_QUEUED.format(typed_text(attachment), note)] if by_person else None


def _file(attachment: JsonView) -> Parts:
    content = attachment.get("content")
    if not isinstance(content, dict) or content.get("type") == "file_unchanged":
        return []
    file = content.get("file")
    if content.get("type") != "text" or not isinstance(file, dict) or attachment.get("truncated"):
        return None
    text, start = file.get("content"), file.get("startLine")
    if not isinstance(text, str) or not isinstance(start, int):
        return None
    lines = enumerate(re.split("\r?\n", text), start)
    shown = "\n".join(f"{number}\t{line}" for number, line in lines) if text else _EMPTY
    return [_CALLED.format("Read", _json({"file_path": attachment.get("filename")})), _RESULT.format("Read", shown)]


def _directory(attachment: JsonView) -> Parts:
    path, content = attachment.get("path"), attachment.get("content")
    if not isinstance(path, str) or not isinstance(content, str):
        return None
    from shlex import quote

    call = _json({"command": f"ls {quote(path)}", "description": f"Lists files in {path}"})
    return [_CALLED.format("Bash", call), _RESULT.format("Bash", content.rstrip())]


def _json(value: JsonView) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=False, separators=(",", ":"))


def _nested_memory(attachment: JsonView) -> Parts:
    content = attachment.get("content")
    if not isinstance(content, dict):
        return None
    return [f"Contents of {content.get('path')}:\n\n{content.get('content')}"]


def _hook_context(attachment: JsonView) -> Parts:
    content = attachment.get("content")
    if not isinstance(content, list) or not content:
        return []
    return [f"{attachment.get('hookName')} hook additional context: " + "\n".join(map(str, content))]


def _hook_success(attachment: JsonView) -> Parts:
    content = attachment.get("content")
    is_reported = attachment.get("hookEvent") in _REPORTED_HOOKS and content
    return [f"{attachment.get('hookName')} hook success: {content}"] if is_reported else []


def _hook_blocking_error(attachment: JsonView) -> Parts:
    error = attachment.get("blockingError")
    if not isinstance(error, dict):
        return None
    from_command = f'hook blocking error from command: "{error.get("command")}"'
    return [f"{attachment.get('hookName')} {from_command}: {error.get('blockingError')}"]


def _hook_stopped(attachment: JsonView) -> Parts:
    return [f"{attachment.get('hookName')} hook stopped continuation: {attachment.get('message')}"]


def _async_hook(attachment: JsonView) -> Parts:
    """Return the response of a hook that ran in the background."""
    response = attachment.get("response")
    if not isinstance(response, dict):
        return None
    specific = response.get("hookSpecificOutput")
    context = specific.get("additionalContext") if isinstance(specific, dict) else None
    return [text for text in (response.get("systemMessage"), context) if isinstance(text, str) and text]


def _date(attachment: JsonView) -> Parts:
    date = attachment.get("date")
    return [f"Today's date is {date}."] if date else []


def _date_change(attachment: JsonView) -> Parts:
    now = f"The date has changed. Today's date is now {attachment.get('newDate')}."
    return [f"{now} No need to announce the new date — the user's own clock shows it."]


def _compact_file(attachment: JsonView) -> Parts:
    read = f"Note: {attachment.get('filename')} was read before the last conversation was summarized"
    return [f"{read}, but the contents are too large to include. Use Read tool if you need to access it."]


def _mcp_instructions(attachment: JsonView) -> Parts:
    blocks = attachment.get("addedBlocks")
    if attachment.get("removedNames") or not isinstance(blocks, list) or not blocks:
        return None
    heading = "The following MCP servers have provided instructions for how to use their tools and resources:"
    return ["\n\n".join(("# MCP Server Instructions", heading, *map(str, blocks)))]


def _agents(attachment: JsonView) -> Parts:
    lines, is_first = attachment.get("addedLines"), attachment.get("isInitial") is True
    if attachment.get("removedTypes") or not isinstance(lines, list) or not lines:
        return None
    if is_first and attachment.get("showConcurrencyNote"):
        return None
    heading = (
        "Available agent types for the Agent tool:"
        if is_first
        else "New agent types are now available for the Agent tool:"
    )
    return ["\n".join((heading, *map(str, lines)))]


def _skills(attachment: JsonView) -> Parts:
    content = attachment.get("content")
    return [f"The following skills are available for use with the Skill tool:\n\n{content}"] if content else []


def _field(name: str) -> Callable[[JsonView], Parts]:
    """Return a renderer for kinds that store the whole text in one field."""

    def render(attachment: JsonView) -> Parts:
        text = attachment.get(name)
        return [text] if isinstance(text, str) else None

    return render


_BY_KIND: Mapping[str, Callable[[JsonView], Parts]] = {
    "agent_listing_delta": _agents,
    "async_hook_response": _async_hook,
    "compact_file_reference": _compact_file,
    "critical_system_reminder": _field("content"),
    "date": _date,
    "date_change": _date_change,
    "directory": _directory,
    "file": _file,
    "hook_additional_context": _hook_context,
    "hook_blocking_error": _hook_blocking_error,
    "hook_stopped_continuation": _hook_stopped,
    "hook_success": _hook_success,
    "mcp_instructions_delta": _mcp_instructions,
    "model": _field("text"),
    "nested_memory": _nested_memory,
    "silent_turn_reminder": _field("text"),
    "skill_listing": _skills,
    "total_tokens_reminder": _field("text"),
}
