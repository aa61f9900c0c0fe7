"""Find messages of white space only, which a resume sends and the API rejects."""

from __future__ import annotations

from clew.conversation.cli_version import NEWEST
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.wire.entry import Entry


def blank_blocks(entry: Entry) -> list[int]:
    """Return the indices of text blocks without visible text; a plain string is the only block."""
    if entry.type not in ("user", "assistant") or entry.message is None:
        return []
    return [i for i, block in enumerate(entry.blocks) if block.type == "text" and not (block.text or "").strip()]


def blank_entries(session: Session, version: str = NEWEST) -> tuple[Entry, ...]:
    """Return the entries with blank texts, if a version sends any of them when it resumes the session."""
    if session.is_agent or not any(map(blank_blocks, session.entries)):
        return ()
    resume_request = request(session, version)
    blocks = (block for message in resume_request.messages for block in message["content"] if isinstance(block, dict))
    if not any(block.get("type") == "text" and not str(block.get("text") or "").strip() for block in blocks):
        return ()
    return tuple(entry for entry in resume_request.path if blank_blocks(entry))
