"""Who speaks in a user entry: a person, a tool, or the program itself.

Most user entries are tool results, and many of the rest were never typed. What a person asked is told from it by flags, by
where the entry came from, and by the tag that the program put in front.
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
_CAVEATS = ("<local-command-caveat>", "Caveat: ")  # the second one before 2.1
_TYPED = frozenset({"prompt", "command", "bash"})
_IDE = re.compile(r"<(ide_selection|ide_opened_file|ide_diagnostics)>.*?</\1>\s*", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def speaker(entry: BaseEntry) -> str:
    """What a user entry is: prompt, command, bash (typed by a person); result, meta, summary, interrupt, output … not.

    What a person typed while the model was working is an attachment, and a prompt all the same.
    """
    if entry.type == "attachment":
        return "prompt" if queued_text(entry).strip() else ""
    if entry.type != "user" or entry.message is None:
        return ""
    if entry.is_compact_summary:
        return "summary"
    if entry.results:
        return "result"
    if entry.is_meta:
        return "meta"
    origin = _origin(entry)
    if origin and origin != "human":
        return "notification" if origin == "task-notification" else origin
    return _tag(entry.text) or "prompt"


def is_prompt(entry: BaseEntry) -> bool:
    """Whether a person's turn begins here."""
    return speaker(entry) in _TYPED


def starts_turn(entry: BaseEntry, agent: bool = False) -> bool:
    """Whether a turn of the conversation begins here; what was asked of an agent counts in its own file alone."""
    return (agent or not entry.is_sidechain) and is_prompt(entry)


def is_caveat(entry: BaseEntry) -> bool:
    """Whether the program wrote this before a command, to tell the model that it need not answer."""
    return entry.type == "user" and entry.is_meta and entry.text.lstrip().startswith(_CAVEATS)


def has_caveat(entry: BaseEntry) -> bool:
    """Whether a caveat directly before a prompt belongs to it: it was a command."""
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
    """What a person typed while the model was working; empty for any other attachment."""
    if b"queued_command" not in bytes(entry.attachment):
        return ""
    attachment: Any = decode_readable(entry.attachment)
    return typed_text(attachment) if isinstance(attachment, dict) and is_typed(attachment) else ""


def prompt_text(entry: BaseEntry) -> str:
    """What the person meant to say: without editor context and reminders; a command as it was typed."""
    if entry.type == "attachment":
        return queued_text(entry).strip()
    text = entry.text
    kind = speaker(entry)
    if kind == "command":
        name = tag_text(text, "command-name") or tag_text(text, "command-message")
        return f"{name} {tag_text(text, 'command-args')}".strip()
    if kind == "bash":
        return f"! {tag_text(text, 'bash-input')}"
    return _REMINDER.sub("", _IDE.sub("", text)).strip()


InputKind = Literal["ide_selection", "ide_opened_file", "tool_result", "text"]
INPUTS: tuple[InputKind, ...] = get_args(InputKind)


def input_kind(entry: BaseEntry) -> InputKind:
    """Classify a user message by its content: a tool result, code selected or a file opened in an editor, else text."""
    if entry.results:
        return "tool_result"
    text = entry.text
    if "<ide_selection>" in text:
        return "ide_selection"
    return "ide_opened_file" if "<ide_opened_file>" in text else "text"
