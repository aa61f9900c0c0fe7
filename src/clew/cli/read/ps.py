"""`clew ps`: list the sessions that run or wait for an answer now."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, parse_number
from clew.cli.output import clean_name, format_age, is_terminal, print_json, print_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clew.cli.text_columns import Column
    from clew.wire.layout import SessionFile, Tree
    from clew.wire.running_sessions import RunningSession

_CLEAR = "\x1b[H\x1b[2J"


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("--watch", "-w", action="store_true", help="list again whenever something changes")
    command.add_argument(
        "--interval", metavar="S", type=parse_number, default=2.0, help="with --watch: look every S seconds (default 2)"
    )
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_tree

    tree = open_tree(options)
    rows = _rows(tree)
    _print(options, tree, rows)
    if not options.watch:
        return 0 if rows else 1
    try:
        while True:
            time.sleep(max(0.1, options.interval))
            before, rows = rows, _rows(tree)
            if is_terminal() and not options.json:
                print(_CLEAR, end="")
            elif _facts(before) == _facts(rows):
                continue
            _print(options, tree, rows)
    except KeyboardInterrupt:
        return 0


def _rows(tree: Tree) -> list[dict[str, Any]]:
    files = {file.id: file for project in tree.projects() for file in project.sessions() if not file.is_empty}
    from clew.wire.running_sessions import list_running

    rows = [_row(each, files.get(each.session)) for each in list_running(tree)]
    return sorted(rows, key=lambda row: -row["when"].timestamp() if row["when"] else 0.0)  # by the time that is shown


def _row(running: RunningSession, file: SessionFile | None) -> dict[str, Any]:
    from clew.wire.timestamps import format_timestamp

    title, cost = _title_and_cost(file) if file else ("", None)
    return {
        "kind": "running",
        "pid": running.pid,
        "session": running.session or None,
        "program": running.program,
        "status": running.status or None,
        "waiting_for": running.waiting_for or None,
        "started": format_timestamp(running.started) if running.started else None,
        "since": format_timestamp(running.since) if running.since else None,
        "folder": running.cwd or None,
        "terminal": running.terminal or None,
        "mode": running.kind or None,
        "version": running.version or None,
        "title": running.name or title,
        "cost": cost,
        "path": str(file.path) if file else None,
        "evidence": running.evidence,
        "when": running.since or running.started,
    }


def _title_and_cost(file: SessionFile) -> tuple[str, float | None]:
    """Return the title without secrets, and the cost in dollars; None if a model has no known price."""
    from clew.conversation.session import Session
    from clew.errors import READ_ERRORS
    from clew.facts.secrets.mask_secrets import mask
    from clew.report.session_cost import cost

    try:
        session = Session(file.path, file=file)
        spent = cost(session)
        return mask(session.title)[0], None if spent.unpriced else spent.dollars
    except READ_ERRORS:
        return "", None


def _facts(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["pid"], row["session"], row["status"], row["waiting_for"], row["title"]) for row in rows]


def _print(options: Namespace, tree: Tree, rows: list[dict[str, Any]]) -> None:
    from clew.cli.text_columns import print_table

    if options.json:
        print_json({key: value for key, value in row.items() if key != "when"} for row in rows)
        return
    if rows:
        print_table(rows, _COLUMNS)
    sys.stdout.flush()
    if options.quiet:
        return
    if not rows:
        print_message(f"No session runs now: no live process in {tree.root / 'sessions'}, and none named claude.")
    if limits := _limits(tree):
        print_message(limits)
    for row in rows:
        print_message(clean_name(f"{row['pid']}: {row['evidence']}."))


def _limits(tree: Tree) -> str:
    """Describe the limits of the subscription that the status line saw last; empty if it saw none."""
    from clew.report.rate_limits import describe_window, duration, load_limits

    saved, now = load_limits(str(tree.root)), time.time()
    windows = [describe_window(name, window, now) for name, window in saved.get("windows", {}).items()]
    return f"Limits: {', '.join(windows)}; seen {duration(now - saved['seen'])} ago." if windows else ""


def _status(row: dict[str, Any]) -> str:
    status = row["status"] or ("running" if row["program"] == "clew" else "unknown")
    return f"{status}: {row['waiting_for']}" if row["waiting_for"] else status


_COLUMNS: tuple[Column, ...] = (
    ("PID", lambda r: str(r["pid"])),
    ("SESSION", lambda r: (r["session"] or "unknown")[:8]),
    ("STATUS", lambda r: _status(dict(r))),
    ("SINCE", lambda r: format_age(r["when"]) if r["when"] else "?"),
    ("TERMINAL", lambda r: r["terminal"] or r["mode"] or "none"),
    ("COST", lambda r: "" if r["cost"] is None else f"${r['cost']:,.2f}"),
    ("FOLDER", lambda r: r["folder"] or "?"),
    ("TITLE", lambda r: r["title"] or ""),
)
