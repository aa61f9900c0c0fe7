"""Find replies whose usage counts thinking that is no longer in the file."""

from __future__ import annotations

from collections.abc import Iterable

from clew.wire.content_block import THINKING_TYPES
from clew.wire.entry import Entry
from clew.wire.entry_types import ORIGIN_TYPE

REMOVED_KEY = "thinkingRemoved"  # key in the origin line of an edited session: replies whose thinking was removed


def replies_without_thinking(entries: Iterable[Entry]) -> list[str]:
    """Return the ids of replies whose usage counts thinking that is no longer in the file.

    Newer versions report the tokens of thinking. For others, clew's own origin line lists the replies from which it
    removed thinking.
    """
    counted: dict[str, int] = {}
    with_thinking: set[str] = set()
    removed: set[str] = set()
    for entry in entries:
        if entry.type == ORIGIN_TYPE:
            listed = entry.data.get(REMOVED_KEY)
            removed.update(
                reply_id for reply_id in (listed if isinstance(listed, list) else ()) if isinstance(reply_id, str)
            )
        message = entry.message
        if message is None or message.usage is None or message.id is None:
            continue
        details = message.usage.output_tokens_details
        counted[message.id] = max(counted.get(message.id, 0), (details.thinking_tokens or 0) if details else 0)
        if any(block.type in THINKING_TYPES for block in entry.blocks):
            with_thinking.add(message.id)
    return [
        reply for reply, thinking in counted.items() if (thinking or reply in removed) and reply not in with_thinking
    ]


def thinking_replies(entries: Iterable[Entry]) -> set[str]:
    """Return the ids of the replies that contain thinking."""
    return {
        e.message.id for e in entries if e.message and e.message.id and any(b.type in THINKING_TYPES for b in e.blocks)
    }
