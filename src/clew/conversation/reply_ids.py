"""Decide which lines belong to one reply: for clew, and as Claude Code groups them when it resumes.

The two keys agree on every line that has a message id. They differ where it is missing:

    message.id  requestId  reply_key  reply_id
    msg_1       req_1      msg_1      msg_1
    -           req_1      req_1      None: all such lines are one reply
    -           -          the uuid   "#" and the uuid: the line is a reply by itself
"""

from __future__ import annotations

from typing import Protocol


class _HasMessageId(Protocol):
    @property
    def id(self) -> str | None: ...


class ReplyLine(Protocol):
    """A line of a reply: an entry, or one that was read only for its usage."""

    @property
    def uuid(self) -> str | None: ...
    @property
    def request_id(self) -> str | None: ...
    @property
    def message(self) -> _HasMessageId | None: ...


def reply_key(line: ReplyLine) -> str | None:
    """Return the key by which clew groups lines into one reply: the message id, else the request id, else the uuid."""
    return (line.message.id if line.message else None) or line.request_id or line.uuid


def reply_id(line: ReplyLine, *, separates_without_id: bool = True) -> str | None:
    """Return the key by which Claude Code groups lines into one reply: `message.id`, which may be None.

    Lines with neither message nor request id stand alone, except in versions before 2.1.260.
    """
    message_id = line.message.id if line.message else None
    if message_id is None and line.request_id is None and separates_without_id:
        return f"#{line.uuid}"
    return message_id
