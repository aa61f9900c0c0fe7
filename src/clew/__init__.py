"""clew reads, checks, searches, explains, prices, reshapes, collects and continues Claude Code sessions.

Importing it loads nothing else; each name is fetched when it is first used.
"""

from __future__ import annotations

from clew.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.collect.sql_frame import frame
    from clew.conversation.agent import Agent
    from clew.conversation.branch import Branch
    from clew.conversation.graph import Cycle, Dangling, Duplicate, Graph
    from clew.conversation.open import find, read, request, sessions
    from clew.conversation.reply import Call, Reply
    from clew.conversation.request import Request
    from clew.conversation.round import Round
    from clew.conversation.session import Session
    from clew.conversation.turn import Turn
    from clew.edit.plan import Plan, plan
    from clew.errors import (
        Ambiguous,
        ApiError,
        BadQuery,
        Busy,
        ClewError,
        NotFound,
        Refused,
        Stale,
        StoreError,
    )
    from clew.facts.tool import label
    from clew.facts.usage import Count, Usage, usage
    from clew.facts.words import Words, words
    from clew.wire.block import Block, Message
    from clew.wire.detail import detail
    from clew.wire.entry import Blank, Damaged, Entry
    from clew.wire.line import Line

_HOMES = {
    "clew.collect.sql_frame": ("frame",),
    "clew.conversation.agent": ("Agent",),
    "clew.conversation.branch": ("Branch",),
    "clew.conversation.graph": ("Cycle", "Dangling", "Duplicate", "Graph"),
    "clew.conversation.open": ("find", "read", "request", "sessions"),
    "clew.conversation.reply": ("Call", "Reply"),
    "clew.conversation.request": ("Request",),
    "clew.conversation.round": ("Round",),
    "clew.conversation.session": ("Session",),
    "clew.conversation.turn": ("Turn",),
    "clew.edit.plan": ("Plan", "plan"),
    "clew.errors": (
        "Ambiguous",
        "ApiError",
        "BadQuery",
        "Busy",
        "ClewError",
        "NotFound",
        "Refused",
        "Stale",
        "StoreError",
    ),
    "clew.facts.tool": ("label",),
    "clew.facts.usage": ("Count", "Usage", "usage"),
    "clew.facts.words": ("Words", "words"),
    "clew.wire.block": ("Block", "Message"),
    "clew.wire.detail": ("detail",),
    "clew.wire.entry": ("Blank", "Damaged", "Entry"),
    "clew.wire.line": ("Line",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "Ambiguous",
    "ApiError",
    "BadQuery",
    "Blank",
    "Block",
    "Branch",
    "Busy",
    "Call",
    "ClewError",
    "Count",
    "Cycle",
    "Damaged",
    "Dangling",
    "Duplicate",
    "Entry",
    "Graph",
    "Line",
    "Message",
    "NotFound",
    "Plan",
    "Refused",
    "Reply",
    "Request",
    "Round",
    "Session",
    "Stale",
    "StoreError",
    "Turn",
    "Usage",
    "Words",
    "__version__",
    "detail",
    "find",
    "frame",
    "label",
    "plan",
    "read",
    "request",
    "sessions",
    "usage",
    "words",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'clew' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
