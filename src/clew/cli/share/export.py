"""`clew export`: write sessions as Markdown, HTML, JSON or JSON lines, or for another program."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, add_jobs_option, add_store_options
from clew.cli.output import print_data, print_message, write_new_file
from clew.cli.turn_range import ALL_BRANCHES, add_turn_options, selects_part
from clew.system.control_characters import escape_json_bytes
from clew.system.plural import plural
from clew.view.depths import DEPTHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.conversation.session import Session
    from clew.system.file_errors import ErrorCollector
    from clew.view.mask_rows import MaskCount

TARGET_NAMES = ("codex",)
FORMATS = ("html", "markdown", "json", "jsonl")
_BY_SUFFIX = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}


def add_arguments(command: ArgumentParser) -> None:

    command.add_argument(
        "id", nargs="*", help="sessions: their ids, the beginnings of them, or paths (default: the newest here)"
    )
    command.add_argument(
        "--format",
        choices=FORMATS,
        help="html: a page; markdown; json: versioned JSON lines, a turn each; jsonl: the file as it is "
        "(default: by the name of the output, html for several, else json)",
    )
    command.add_argument(
        "--to", choices=TARGET_NAMES, help="a session of this program, put where it finds it; secrets are masked"
    )
    command.add_argument(
        "--output", "-o", metavar="PATH", help="a new file (0600), or a folder for new files; not to stdout"
    )
    command.add_argument(
        "--depth", choices=DEPTHS, default="calls", help="html, markdown: how much of it (default: calls)"
    )
    command.add_argument("--thinking", "-t", action="store_true", help="html, markdown: also what the model thought")
    command.add_argument("--no-agents", action="store_true", help="html, markdown: leave out what sub-agents did")
    add_turn_options(command, every_branch=True)
    command.add_argument("--front-matter", action="store_true", help="markdown: with properties, as Obsidian has them")
    command.add_argument("--archived", action="store_true", help="only what is in the archive alone")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_jobs_option(command, "several sessions: ")
    add_common_options(command, lists=True)
    add_store_options(command)


def run(options: Namespace) -> int:
    if options.to:
        return _run_to(options)
    if options.format is None:
        options.format = _format(options)
    if options.format == "jsonl" and not options.reveal:
        print_message("clew: the file as it is holds its secrets too. Add --reveal to export it all the same.")
        return 2
    if options.format == "jsonl" and selects_part(options):
        print_message(
            "clew: the file as it is has no parts. Leave out --turns, --last and --branch, or choose another format."
        )
        return 2
    if options.branch == ALL_BRANCHES and (options.turns or options.last is not None):
        print_message("clew: --branch all has all turns. Leave out --turns and --last, or name one branch.")
        return 2
    if _is_many(options) and options.output is None:
        print_message("clew: several sessions need a folder to be written to. Name one with --output.")
        return 2
    session = None if _is_many(options) else _open_one(options)
    from clew.view.mask_rows import MaskCount

    tally = MaskCount()
    code = _many(options, tally) if session is None else _one(options, session, tally)
    if tally.secrets and not options.quiet:
        print_message(f"Secrets were masked in {plural(tally.secrets, 'place')}. --reveal leaves them.")
    return code


def _run_to(options: Namespace) -> int:
    """Export to another program."""
    from clew.cli.select_session import error_fence
    from clew.cli.share import export_to

    if options.format or options.front_matter or options.thinking or selects_part(options):
        print_message("clew: --to takes no format and no parts: it exports what a resume would send.")
        return 2
    if not _is_many(options):
        return export_to.run(options, [_open_one(options)])
    fence = error_fence(options)
    code = export_to.run(options, _sessions(options, fence), fence)
    return 1 if fence.problems else code


def _is_many(options: Namespace) -> bool:
    wanted = (options.project, options.since, options.until, options.limit, options.archived or None)
    return len(options.id) > 1 or any(each is not None for each in wanted)


def _format(options: Namespace) -> str:
    from pathlib import Path

    if _is_many(options):
        return "html"
    return _BY_SUFFIX.get(Path(options.output or "").suffix.lower(), "json")


def _open_one(options: Namespace) -> Session:
    from clew.cli.select_session import open_session

    return open_session(options, options.id[0] if options.id else None, archived=True)


def _one(options: Namespace, session: Session, tally: MaskCount) -> int:
    import gc
    from pathlib import Path

    gc.disable()  # a command ends soon and creates no cycles: looking for them took a thirtieth of its time
    from clew.cli.share.export_document import SUFFIXES, describe, document_parts, report_file
    from clew.facts.token_usage import usage
    from clew.view.static_site import file_name

    spent = usage(session)
    head = describe(session, spent, options, tally)
    data = document_parts(session, head, spent, options, tally)
    if options.output is None:
        parts = map(escape_json_bytes, data) if options.format == "json" else data
        print_data(parts, is_json=options.format in ("json", "jsonl"))
        return 0
    path = Path(options.output)
    if path.is_dir():
        path /= file_name(head, SUFFIXES[options.format])
    write_new_file(path, data)
    report_file(options, "exported", path, session.id)
    return 0


def _many(options: Namespace, tally: MaskCount) -> int:
    from clew.cli.select_session import error_fence
    from clew.cli.share import export_many

    fence = error_fence(options)
    return export_many.run(options, _sessions(options, fence), fence, tally)


def _sessions(options: Namespace, fence: ErrorCollector) -> Iterator[Session]:
    from clew.cli.select_session import open_session, read_outlines
    from clew.conversation.session import Session

    if options.id:
        yield from (open_session(options, each, archived=True) for each in options.id)
    else:
        yield from (Session(outline.file.path, file=outline.file) for outline in read_outlines(options, fence))
