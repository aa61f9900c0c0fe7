"""The MCP tool `usage`: count the tokens of sessions by model."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from clew.errors import READ_ERRORS, ClewError
from clew.facts.token_usage import Count, Usage, total, usage
from clew.mcp import tool_arguments
from clew.mcp.quoted_text import safe, text
from clew.system.plural import plural
from clew.wire.bulk_scan import scan
from clew.wire.layout import Project, Tree
from clew.wire.lookup import find_project
from clew.wire.timestamps import parse_timestamp, parse_user_time
from clew.wire.usage_fields import USAGE_KEY, Billed


def count_usage(tree: Tree, asked: tool_arguments.UsageArguments) -> str:
    after = parse_user_time(asked.since) if asked.since else None
    spent, sessions, unread = Usage(), 0, 0
    for project in projects_of(tree, asked.project):
        files = [(f, True) for f in project.sessions()] + [(f, False) for f in project.agents()]
        for file, is_session in files:
            if after and file.mtime_ns < after.timestamp() * 1e9:
                continue
            try:
                found = scan(file.path, shape=Billed, holding=USAGE_KEY)
                spent += usage(entry for piece in found for entry in piece.spoken)
            except READ_ERRORS:
                unread += 1
                continue
            sessions += is_session and bool(file.size)
    models = _by_model(spent, after)
    if not models:
        since = f" since {safe(asked.since)!r}" if asked.since else ""
        raise ClewError(
            f"No tokens were used{since}.", hint="Leave out since, or list the sessions with list_sessions."
        )
    head = [f"Tokens of {plural(sessions, 'session')} with their agents, each reply counted once."]
    if unread:
        head.append(f"{plural(unread, 'file')} could not be read.")
    everything = total(models.values())
    table = [_tokens(safe(model) or "(no model)", count) for model, count in sorted(models.items())]
    return text(head, [*(f"> {line}" for line in table), _tokens("total", everything)])


def _by_model(spent: Usage, after: datetime | None) -> dict[str, Count]:
    """Counts by model, of the replies from a time on; a file may hold older ones."""
    groups: dict[str, list[Count]] = {}
    for spend in spent.replies.values():
        time = parse_timestamp(spend.timestamp)
        if after is None or (time is not None and time >= after):
            groups.setdefault(spend.model, []).append(spend.count)
    return {model: total(counts) for model, counts in groups.items()}


def _tokens(name: str, count: Count) -> str:
    return (
        f"{name}: {count.total:,} tokens (input {count.input:,}, output {count.output:,}, "
        f"cache written {count.cache_write:,}, cache read {count.cache_read:,})"
    )


def projects_of(tree: Tree, name: str) -> Iterable[Project]:
    """The project with this name, or all projects if the name is empty."""
    return [find_project(tree, name)] if name else tree.projects()
