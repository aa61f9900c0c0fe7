"""`clew check --all`: sessions-index.json of each project compared with the files that are there."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from datetime import datetime

from msgspec import structs

from clew.cli.output import one_line, print_json
from clew.cli.read.check_print import print_lines
from clew.cli.select_session import tree
from clew.facts.secrets.mask_secrets import mask, mask_data
from clew.system.plural import plural
from clew.wire.layout import Project
from clew.wire.lookup import find_project
from clew.wire.side_files import IndexComparison, IndexEntry, SessionsIndex, compare, read_index
from clew.wire.timestamps import stamp

_SHOWN = 10  # entries that are named before the rest is only counted


def report_indexes(options: Namespace) -> None:
    """Name the entries whose files are gone, and count those that are older than their file or missing."""
    place = tree(options)
    for project in [find_project(place, options.project)] if options.project else place.projects():
        index = read_index(project.index) if project.index else None
        if index is None:
            continue
        found = compare(index, [file for file in project.sessions() if not file.is_empty])
        if options.json:
            print_json([_json(project, index, found)])
        elif found.missing:
            print_lines(("", line) for line in _lines(project, found))


def _lines(project: Project, found: IndexComparison) -> Iterator[str]:
    yield f"The index of {one_line(project.path().path)} names {plural(len(found.missing), 'session')} without a file:"
    for entry in found.missing[:_SHOWN]:
        yield f"  {one_line(entry.session_id)[:8]}  gone     {_about(entry)}"
    if len(found.missing) > _SHOWN:
        yield f"  … and {len(found.missing) - _SHOWN} more; --json lists them."
    if found.stale:
        yield f"  {plural(len(found.stale), 'entry is', 'entries are')} older than the file: its fileMtime differs."


def _about(entry: IndexEntry) -> str:
    title = mask(one_line(entry.custom_title or entry.summary or entry.first_prompt or "(no prompt)", 60))[0]
    if entry.is_sidechain:
        title = f"(sidechain) {title}"
    when = entry.modified or entry.created
    return f"{when.date()}  {title}" if when else title


def _json(project: Project, index: SessionsIndex, found: IndexComparison) -> dict[str, object]:
    states = {"fresh": found.fresh, "stale": found.stale, "missing": found.missing}
    return {
        "kind": "index",
        "path": str(project.index),
        "project": project.path().path,
        "original_path": index.original_path,
        "entries": [_fields(entry, state) for state, entries in states.items() for entry in entries],
        "missing": [_entry(entry) for entry in found.missing],
        "stale": [entry.session_id for entry in found.stale],
        "unlisted": [file.id for file in found.unlisted],
    }


def _fields(entry: IndexEntry, state: str) -> dict[str, object]:
    """All fields of an entry, texts masked and times in UTC; `state` compares its fileMtime with the file."""
    fields = {
        name: stamp(value) if isinstance(value, datetime) else value for name, value in structs.asdict(entry).items()
    }
    return {**dict(mask_data(fields)[0]), "state": state}


def _entry(entry: IndexEntry) -> dict[str, object]:
    return {
        "session": entry.session_id,
        "title": mask(entry.custom_title or entry.summary or entry.first_prompt)[0],
        "modified": stamp(entry.modified) if entry.modified else None,
        "path": entry.full_path or None,
    }
