"""`clew collect retain`: drop what is older than the retention of the archive, of PostgreSQL or of a lake."""

from __future__ import annotations

import os
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from clew.cli.keep.collect_delivery import chosen_sinks
from clew.cli.output import clean_name, print_json
from clew.errors import Refused
from clew.system.plural import plural

if TYPE_CHECKING:
    from clew.collect.retention import Retention


def retain(options: Namespace) -> int:
    """Set the rule if one is given, and apply the rule in force."""
    return _retain_stores(options) if options.to else _retain_archive(options)


def _retain_stores(options: Namespace) -> int:
    from clew.collect.sinks.store_maintenance import open_retention

    for sink in chosen_sinks(options):
        store = open_retention(sink.to, sink.read_secret())
        try:
            rule = store.read().change(options.lines, options.facts)
            _check_rule(options, rule)
            rows = store.apply(rule, datetime.now(UTC).date(), dry_run=options.dry_run)
        finally:
            store.close()
        if options.json:
            tables = {each.table: {"dropped": each.dropped, "days": each.days} for each in rows}
            print_json([{"kind": "retained", "store": store.name, **rule._asdict(), "tables": tables}])
            continue
        for each in rows:
            days = f" ({plural(each.days, 'day')})" if each.days else ""
            print(f"{each.table}: {plural(each.dropped, 'row')}{days} {'would be ' if options.dry_run else ''}dropped")
        print(clean_name(f"{store.name} {rule.describe() or 'keeps everything'}."))
    return 0


def _retain_archive(options: Namespace) -> int:
    from clew.collect.archive.archive_schema import open_archive
    from clew.collect.archive.erase import drop_deleted_files, scrub_pages
    from clew.collect.archive.reader import archive_path
    from clew.collect.archive.sqlite_errors import translate_errors
    from clew.collect.job import CollectJob, lock_archive
    from clew.collect.retention import read_rule, save_rule

    if options.facts:
        raise Refused(["an archive has lines alone; --facts is for a store: name it with --to"])
    path = archive_path(options.archive)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "There is no archive", path)
    with lock_archive(CollectJob("", path)), translate_errors(path):
        connection = open_archive(path)
        try:
            rule = read_rule(connection).change(options.lines, None)
            _check_rule(options, rule)
            before = datetime.now(UTC) - timedelta(days=rule.lines or 0)
            limit = int(before.timestamp() * 1e9) if rule.lines is not None else 0
            found = drop_deleted_files(connection, limit, dry_run=options.dry_run)
            if not options.dry_run:
                save_rule(connection, rule)
                if found.files:
                    scrub_pages(connection, path)
        finally:
            connection.close()
    if options.json:
        about = {"archive": path, "lines": rule.lines, "files": found.files, "dropped": found.lines}
        print_json([{"kind": "retained", **about}])
        return 0
    verb = "would be dropped" if options.dry_run else "dropped"
    files = plural(len(found.files), "file that is", "files that are")
    print(f"{files} gone from the disk, {plural(found.lines, 'line')}, {verb}")
    print(clean_name(f"{path} {rule.describe() or 'keeps everything'}."))
    return 0


def _check_rule(options: Namespace, rule: Retention) -> None:
    """Refuse to apply nothing: no rule is given, and none is in force."""
    if options.lines is None and options.facts is None and not rule.describe():
        raise Refused(["no retention is set here"], hint="Set one: --lines 90d, for a store also --facts 400d")
