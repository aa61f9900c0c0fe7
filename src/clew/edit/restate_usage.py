"""Reduce the recorded usage of the last reply to what is left of the session.

Claude Code takes the size of a conversation from the usage of its last reply. A session that was shortened and still
records the old size is compacted by the next resume, before the prompt is sent (observed with 2.1.45 and 2.1.325).
"""

from __future__ import annotations

from typing import Any

from clew.conversation.reply_ids import reply_id
from clew.conversation.session import Session
from clew.facts.context_size import WeighedPath
from clew.wire.content_block import Tokens
from clew.wire.entry import Entry, Item
from clew.wire.entry_edit import revise
from clew.wire.json_codec import encode

_ORDER = ("cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens")


def restate_usage(before: Session, items: tuple[Item, ...], was: WeighedPath | None = None) -> tuple[Item, ...]:
    """Return the items with the usage of the last reply reduced; unchanged if no less is sent.

    `was` is the weighed path of the session before, if it is known.
    """
    was = was or WeighedPath(before)
    now = WeighedPath(before.with_items(items), was)
    last, scale = now.last_report, was.scale
    if last is None or scale is None:
        return items
    reply = reply_id(last)
    # Example: the last reply reports 90,000 tokens, and 60 % of what preceded it was removed. Claude Code compares the
    # reported size with the window, so it is reduced to about 36,000.
    less = round(scale.factor * (was.before(reply) - now.before(reply)))
    if less <= 0:
        return items
    return tuple(_reduce_entry(item, less) if _is_part_of(item, reply) else item for item in items)


def _is_part_of(item: Item, reply: str | None) -> bool:
    return isinstance(item, Entry) and item.type == "assistant" and reply_id(item) == reply


def _reduce_entry(item: Item, less: int) -> Item:
    usage = item.message.usage if isinstance(item, Entry) and item.message else None
    if not isinstance(item, Entry) or usage is None:
        return item
    return revise(item, {"message": {"usage": _reduce_tokens(usage, less)}})


def _reduce_tokens(usage: Tokens, less: int) -> dict[str, Any]:
    """Return the counts with `less` tokens less: cached ones first, at least one is left. Detailed sums are removed."""
    changes: dict[str, Any] = {"cache_creation": None, "iterations": None}
    for name in _ORDER:
        count = getattr(usage, name) or 0
        subtracted = min(less, count - (name == _ORDER[-1]))
        if subtracted > 0:
            changes[name] = encode(count - subtracted)
            less -= subtracted
    return changes
