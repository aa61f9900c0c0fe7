"""clew reads, checks, searches, explains, prices, reshapes, collects and continues Claude Code sessions.

Importing it loads nothing else; each name is fetched when it is first used.
"""

from __future__ import annotations

from clew.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.collect.archive.reader import Archive
    from clew.collect.job import archive
    from clew.collect.sql.dataframes import frame
    from clew.conversation.agent_sessions import Agent
    from clew.conversation.branches import Branch
    from clew.conversation.entry_graph import Cycle, Dangling, Duplicate, Graph
    from clew.conversation.follow_session import follow
    from clew.conversation.load import find, read, request, sessions
    from clew.conversation.replies import Call, Reply
    from clew.conversation.resume_request import Request
    from clew.conversation.rounds import Round
    from clew.conversation.session import Session
    from clew.conversation.turns import Turn
    from clew.edit.plan import Plan, plan
    from clew.errors import Ambiguous, ApiError, BadQuery, Busy, ClewError, NotFound, Refused, Stale, StoreError
    from clew.facts.format_drift import drift
    from clew.facts.health import Health, health
    from clew.facts.searchable_text import Words, words
    from clew.facts.token_usage import Count, Usage, usage
    from clew.facts.tool_catalog import call_diff, label
    from clew.index.session_index import Index, search
    from clew.provenance.line_blame import Blame, BlamedLine, blame
    from clew.provenance.recorded_changes import RecordedChange, file_changes
    from clew.report.session_cost import Cost, cost
    from clew.view.comparison import Comparison, diff
    from clew.view.export_session import export
    from clew.wire.bulk_scan import scan
    from clew.wire.content_block import Block, Message
    from clew.wire.entry import Blank, Damaged, Entry
    from clew.wire.entry_types import detail
    from clew.wire.line import Line


_HOMES = {
    "clew.collect.archive.reader": ("Archive",),
    "clew.collect.job": ("archive",),
    "clew.collect.sql.dataframes": ("frame",),
    "clew.conversation.agent_sessions": ("Agent",),
    "clew.conversation.branches": ("Branch",),
    "clew.conversation.entry_graph": ("Cycle", "Dangling", "Duplicate", "Graph"),
    "clew.conversation.follow_session": ("follow",),
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
    "clew.facts.format_drift": ("drift",),
    "clew.facts.health": ("Health", "health"),
    "clew.facts.searchable_text": ("Words", "words"),
    "clew.facts.token_usage": ("Count", "Usage", "usage"),
    "clew.facts.tool_catalog": ("call_diff", "label"),
    "clew.index.session_index": ("Index", "search"),
    "clew.provenance.line_blame": ("Blame", "BlamedLine", "blame"),
    "clew.provenance.recorded_changes": ("RecordedChange", "file_changes"),
    "clew.report.session_cost": ("Cost", "cost"),
    "clew.view.comparison": ("Comparison", "diff"),
    "clew.view.export_session": ("export",),
    "clew.wire.bulk_scan": ("scan",),
    "clew.wire.content_block": ("Block", "Message"),
    "clew.wire.entry": ("Blank", "Damaged", "Entry"),
    "clew.wire.entry_types": ("detail",),
    "clew.wire.line": ("Line",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Agent",
    "Ambiguous",
    "ApiError",
    "Archive",
    "BadQuery",
    "Blame",
    "BlamedLine",
    "Blank",
    "Block",
    "Branch",
    "Busy",
    "Call",
    "ClewError",
    "Comparison",
    "Cost",
    "Count",
    "Cycle",
    "Damaged",
    "Dangling",
    "Duplicate",
    "Entry",
    "Graph",
    "Health",
    "Index",
    "Line",
    "Message",
    "NotFound",
    "Plan",
    "RecordedChange",
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
    "archive",
    "blame",
    "call_diff",
    "cost",
    "detail",
    "diff",
    "drift",
    "export",
    "file_changes",
    "find",
    "follow",
    "frame",
    "health",
    "label",
    "plan",
    "read",
    "request",
    "scan",
    "search",
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
