"""`clew collect erase … --to STORE`: erase a person, a project, a session or a text from PostgreSQL or a lake."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from clew.cli.keep.collect_delivery import chosen_sinks
from clew.cli.output import clean_name, print_json, print_message
from clew.errors import NotFound, Refused
from clew.system.plural import plural

if TYPE_CHECKING:
    from clew.collect.sinks.erasure import ErasureResult, StoreEraser


def erase_from_stores(options: Namespace) -> int:
    from clew.collect.sinks.store_maintenance import open_eraser

    is_done = True
    for sink in chosen_sinks(options):
        eraser = open_eraser(sink.to, sink.read_secret())
        try:
            is_done = _erase_from_store(options, eraser) and is_done
        finally:
            eraser.close()
    return 0 if is_done else 1


def _erase_from_store(options: Namespace, eraser: StoreEraser) -> bool:
    names = (options.developer, options.host, options.project, options.target, options.text)
    erasure = eraser.find(*(name or "" for name in names))
    result = eraser.erase(erasure, dry_run=True)
    if not result.total and not result.labels:
        raise NotFound(next(name for name in names if name), f"row in {eraser.name}")
    is_agreed = not options.dry_run and (options.yes or confirm_erasure(plural(result.total, "row"), eraser.name))
    when = ""
    if is_agreed:
        result = eraser.erase(erasure, dry_run=False)
        when = eraser.scrub(now=options.now)
    _report(options, eraser.name, result, is_agreed, when)
    return is_agreed or options.dry_run


def confirm_erasure(rows: str, place: str) -> bool:
    """Ask the user. Raises Refused without a terminal."""
    if not sys.stdin.isatty():
        raise Refused(
            [f"{rows} would be erased, and no terminal is there to ask"],
            hint="Nothing was erased. Confirm with --yes, or look first with --dry-run",
        )
    print(f"Erase {rows} of {clean_name(place)}? This cannot be undone. [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _report(options: Namespace, name: str, result: ErasureResult, is_done: bool, when: str) -> None:
    if options.json:
        tables = {each.table: {"deleted": each.deleted, "changed": each.changed} for each in result.rows}
        about = {"store": name, "tables": tables, "rows": result.total, "labels": result.labels, "erased": is_done}
        print_json([{"kind": "erased", **about, "note": when}])
        return
    for each in result.rows:
        print(f"{each.table}: {plural(each.deleted, 'row')} deleted, the text erased from {each.changed:,}")
    verb = "erased from" if is_done else "would be erased from" if options.dry_run else "left as they are in"
    print(clean_name(f"{plural(result.total, 'row')} {verb} {name}."))
    if result.labels:
        rows = plural(result.labels, "row names", "rows name")
        print_message(f"{rows} it in a path, project or branch, and {'keep' if result.labels > 1 else 'keeps'} it:")
        print_message("to remove these, erase the session or the project.")
    if when and not options.quiet:
        print_message(when)
        print_message("Hosts do not send it to this store again. Their archives keep it: erase it there too.")
