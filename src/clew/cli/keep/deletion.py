"""Show which sessions would be deleted and what that frees, ask, delete them, and print the result."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence

from clew.cli.output import clean_name, format_age, format_size, print_json, print_message
from clew.errors import READ_ERRORS, Refused
from clew.system import shell_quoting
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import ExitStack
    from typing import Any

    from clew.collect.archive.delete_sessions import Deletion
    from clew.collect.archive.reader import Archive
    from clew.wire.layout import SessionFile


def add_deletion_options(command: ArgumentParser) -> None:
    """Add the options that `delete` and `prune` share."""
    command.add_argument("--archive", metavar="FILE", help="another archive")
    command.add_argument("--dry-run", action="store_true", help="show what would be deleted and delete nothing")
    command.add_argument("--yes", "-y", action="store_true", help="delete without asking")


def delete_sessions(options: Namespace, sessions: Iterable[SessionFile]) -> int:
    """Delete what the archive has of some sessions, after the user has seen it and agreed. Return the exit code."""
    from contextlib import ExitStack

    from clew.cli.select_session import open_tree
    from clew.collect.archive.delete_sessions import plan_deletions
    from clew.collect.archive.reader import archive_path
    from clew.collect.archive.sqlite_errors import translate_errors

    location = archive_path(options.archive)
    with ExitStack() as stack:
        stack.enter_context(translate_errors(location))
        archive = _open_archive(location, stack)
        deletions = plan_deletions(archive, open_tree(options), sessions)
        possible = [each for each in deletions if not each.problem]
        if not options.json:
            _print_plan(options, deletions, possible)
        is_agreed = bool(possible) and not options.dry_run and _agrees(options, possible)
        number = _delete(archive, location, possible) if is_agreed else ""
    if options.json:
        print_json(_json(each, bool(number) and not each.problem, number) for each in deletions)
    elif number and not options.quiet:
        undo = shell_quoting.clew_command("undo", number)
        print_message(f"Deleted. {_held(possible).capitalize()}. Undo with: {undo}")
    elif possible and not options.dry_run and not options.quiet:
        print_message("Nothing was deleted.")
    is_done = bool(number) or options.dry_run
    return 0 if is_done and len(possible) == len(deletions) else 1


def _open_archive(location: str, stack: ExitStack) -> Archive | None:
    from clew.collect.archive.reader import Archive

    try:
        return stack.enter_context(Archive.open(location))
    except FileNotFoundError:
        return None


def _delete(archive: Archive | None, location: str, deletions: Sequence[Deletion]) -> str:
    """Record the deletion for `clew undo`, then delete. Return the number of the record."""
    from clew.collect.archive.delete_sessions import delete_session, describe_files
    from clew.edit.undo_journal import UndoJournal

    journal = UndoJournal()
    number = journal.begin_deletion([each.session.id for each in deletions], location, describe_files(deletions))
    try:
        for each in deletions:
            delete_session(archive, each)
    finally:
        journal.end_deletion(number)
    return number


def _agrees(options: Namespace, deletions: Sequence[Deletion]) -> bool:
    """Ask the user; only y and yes agree."""
    if options.yes:
        return True
    if options.json or not sys.stdin.isatty():
        raise Refused(
            [f"{plural(len(deletions), 'session')} would be deleted, and no terminal is there to ask"],
            hint="Nothing was deleted. Confirm with --yes, or look first with --dry-run",
        )
    print(f"Delete {plural(len(deletions), 'session')}? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print_plan(options: Namespace, deletions: Sequence[Deletion], possible: Sequence[Deletion]) -> None:
    from clew.cli.text_columns import print_table
    from clew.wire.content_time import last_used

    if possible:
        print_table(
            [{"deletion": each} for each in possible],
            (
                ("ID", lambda r: r["deletion"].session.id[:8]),
                ("WHEN", lambda r: format_age(last_used(r["deletion"].session))),
                ("FILES", lambda r: str(len(r["deletion"].files))),
                ("FREES", lambda r: format_size(r["deletion"].size)),
                ("TITLE", lambda r: _title(r["deletion"].session)),
            ),
        )
        files, size = sum(len(each.files) for each in possible), sum(each.size for each in possible)
        sessions = plural(len(possible), "session")
        print(f"{sessions}, {plural(files, 'file')}, {format_size(size)}: {_held(possible)}.")
    kept = [each for each in deletions if each.problem]
    for each in kept if not options.quiet else ():
        print_message(clean_name(f"Not deleted: {each.session.id[:8]}: {each.problem}."))
    if not options.quiet and any("archive" in each.problem for each in kept):
        print_message("Archive them first: clew collect")


def _held(deletions: Sequence[Deletion]) -> str:
    """Say why nothing is lost."""
    return "the archive has every byte" if any(each.size for each in deletions) else "there is nothing in them"


def _title(session: SessionFile) -> str:
    from clew.conversation.session_listing import Outline
    from clew.facts.secrets.mask_secrets import mask

    try:
        return mask(Outline(session).title)[0] or "(no prompt)"
    except READ_ERRORS:
        return "(unreadable)"


def _json(deletion: Deletion, is_deleted: bool, number: str) -> dict[str, Any]:
    return {
        "kind": "deletion",
        "session": deletion.session.id,
        "path": str(deletion.session.path),
        "files": len(deletion.files),
        "bytes": deletion.size,
        "deleted": is_deleted,
        "problem": deletion.problem or None,
        "undo": number if is_deleted else None,
    }
