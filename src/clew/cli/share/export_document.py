"""One exported session: what stands above it, its parts in the chosen format, and the message that it was written."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path

from clew.browse.session_charts import session_charts
from clew.cli.output import clean_name, print_json
from clew.cli.turn_range import ALL_BRANCHES, find_branch, select_turns, selects_part
from clew.conversation.session import Session
from clew.facts.token_usage import Usage
from clew.view.export_session import export_parts, view_options
from clew.view.header import About, describe_session
from clew.view.html_page import NO_EXTRA
from clew.view.mask_rows import MaskCount
from clew.view.row_types import Row

SUFFIXES = {"html": ".html", "markdown": ".md", "json": ".json", "jsonl": ".jsonl"}
PassRows = Callable[[Iterable[Row]], Iterable[Row]]


def describe(session: Session, spent: Usage, options: Namespace, tally: MaskCount) -> About:
    """Return what stands above a page; in the other forms it only names the file, which counts for nothing."""
    counter = None if options.reveal else tally if options.format in ("html", "markdown") else MaskCount()
    branch, every = find_branch(session, options), options.branch == ALL_BRANCHES
    return describe_session(session, counter, branch, every_branch=every, spent=spent)


def document_parts(
    session: Session, head: About, spent: Usage, options: Namespace, tally: MaskCount, pass_rows: PassRows = iter
) -> Iterable[bytes]:
    """Return the session in the chosen format, in parts as they are made."""
    is_every = options.branch == ALL_BRANCHES
    is_part = selects_part(options) and not is_every
    has_charts = options.format == "html" and not is_part
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
        extra=session_charts(session, spent, reveal=options.reveal) if has_charts else NO_EXTRA,
    )


def report_file(options: Namespace, kind: str, path: Path, session: str | None = None) -> None:
    """Print the path of a file that was written."""
    if options.json:
        print_json([{"kind": kind, **({"session": session} if session else {}), "path": str(path.resolve())}])
    else:
        print(clean_name(str(path.resolve())), flush=True)
