"""Blank texts: messages of nothing but white space, which a resume sends and the API refuses."""

from __future__ import annotations

from clew.conversation.cli_version import NEWEST
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.wire.entry import Entry


def blank_blocks(entry: Entry) -> list[int]:
    """The indices of the blocks of a message that are texts without a word; a plain text is its only block."""
    if entry.type not in ("user", "assistant") or entry.message is None:
        return []
    return [i for i, block in enumerate(entry.blocks) if block.type == "text" and not (block.text or "").strip()]


def blank_entries(session: Session, version: str = NEWEST) -> tuple[Entry, ...]:
    """The entries with blank texts, if a version sends any of them when it resumes the session."""
    if session.is_agent or not any(map(blank_blocks, session.entries)):
        return ()
    made = request(session, version)
    blocks = (block for message in made.messages for block in message["content"] if isinstance(block, dict))
    if not any(block.get("type") == "text" and not str(block.get("text") or "").strip() for block in blocks):
        return ()
    return tuple(entry for entry in made.path if blank_blocks(entry))
