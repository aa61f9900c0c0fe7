"""Size: let the last reply tell how many tokens it would have been given of what is left.

Claude Code takes the size of a conversation from the usage of its last reply. A session that was made to fit and still tells
the old size is compacted by the next resume, before anything is asked (seen with 2.1.45 and 2.1.325).
"""

from __future__ import annotations

from typing import Any

from clew.conversation.active_path import reply_id
from clew.conversation.session import Session
from clew.facts.context_size import Weighed
from clew.wire.content_block import Tokens
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import revise
from clew.wire.json_codec import encode

_ORDER = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")


def resized(before: Session, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """What became of a session, with the last reply telling its size. As it is if no less is sent."""
    was, now = Weighed(before), Weighed(Session(items, file=before.file))
    last, scale = now.last_report, was.scale
    if last is None or scale is None:
        return items
    reply = reply_id(last)
    less = round(scale.factor * (was.before(reply) - now.before(reply)))
    if less <= 0:
        return items
    return tuple(_told(item, less) if _is_of(item, reply) else item for item in items)


def _is_of(item: Item, reply: str | None) -> bool:
    return isinstance(item, Entry) and item.type == "assistant" and reply_id(item) == reply


def _told(item: Item, less: int) -> Item:
    usage = item.message.usage if isinstance(item, Entry) and item.message else None
    if not isinstance(item, Entry) or usage is None:
        return item
    return revise(item, {"message": {"usage": _fewer(usage, less)}})


def _fewer(usage: Tokens, less: int) -> dict[str, Any]:
    """The counts with so many tokens less: cached ones first, one at least left. What adds them up in detail goes."""
    changes: dict[str, Any] = {"cache_creation": None, "iterations": None}
    for name in _ORDER:
        count = getattr(usage, name) or 0
        taken = min(less, count - (name == _ORDER[-1]))
        if taken > 0:
            changes[name] = encode(count - taken)
            less -= taken
    return changes
