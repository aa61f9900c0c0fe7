"""`clew export`: write sessions as Markdown, HTML, JSON or JSON lines, or for another program."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator
from errno import EEXIST

from clew.cli.options import add_common_options, add_store_options
from clew.cli.output import clean_name, print_data, print_json, print_message, write_new_file
from clew.cli.turn_range import ALL_BRANCHES, add_turn_options, find_branch, select_turns, selects_part
from clew.errors import UNEXPECTED_ERRORS, NotFound
from clew.system.control_characters import escape_json_bytes
from clew.system.plural import plural
from clew.view.depths import DEPTHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from clew.conversation.session import Session
    from clew.system.file_errors import ErrorCollector
    from clew.view.header import About
    from clew.view.mask_rows import MaskCount
    from clew.view.row_types import Row
    from clew.view.static_site import Exported

    PassRows = Callable[[Iterable[Row]], Iterable[Row]]

TARGET_NAMES = ("codex",)
SUFFIXES = {"html": ".html", "markdown": ".md", "json": ".json", "jsonl": ".jsonl"}
_BY_SUFFIX = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}


def add_arguments(command: ArgumentParser) -> None:

    command.add_argument(
        "id", nargs="*", help="sessions: their ids, the beginnings of them, or paths (default: the newest here)"
    )
    command.add_argument(
        "--format",
        choices=tuple(SUFFIXES),
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
    add_common_options(command, lists=True)
    add_store_options(command)


def run(options: Namespace) -> int:
    from clew.view.mask_rows import MaskCount

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
    tally = MaskCount()
    code = _many(options, tally) if _is_many(options) else _one(options, tally)
    if tally.secrets and not options.quiet:
        print_message(f"Secrets were masked in {plural(tally.secrets, 'place')}. --reveal leaves them.")
    return code


def _run_to(options: Namespace) -> int:
    """Export to another program."""
    from clew.cli.select_session import error_fence, open_session
    from clew.cli.share import export_to

    if options.format or options.front_matter or options.thinking or selects_part(options):
        print_message("clew: --to takes no format and no parts: it exports what a resume would send.")
        return 2
    if not _is_many(options):
        return export_to.run(options, [open_session(options, options.id[0] if options.id else None, archived=True)])
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


def _one(options: Namespace, tally: MaskCount) -> int:
    from pathlib import Path

    from clew.cli.select_session import open_session
    from clew.view.static_site import file_name

    session = open_session(options, options.id[0] if options.id else None, archived=True)
    head = _about(session, options, tally)
    data = _parts(session, head, options, tally)
    if options.output is None:
        parts = map(escape_json_bytes, data) if options.format == "json" else data
        print_data(parts, is_json=options.format in ("json", "jsonl"))
        return 0
    path = Path(options.output)
    if path.is_dir():
        path /= file_name(head, SUFFIXES[options.format])
    write_new_file(path, data)
    _tell(options, "exported", path, session.id)
    return 0


def _many(options: Namespace, tally: MaskCount) -> int:
    """Return a folder with a file for each session, and an index."""
    from pathlib import Path

    from clew.cli.select_session import error_fence
    from clew.system.file_errors import describe_error
    from clew.view.header import masked_line
    from clew.view.static_site import Exported, WordIndex, file_name, index_markdown, index_page

    folder, suffix = Path(options.output), SUFFIXES[options.format]
    index = folder / f"index{suffix}" if options.format in ("html", "markdown") else None
    if index and index.exists():
        raise FileExistsError(EEXIST, os.strerror(EEXIST), str(index))
    exported: list[Exported] = []
    words = WordIndex()
    fence = error_fence(options)
    for session in _sessions(options, fence):
        try:
            head = _about(session, options, tally)
            name = file_name(head, suffix)
            data = _parts(session, head, options, tally, lambda r: words.index_rows(r, len(exported)))
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_new_file(folder / name, data)
        except NotFound as missing:  # of turns or branches; other sessions may have them
            if not options.quiet:
                print_message(f"{session.id[:8]} is left out. {missing}")
            continue
        except UNEXPECTED_ERRORS as error:
            fence.add(session.path or session.id, describe_error(error))
            continue
        exported.append(Exported(head, name))
        _tell(options, "exported", folder / name, session.id)
    if not exported:
        print_message("clew: There is no session to export.")
        return 1
    if index:
        title = masked_line(f"Sessions of {options.project}" if options.project else "Sessions", None)
        text = index_page(title, exported, words) if options.format == "html" else index_markdown(title, exported)
        write_new_file(index, (part.encode("utf-8", "replace") for part in text))
        _tell(options, "index", index)
    return 1 if fence.problems else 0


def _sessions(options: Namespace, fence: ErrorCollector) -> Iterator[Session]:
    from clew.cli.select_session import open_session, read_outlines
    from clew.conversation.session import Session

    if options.id:
        yield from (open_session(options, each, archived=True) for each in options.id)
    else:
        yield from (Session(outline.file.path, file=outline.file) for outline in read_outlines(options, fence))


def _about(session: Session, options: Namespace, tally: MaskCount) -> About:
    """Return what stands above a page; in the other forms it only names the file, which counts for nothing."""
    from clew.view.header import describe_session
    from clew.view.mask_rows import MaskCount

    counter = None if options.reveal else tally if options.format in ("html", "markdown") else MaskCount()
    branch, every = find_branch(session, options), options.branch == ALL_BRANCHES
    return describe_session(session, counter, branch, every_branch=every)


def _parts(
    session: Session, head: About, options: Namespace, tally: MaskCount, pass_rows: PassRows = iter
) -> Iterable[bytes]:
    """Return the session in the chosen format, in parts as they are made."""
    from clew.browse.session_charts import session_charts
    from clew.view.export_session import export_parts, view_options
    from clew.view.html_page import NO_EXTRA

    is_every = options.branch == ALL_BRANCHES
    is_part = selects_part(options) and not is_every
    return export_parts(
        session,
        options.format,
        head,
        view_options(options.depth, thinking=options.thinking, agents=not options.no_agents),
        None if options.reveal else tally,
        turns=select_turns(session, options) if is_part else None,
        branches=[branch for branch in session.branches if is_every and not branch.is_active],
        front_matter=options.front_matter,
        pass_rows=pass_rows,
        extra=session_charts(session, reveal=options.reveal) if options.format == "html" and not is_part else NO_EXTRA,
    )


def _tell(options: Namespace, kind: str, path: Path, session: str | None = None) -> None:
    if options.json:
        print_json([{"kind": kind, **({"session": session} if session else {}), "path": str(path.resolve())}])
    else:
        print(clean_name(str(path.resolve())), flush=True)
