"""The MCP tools `file_changes` and `blame`: which session changed a file, and which prompt wrote its lines."""

from __future__ import annotations

from itertools import groupby

from clew.errors import NotFound
from clew.mcp import tool_arguments
from clew.mcp.quoted_text import page, quote, safe, text
from clew.provenance.line_blame import BlamedLine, blame
from clew.provenance.recorded_changes import RecordedChange, file_changes
from clew.system.plural import plural
from clew.wire.layout import Tree

_PROMPT = 200  # characters of a prompt


def list_file_changes(tree: Tree, asked: tool_arguments.FileChangesArguments) -> str:
    changes = file_changes(
        path=asked.path or None, project=asked.project or None, since=asked.since or None, claude=tree.root
    )
    if not changes:
        hint = "Shell commands leave no record of what they change. Leave out since, or list_sessions."
        raise NotFound(asked.path or asked.project or asked.since or str(tree.root), "recorded change", hint=hint)
    lines = [line for change in reversed(changes) for line in quote(f"{safe(change.path)}: {_describe(change)}")]
    shown = page(lines, asked.cursor)
    head = [f"{plural(len(changes), 'recorded change')} of files, newest first. Shell commands leave no record."]
    return text(head, shown.lines, [f"There is more: ask again with cursor={shown.stop}."] if shown.is_cut else [])


def _describe(change: RecordedChange) -> str:
    time = f"{change.time:%Y-%m-%d %H:%M} · " if change.time else ""
    agent = " (agent)" if change.agent else ""
    counts = f"+{change.added} −{change.removed}"
    turn = f"turn {change.turn}" if change.turn else "turn unknown"
    return f"{time}{counts} · session {change.session} {turn}{agent}: {safe(change.prompt)[:_PROMPT]}"


def blame_file(tree: Tree, asked: tool_arguments.BlameArguments) -> str:
    """Describe the runs of lines of a file that sessions changed. The text of the file is not part of the answer."""
    result = blame(asked.path, claude=tree.root)
    if not result.changes:
        raise NotFound(asked.path, "recorded change", hint="Only files that a session changed can be traced.")
    chosen = [line for line in result.lines if asked.first <= line.number <= (asked.last or line.number)]
    known = sum(bool(line.evidence) for line in chosen)
    state = "is as the last recorded change left it" if result.is_as_recorded else "was changed since the last record"
    head = [f"{known} of {plural(len(chosen), 'line')} placed; the file {state}."]
    runs = [list(run) for _, run in groupby(chosen, key=lambda line: (line.change, line.evidence, line.commit))]
    shown = page([line for run in runs for line in quote(_describe_run(run))], asked.cursor)
    return text(head, shown.lines, [f"There is more: ask again with cursor={shown.stop}."] if shown.is_cut else [])


def _describe_run(run: list[BlamedLine]) -> str:
    first, last = run[0], run[-1]
    numbers = f"{first.number}-{last.number}" if len(run) > 1 else str(first.number)
    commit = f" · commit {first.commit.id[:12]} {safe(first.commit.summary)[:_PROMPT]}" if first.commit else ""
    if first.change is None:
        return f"lines {numbers}: unknown{commit}"
    return f"lines {numbers}: by {first.evidence} · {_describe(first.change)}{commit}"
