"""`clew restore`: restore a session from the archive or a store, byte for byte."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, add_store_options
from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.errors import NotFound, Refused
from clew.system import shell_quoting
from clew.system.environment import claude_home
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.collect.archive.reader import Archive, ArchivedFile
    from clew.collect.archive.restore_files import Restored


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", nargs="?", help="a session in the archive: its id or the beginning of it")
    command.add_argument("--all", action="store_true", help="every archived session whose transcript is missing")
    command.add_argument("--project", "-p", metavar="PATH", help="with --all, or instead of an id: only this project")
    command.add_argument(
        "--to", metavar="DIR", help="below this folder, laid out as in ~/.claude (default: where it was)"
    )
    command.add_argument("--generations", action="store_true", help="also what it was before it was rewritten")
    command.add_argument("--skip-damaged", action="store_true", help="leave out lines that are damaged in the archive")
    command.add_argument("--archive", metavar="FILE", help="another archive")
    command.add_argument("--dry-run", action="store_true", help="say what would be written and write nothing")
    add_common_options(command)
    add_store_options(command)


def run(options: Namespace) -> int:
    if bool(options.id) == bool(options.all or options.project):
        raise Refused(
            ["restore needs to know what: a session, or --all, or --project NAME"],
            hint="List the archived sessions with: clew ls --archived",
        )
    from pathlib import Path

    from clew.collect.archive.reader import Archive, archive_path
    from clew.collect.archive.restore_files import plan_restore, restore
    from clew.collect.archive.sqlite_errors import translate_errors

    to = Path(options.to).expanduser() if options.to else None
    if options.store_tree:
        from clew.cli.keep.restore_from_store import restore_from_store

        return restore_from_store(options, to or Path(claude_home()))
    with translate_errors(archive_path(options.archive)), Archive.open(options.archive) as archive:
        sessions = [_find_session(archive, options)] if options.id else _missing_sessions(archive, options)
        steps = [step for each in sessions for step in plan_restore(archive, each, to, generations=options.generations)]
        new = [step for step in steps if not step.is_taken]
        results = [] if options.dry_run else list(restore(archive, steps, skip_damaged=options.skip_damaged))
    failed = {result.step.target: result.problem for result in results if result.problem}
    written = [result.step.target for result in results if not result.problem]
    _print_damage(results)
    if options.json:
        print_json(
            {
                "kind": "restored",
                "session": step.file.session,
                "path": str(step.target),
                "generation": step.file.number,
                "bytes": step.file.size,
                "written": step.target in written,
                "was_there": step.is_taken,
                "problem": failed.get(step.target),
            }
            for step in steps
        )
        return 2 if failed else 0
    new = [step for step in new if step.target not in failed]
    for step in new:
        print(clean_name(str(step.target)))
    if not options.quiet:
        taken = sum(step.is_taken for step in steps)
        _remarks(options, [each.session for each in sessions], taken, sum(step.file.size for step in new))
    return 2 if failed else 0


def _print_damage(results: list[Restored]) -> None:
    """Name the files that were not written, and those with missing lines."""
    for result in results:
        name = clean_name(str(result.step.target))
        if result.problem:
            print_message(clean_name(f"clew: {name} was not written: {result.problem}"))
        elif result.left_out:
            print_message(f"{name} lacks {plural(result.left_out, 'line')}: damaged in the archive.")
    if any(result.problem for result in results):
        print_message("Write the other lines of such a file with --skip-damaged; see: clew collect verify")


def _missing_sessions(archive: Archive, options: Namespace) -> list[ArchivedFile]:
    """Return the archived sessions of the folder whose transcripts are missing, of one project or of all."""
    from pathlib import Path

    root = os.path.realpath(claude_home(options.claude_dir))
    base = Path(options.to).expanduser() if options.to else Path(root)
    names = _project_names(options.project) if options.project else ()
    part = (options.project or "").lower().replace("/", "-")
    sessions = [
        each
        for each in archive.sessions(root=root)
        if not os.path.lexists(base / each.path)
        and (not options.project or each.project in names or part in each.project.lower())
    ]
    if not sessions:
        asked = options.project or "--all"
        hint = f"Nothing is missing from {base} that the archive has. List what it has alone with: clew ls --archived"
        raise NotFound(asked, "missing session", hint=hint)
    return sessions


def _project_names(project: str) -> tuple[str, ...]:
    from clew.wire.project_slug import slugs

    return (project, *slugs(os.path.abspath(os.path.expanduser(project))))  # noqa: PTH100, PTH111


def _find_session(archive: Archive, options: Namespace) -> ArchivedFile:
    """Return the session; one that was only reconstructed cannot be brought back."""
    from clew.collect.archive.archive_view import open_deleted_tree

    try:
        return archive.find(options.id, os.path.realpath(claude_home(options.claude_dir)))
    except NotFound as missing:
        attic = open_deleted_tree(options.claude_dir)
        if attic and any(id.startswith(options.id.lower()) for id in attic.reconstructed):
            command = shell_quoting.clew_command("show", options.id)
            hint = f"It was reconstructed from what was left. Read it with: {command}"
            raise NotFound(missing.asked, missing.kind, hint=hint) from None
        raise


def _remarks(options: Namespace, sessions: list[str], there: int, written: int) -> None:
    if there:
        print_message(f"{there} file{'s are' if there > 1 else ' is'} there already; nothing is written over.")
    where = ("--claude-dir", options.to) if options.to else ()
    size = format_size(written)
    if options.dry_run:
        print_message(f"{size} would be written.")
    elif written and len(sessions) == 1:
        print_message(f"{size} written. Read it: {shell_quoting.session_command('show', sessions[0], *where)}")
    elif written:
        listing = shell_quoting.clew_command("ls", *where)
        print_message(f"{plural(len(sessions), 'session')}, {size} written. List them: {listing}")
