"""`clew check --all`: compare the sessions-index.json of each project with its files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime

from msgspec import structs

from clew.cli.output import one_line, print_json
from clew.cli.read.check_print import print_lines
from clew.cli.select_session import open_tree
from clew.facts.secrets.mask_secrets import mask, mask_data
from clew.system.plural import plural
from clew.wire.layout import Project
from clew.wire.lookup import find_project
from clew.wire.side_files import IndexComparison, IndexEntry, SessionsIndex, compare_index, read_index
from clew.wire.timestamps import format_timestamp

_SHOWN = 10  # entries to name; the others are counted


def report_indexes(options: Namespace) -> None:
    """Name the entries whose files are missing, and count those that are stale or not listed."""
    claude_tree = open_tree(options)
    for project in [find_project(claude_tree, options.project)] if options.project else claude_tree.projects():
        index = read_index(project.index) if project.index else None
        if index is None:
            continue
        comparison = compare_index(index, [file for file in project.sessions() if not file.is_empty])
        if options.json:
            print_json([_index_json(project, index, comparison)])
        elif comparison.missing:
            print_lines(("", line) for line in _report_lines(project, comparison))


def _report_lines(project: Project, comparison: IndexComparison) -> Iterator[str]:
    yield f"The index of {one_line(project.path().path)} names {plural(len(comparison.missing), 'session')} without a file:"
    for entry in comparison.missing[:_SHOWN]:
        yield f"  {one_line(entry.session_id)[:8]}  gone     {_describe_entry(entry)}"
    if len(comparison.missing) > _SHOWN:
        yield f"  … and {len(comparison.missing) - _SHOWN} more; --json lists them."
    if comparison.stale:
        yield f"  {plural(len(comparison.stale), 'entry is', 'entries are')} older than the file: its fileMtime differs."


def _describe_entry(entry: IndexEntry) -> str:
    title = mask(one_line(entry.custom_title or entry.summary or entry.first_prompt or "(no prompt)", 60))[0]
    if entry.is_sidechain:
        title = f"(sidechain) {title}"
    when = entry.modified or entry.created
    return f"{when.date()}  {title}" if when else title


def _index_json(project: Project, index: SessionsIndex, comparison: IndexComparison) -> dict[str, object]:
    states = {"fresh": comparison.fresh, "stale": comparison.stale, "missing": comparison.missing}
    return {
        "kind": "index",
        "path": str(project.index),
        "project": project.path().path,
        "original_path": index.original_path,
        "entries": [_entry_fields(entry, state) for state, entries in states.items() for entry in entries],
        "missing": [_missing_json(entry) for entry in comparison.missing],
        "stale": [entry.session_id for entry in comparison.stale],
        "unlisted": [file.id for file in comparison.unlisted],
    }


def _entry_fields(entry: IndexEntry, state: str) -> dict[str, object]:
    """All fields of an entry, with texts masked and times in UTC. `state` compares its fileMtime with the file."""
    fields = {
        name: format_timestamp(value) if isinstance(value, datetime) else value
        for name, value in structs.asdict(entry).items()
    }
    return {**dict(mask_data(fields)[0]), "state": state}


def _missing_json(entry: IndexEntry) -> dict[str, object]:
    return {
        "session": entry.session_id,
        "title": mask(entry.custom_title or entry.summary or entry.first_prompt)[0],
        "modified": format_timestamp(entry.modified) if entry.modified else None,
        "path": entry.full_path or None,
    }
