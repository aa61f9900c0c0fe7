"""`clew check --inventory`: count the content of sessions in one table, with a total."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from msgspec.structs import asdict

from clew.cli.output import format_size, one_line, print_json
from clew.cli.read.check_workers import map_files
from clew.cli.select_session import error_fence, open_session, report_unlisted_folders, session_files
from clew.cli.text_columns import Column, print_folded
from clew.conversation.session import Session
from clew.errors import READ_ERRORS
from clew.facts.inventory import inventory
from clew.system.file_errors import explain_error
from clew.wire.json_codec import JsonView
from clew.wire.layout import session_at

_COUNTED = ("types", "stop_reasons", "blocks", "tools", "versions")
_NAME = 30  # characters of a name in the heading
_SUMMED = ("bytes", "lines", "human_turns", "calls")


def run(options: Namespace) -> int | None:
    """Print the table. None if there is no session."""
    fence = error_fence(options)
    rows: list[JsonView] = []
    if options.id:
        rows = [_session_row(open_session(options, options.id, archived=True))]
    else:
        files = list(islice(session_files(options), options.limit))
        for file, (row, reason) in zip(files, map_files(prepare_inventory, None, files, options.jobs), strict=True):
            if row:
                rows.append(row)
            else:
                fence.add(file.path, reason)
    if not rows:
        return None
    rows.append(_total_row(rows))
    if options.json:
        print_json(rows)
    else:
        print_folded(rows, _columns(rows[-1]))
    if not options.id:
        report_unlisted_folders(options, fence)
    return 1 if fence.problems else 0


def prepare_inventory(_: None) -> Callable[[str], tuple[JsonView, str]]:
    """Return the function that counts one file, for a worker process."""
    return _count_file


def _count_file(path: str) -> tuple[JsonView, str]:
    """Return the row of a file; if it cannot be read, an empty one and the reason."""
    try:
        file = session_at(path)
        return _session_row(Session(file.path, file=file)), ""
    except READ_ERRORS as error:
        return {}, explain_error(error)


def _session_row(session: Session) -> JsonView:
    counted = asdict(inventory(session))
    tools = Counter(call.name for call in session.calls)
    return {
        "kind": "inventory",
        "session": session.id,
        "bytes": counted["size"],
        "lines": counted["lines"],
        "human_turns": counted["human_turns"],
        "calls": counted["calls"],
        **{name: dict(counted[name]) for name in ("types", "stop_reasons", "blocks", "versions")},
        "tools": dict(tools.most_common()),
    }


def _total_row(rows: list[JsonView]) -> JsonView:
    sums = {name: sum(row[name] for row in rows) for name in _SUMMED}
    return {
        "kind": "total",
        "session": "Total",
        "sessions": len(rows),
        **sums,
        **{name: _add_counts(row[name] for row in rows) for name in _COUNTED},
    }


def _add_counts(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for counts_of_row in counts:
        total.update(counts_of_row)
    return dict(total.most_common())


def _columns(total: JsonView) -> list[Column]:
    """One column for each type, stop reason and kind of block that occurs; versions and tools are lists at the end."""
    columns: list[Column] = [
        ("SESSION", lambda row: row["session"][:8]),
        ("SIZE", lambda row: format_size(row["bytes"])),
        ("LINES", lambda row: str(row["lines"])),
        ("TURNS", lambda row: str(row["human_turns"])),
        ("CALLS", lambda row: str(row["calls"])),
    ]
    for group, mark in (("types", ""), ("stop_reasons", "stop:"), ("blocks", "block:")):
        columns += [(f"{mark}{one_line(name, _NAME) or '(none)'}", _count_cell(group, name)) for name in total[group]]
    return [*columns, ("VERSIONS", _list_cell("versions")), ("TOOLS", _list_cell("tools"))]


def _count_cell(group: str, name: str) -> Any:
    return lambda row: str(row[group].get(name, 0))


def _list_cell(group: str) -> Any:
    return lambda row: ", ".join(f"{one_line(name, _NAME) or '(none)'} {count}" for name, count in row[group].items())
