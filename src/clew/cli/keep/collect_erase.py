"""`clew collect erase`: erase a session, a project or a text from the archive, or from stores."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.keep.collect_erase_store import confirm_erasure, erase_from_stores
from clew.cli.output import clean_name, print_json, print_message
from clew.collect.archive.archive_schema import open_archive
from clew.collect.archive.erase import Erased, erase, scrub_pages
from clew.collect.archive.reader import Archive, archive_path
from clew.collect.archive.sqlite_errors import translate_errors
from clew.collect.archive.sync_deleted_tree import sync_deleted_tree
from clew.collect.job import CollectJob, lock_archive
from clew.collect.sql.archive_engine import cache_path
from clew.errors import NotFound, Refused
from clew.system.environment import cache_home, claude_home
from clew.system.plural import plural

if TYPE_CHECKING:
    import apsw

_SHOWN = 10  # paths


def erase_data(options: Namespace) -> int:
    """Erase from the stores that --to names, else from the archive."""
    if not (options.target or options.project or options.text or options.developer or options.host):
        raise Refused(
            ["erase needs to know what: the id of a session, --project NAME, --text TEXT or --developer NAME"]
        )
    if options.to:
        return erase_from_stores(options)
    if options.developer or options.host:
        raise Refused(
            ["--developer and --host are for a store: name it with --to"],
            hint="An archive belongs to one person; to erase that person, delete its folder",
        )
    return _erase_from_archive(options)


def _erase_from_archive(options: Namespace) -> int:
    path = archive_path(options.archive)
    if not os.path.exists(path):
        raise FileNotFoundError(2, "There is no archive", path)
    root = os.path.realpath(claude_home(options.claude_dir))
    with lock_archive(CollectJob("", path)), translate_errors(path):
        connection = open_archive(path)
        try:
            chosen = _choose(connection, options)
            found = erase(connection, *chosen, dry_run=True)
            if not found.files and not found.lines:
                raise NotFound(options.target or options.project or options.text, "archived line")
            is_agreed = not options.dry_run and (
                options.yes or confirm_erasure(plural(found.lines, "line"), "the archive")
            )
            copies = _carry_out(connection, path, root, chosen) if is_agreed else []
        finally:
            connection.close()
    return _report(options, found, is_agreed, copies, path, root)


def _choose(connection: apsw.Connection, options: Namespace) -> tuple[list[str], list[str], str]:
    """Return the sessions, projects and text to erase."""
    archive = Archive(connection)
    sessions = [archive.find(options.target).session] if options.target else []
    projects: list[str] = []
    if options.project:
        part = options.project.lower().replace("/", "-")
        names = {file.project for file in archive.files() if file.project}
        projects = [options.project] if options.project in names else sorted(n for n in names if part in n.lower())
    return sessions, projects, options.text or ""


def _carry_out(
    connection: apsw.Connection, path: str, root: str, chosen: tuple[list[str], list[str], str]
) -> list[str]:
    erase(connection, *chosen, dry_run=False)
    copies = scrub_pages(connection, path)
    sync_deleted_tree(Archive(connection), root, path)
    for end in ("", "-wal", "-shm", "-journal"):
        Path(f"{cache_path(path)}{end}").unlink(missing_ok=True)
    return copies


def _report(options: Namespace, found: Erased, is_done: bool, copies: list[str], path: str, root: str) -> int:
    on_disk = [name for name in found.files if os.path.lexists(os.path.join(root, name))]
    kept = sorted(str(each) for each in Path(path).parent.glob(f"{Path(path).name}.replaced-*"))
    if options.json:
        about = {"files": found.files, "lines": found.lines, "contents": found.contents, "erased": is_done}
        print_json([{"kind": "erased", **about, "on_disk": on_disk, "deleted_copies": copies, "other_copies": kept}])
        return 0 if is_done or options.dry_run else 1
    for name in found.files[:_SHOWN]:
        print(clean_name(name))
    if len(found.files) > _SHOWN:
        print(f"and {len(found.files) - _SHOWN} more")
    verb = "erased" if is_done else "would be erased" if options.dry_run else "are left as they are"
    print(f"{plural(len(found.files), 'file')}, {plural(found.lines, 'line')} {verb}.")
    if is_done and not options.quiet:
        for name in on_disk[:_SHOWN]:
            print_message(clean_name(f"Still on the disk, and not collected again: {os.path.join(root, name)}"))
        for name in kept:
            print_message(clean_name(f"This copy of the archive may still contain it: {name}"))
        caches = f"the search index until you delete {cache_home()}"
        print_message(clean_name(f"Backups keep what they have, and {caches}"))
        print_message("Erase it from each store too: clew collect erase … --to postgresql://…, s3://… or delta:FOLDER")
    return 0 if is_done or options.dry_run else 1
