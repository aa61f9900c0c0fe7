"""clew reads, checks, searches, explains, prices, reshapes, collects and continues Claude Code sessions.

Importing it loads nothing else; each name is fetched when it is first used.
"""

from __future__ import annotations

from clew.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.collect.sql.dataframes import frame
    from clew.conversation.agent_sessions import Agent
    from clew.conversation.branches import Branch
    from clew.conversation.entry_graph import Cycle, Dangling, Duplicate, Graph
    from clew.conversation.load import find, read, request, sessions
    from clew.conversation.replies import Call, Reply
    from clew.conversation.resume_request import Request
    from clew.conversation.rounds import Round
    from clew.conversation.session import Session
    from clew.conversation.turns import Turn
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
    from clew.facts.searchable_text import Words, words
    from clew.facts.token_usage import Count, Usage, usage
    from clew.facts.tool_catalog import label
    from clew.wire.content_block import Block, Message
    from clew.wire.entry import Blank, Damaged, Entry
    from clew.wire.entry_types import detail
    from clew.wire.line import Line

_HOMES = {
    "clew.collect.sql.dataframes": ("frame",),
    "clew.conversation.agent_sessions": ("Agent",),
    "clew.conversation.branches": ("Branch",),
    "clew.conversation.entry_graph": ("Cycle", "Dangling", "Duplicate", "Graph"),
    "clew.conversation.load": ("find", "read", "request", "sessions"),
    "clew.conversation.replies": ("Call", "Reply"),
    "clew.conversation.resume_request": ("Request",),
    "clew.conversation.rounds": ("Round",),
    "clew.conversation.session": ("Session",),
    "clew.conversation.turns": ("Turn",),
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
    "clew.facts.tool_catalog": ("label",),
    "clew.facts.token_usage": ("Count", "Usage", "usage"),
    "clew.facts.searchable_text": ("Words", "words"),
    "clew.wire.content_block": ("Block", "Message"),
    "clew.wire.entry_types": ("detail",),
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
