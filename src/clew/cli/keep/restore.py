"""`clew restore`: restore a session from the archive, byte for byte."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.errors import NotFound
from clew.system import shell_quoting

if TYPE_CHECKING:
    from clew.collect.archive.reader import Archive, ArchivedFile


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session in the archive: its id or the beginning of it")
    command.add_argument(
        "--to", metavar="DIR", help="below this folder, laid out as in ~/.claude (default: where it was)"
    )
    command.add_argument("--generations", action="store_true", help="also what it was before it was rewritten")
    command.add_argument("--archive", metavar="FILE", help="another archive")
    command.add_argument("--dry-run", action="store_true", help="say what would be written and write nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.collect.archive.reader import Archive, archive_path
    from clew.collect.archive.restore_files import plan_restore, restore
    from clew.collect.archive.sqlite_errors import translate_errors

    to = Path(options.to).expanduser() if options.to else None
    with translate_errors(archive_path(options.archive)), Archive.open(options.archive) as archive:
        session = _find_session(archive, options)
        steps = plan_restore(archive, session, to, generations=options.generations)
        new = [step for step in steps if not step.is_taken]
        written = [] if options.dry_run else list(restore(archive, new, keep_times=to is not None))
    if options.json:
        print_json(
            {
                "kind": "restored",
                "session": session.session,
                "path": str(step.target),
                "generation": step.file.number,
                "bytes": step.file.size,
                "written": step.target in written,
                "was_there": step.is_taken,
            }
            for step in steps
        )
        return 0
    for step in new:
        print(clean_name(str(step.target)))
    if not options.quiet:
        _remarks(options, session.session, len(steps) - len(new), sum(step.file.size for step in new))
    return 0


def _find_session(archive: Archive, options: Namespace) -> ArchivedFile:
    """The session; one that was only reconstructed cannot be brought back."""
    from clew.collect.archive.deleted_tree import open_deleted_tree

    try:
        return archive.find(options.id)
    except NotFound as missing:
        attic = open_deleted_tree(options.claude_dir)
        if attic and any(id.startswith(options.id.lower()) for id in attic.reconstructed):
            command = shell_quoting.clew_command("show", options.id)
            hint = f"It was reconstructed from what was left. Read it with: {command}"
            raise NotFound(missing.asked, missing.kind, hint=hint) from None
        raise


def _remarks(options: Namespace, session: str, there: int, written: int) -> None:
    if there:
        print_message(f"{there} file{'s are' if there > 1 else ' is'} there already; nothing is written over.")
    if options.dry_run:
        print_message(f"{format_size(written)} would be written.")
    elif written:
        where = ("--claude-dir", options.to) if options.to else ()
        print_message(
            f"{format_size(written)} written. Read it: {shell_quoting.session_command('show', session, *where)}"
        )
