"""`clew undo`: undo what clew wrote."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, format_age, format_size, one_line, print_json, print_message
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from clew.edit.undo_journal import UndoJournal, UndoRecord


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "edit",
        nargs="?",
        metavar="NUMBER|ID",
        help="an edit by its number, or by the session that it made or named (default: the last one)",
    )
    command.add_argument("--list", action="store_true", help="list what can be undone")
    command.add_argument(
        "--forget", action="store_true", help="delete the old files that a move keeps, so that it cannot be undone"
    )
    command.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.edit.undo_journal import UndoJournal, undo

    journal = UndoJournal()
    if options.list:
        return _list(options, journal.records())
    record = journal.find(options.edit)
    if options.forget:
        return _forget(options, record, journal)
    run_undo = _undo_deletion if record.deleted else undo
    paths = run_undo(record, journal, dry_run=options.dry_run)
    if options.json:
        print_json([_json(record) | {"undone": not options.dry_run, "paths": list(map(str, paths))}])
        return 0
    verb = "Would take back" if options.dry_run else "Took back"
    print(clean_name(f"{verb} {record.number}: {_what(record)}."))
    for path in paths if options.dry_run or not options.quiet else ():
        print(clean_name(f"  {_verb(record, path)}: {path}"))
    return 0


def _forget(options: Namespace, record: UndoRecord, journal: UndoJournal) -> int:
    from clew.edit.undo_journal import forget

    size = forget(record, journal, dry_run=options.dry_run)
    if options.json:
        print_json([_json(record) | {"forgotten": not options.dry_run, "bytes": size}])
    else:
        verb = "Would delete" if options.dry_run else "Deleted"
        print(clean_name(f"{verb} the old files of {record.number}, {format_size(size)}: {record.what}."))
    return 0


def _verb(record: UndoRecord, path: Path) -> str:
    if record.deleted or str(path) in record.removed:
        return "restore"
    is_changed = bool(record.added) or str(path) in record.swaps or str(path) in record.tails
    return "change" if is_changed else "remove"


def _undo_deletion(record: UndoRecord, journal: UndoJournal, *, dry_run: bool) -> tuple[Path, ...]:
    """Bring deleted sessions back from the archive."""
    from contextlib import ExitStack

    from clew.collect.archive.delete_sessions import undelete
    from clew.collect.archive.reader import Archive
    from clew.collect.archive.sqlite_errors import translate_errors
    from clew.edit.undo_journal import is_running
    from clew.errors import Busy

    if record.is_unfinished and is_running(record):
        raise Busy(record.source, record.time, hint="It is being deleted. Try again when that has finished.")
    location = str(record.deleted["archive"])
    with ExitStack() as stack:
        stack.enter_context(translate_errors(location))
        archive = stack.enter_context(Archive.open(location)) if os.path.exists(location) else None
        restored = undelete(archive, record.deleted["files"], dry_run=dry_run)
    if not dry_run:
        journal.undone(record.number)
    return tuple(restored)


def _what(record: UndoRecord) -> str:
    if record.deleted:
        return f"the deletion of {plural(len(record.sessions), 'session')}"
    if record.added:
        return f"{record.what}, of {record.source[:8]}"
    if record.is_of_folder:
        return record.what
    return f"{record.made[:8]}, made of {record.source[:8]} ({record.what})"


def _list(options: Namespace, records: Sequence[UndoRecord]) -> int:
    from clew.system.table_layout import table_lines
    from clew.view.sanitize import columns

    standing = [record for record in reversed(records) if not record.is_undone]
    if options.json:
        print_json(map(_json, standing))
    elif not standing:
        if not options.quiet:
            print_message("clew wrote nothing that could be taken back.")
    else:
        rows = [("NUMBER", "WHEN", "SOURCE", "MADE", "WHAT"), *map(_row, standing)]
        for line in table_lines([[one_line(cell) for cell in row] for row in rows], measure=columns):
            print(line)
    return 0 if standing else 1


def _row(record: UndoRecord) -> tuple[str, ...]:
    from clew.wire.timestamps import parse_timestamp

    when = parse_timestamp(record.time)
    what = f"{record.what} (interrupted: clew undo {record.number} cleans up)" if record.is_unfinished else record.what
    if record.deleted:
        what = f"{what}: {plural(len(record.sessions), 'session')}, {plural(len(record.deleted['files']), 'file')}"
    source, made = ("", "") if record.is_of_folder else (record.source[:8], record.made[:8])
    return record.number, format_age(when) if when else "?", source, made, what


def _json(record: UndoRecord) -> dict[str, Any]:
    return {
        "kind": "record",
        "number": record.number,
        "time": record.time,
        "what": record.what,
        "source": record.source,
        "made": record.made or None,
        "state": record.state,
        "files": len(record.deleted["files"] if record.deleted else record.files),
    }
