"""Tell who wrote a user entry: the user, a tool, or Claude Code itself.

Most user entries are tool results, and many of the others were never typed. Prompts are recognised by flags, by the
origin of the entry, and by the tag with which Claude Code starts the text.
"""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

from clew.conversation.attachment_text import is_typed, typed_text
from clew.wire.entry import BaseEntry
from clew.wire.entry_types import tag_text
from clew.wire.json_codec import as_text, decode_readable

_TAGS = {
    "<command-name>": "command",
    "<command-message>": "command",
    "<bash-input>": "bash",
    "<bash-stdout>": "output",
    "<bash-stderr>": "output",
    "<local-command-stdout>": "output",
    "<local-command-stderr>": "output",
    "<local-command-caveat>": "caveat",
    "<task-notification>": "notification",
    "<teammate-message": "teammate",
    "<session-start-hook>": "hook",
    "<user-prompt-submit-hook>": "hook",
    "[Request interrupted by user": "interrupt",
}
_CAVEATS = ("<local-command-caveat>", "Caveat: ")  # the second form before 2.1
_TYPED = frozenset({"prompt", "command", "bash"})
_IDE = re.compile(r"<(ide_selection|ide_opened_file|ide_diagnostics)>.*?</\1>\s*", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def speaker(entry: BaseEntry) -> str:
    """Classify a user entry: prompt, command or bash (typed by the user); result, meta, summary, interrupt, output
    and others (not typed).

    A prompt that was typed while the model was working is an attachment.
    """
    if entry.type == "attachment":
        return "prompt" if queued_text(entry).strip() else ""
    if entry.type != "user" or entry.message is None:
        return ""
    if entry.is_compact_summary:
        return "summary"
    if entry.has_results:
        return "result"
    if entry.is_meta:
        return "meta"
    origin = _origin(entry)
    if origin and origin != "human":
        return "notification" if origin == "task-notification" else origin
    return _tag(entry.text) or "prompt"


def is_prompt(entry: BaseEntry) -> bool:
    """Return whether the user typed this entry."""
    return speaker(entry) in _TYPED


def starts_turn(entry: BaseEntry, agent: bool = False) -> bool:
    """Return whether a turn of the conversation starts here; a prompt of an agent counts only in the agent's file."""
    return (agent or not entry.is_sidechain) and is_prompt(entry)


def is_caveat(entry: BaseEntry) -> bool:
    """Return whether Claude Code wrote this before a command, to tell the model not to answer it."""
    return entry.type == "user" and entry.is_meta and entry.text.lstrip().startswith(_CAVEATS)


def has_caveat(entry: BaseEntry) -> bool:
    """Return whether a caveat directly before this prompt belongs to it, because it is a command."""
    return speaker(entry) in ("command", "bash")


def _origin(entry: BaseEntry) -> str:
    value: Any = decode_readable(entry.origin)
    return as_text(value.get("kind") or "") if isinstance(value, dict) else ""


def _tag(text: str) -> str:
    start = text.lstrip()[:32]
    if start[:1] not in ("<", "["):
        return ""
    return next((kind for tag, kind in _TAGS.items() if start.startswith(tag)), "")


def queued_text(entry: BaseEntry) -> str:
    """Return what the user typed while the model was working; empty for any other attachment."""
    if b"queued_command" not in bytes(entry.attachment):
        return ""
    attachment: Any = decode_readable(entry.attachment)
    return typed_text(attachment) if isinstance(attachment, dict) and is_typed(attachment) else ""


def prompt_text(entry: BaseEntry, kind: str | None = None) -> str:
    """Return the prompt without editor context and reminders; a command as it was typed. `kind` is the speaker, if known."""
    if entry.type == "attachment":
        return queued_text(entry).strip()
    text = entry.text
    kind = speaker(entry) if kind is None else kind
    if kind == "command":
        name = tag_text(text, "command-name") or tag_text(text, "command-message")
        return f"{name} {tag_text(text, 'command-args')}".strip()
    if kind == "bash":
        return f"! {tag_text(text, 'bash-input')}"
    return _REMINDER.sub("", _IDE.sub("", text)).strip() if "<" in text else text.strip()


InputKind = Literal["ide_selection", "ide_opened_file", "tool_result", "text"]
INPUTS: tuple[InputKind, ...] = get_args(InputKind)


def input_kind(entry: BaseEntry) -> InputKind:
    """Classify a user message by its content: a tool result, code selected or a file opened in an editor, else text."""
    if entry.has_results:
        return "tool_result"
    text = entry.text
    if "<ide_selection>" in text:
        return "ide_selection"
    return "ide_opened_file" if "<ide_opened_file>" in text else "text"
