"""`clew search`: search all sessions.

A search should take little longer than Python takes to start, so this module imports what it needs when it needs it.
"""

from __future__ import annotations

import os
import re
import sys
import time

from clew.cli.options import add_common_options, parse_count
from clew.errors import ClewError, quote_input
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import Any

    from clew.index.gone_sessions import Archive
    from clew.index.results import SearchResult
    from clew.index.session_index import Index
    from clew.index.snippet import Passage

REFRESH_SECONDS = 3.0  # time for indexing new lines before the search
EMBED_SECONDS = 60  # time for embedding new texts before a search by meaning
LIMIT = 10
# `-word` excludes a word. These are options: -n, -p, -q, -h, and -n5.
_EXCLUDED = re.compile(r"-(?!n\d*$|[pqh]$)[^-].*", re.DOTALL)
_ESCAPE = "\0"  # no argument can contain it


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("query", nargs="+", help='words, "phrases", -not, OR, and fields such as tool:Bash since:30d')
    command.add_argument("--regex", action="store_true", help="search for a regular expression in the text")
    command.add_argument("--substring", action="store_true", help="search for an exact piece of text")
    command.add_argument(
        "--semantic", action="store_true", help="also find texts of similar meaning (needs an extra package)"
    )
    command.add_argument(
        "--budget",
        metavar="SECONDS",
        type=parse_count,
        default=EMBED_SECONDS,
        help="with --semantic: time for embedding new texts (default 60)",
    )
    command.add_argument(
        "--context", metavar="N", type=parse_count, help="show the turn of the best passage with N turns on either side"
    )
    command.add_argument("--archived", action="store_true", help="only sessions that are only in the archive")
    command.add_argument("--include-current", action="store_true", help="include the session that runs this command")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    command.add_argument("--no-refresh", action="store_true", help="search the index without updating it")
    add_common_options(command, lists=True)


def parse_arguments(command: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """Parse options and query terms in any order: `clew search retry -timeout --json backoff`.

    argparse would take `-timeout` for an option, so terms that begin with a dash are escaped until it is done.
    """
    stop = arguments.index("--") if "--" in arguments else len(arguments)
    escaped = [f"{_ESCAPE}{word}" if _EXCLUDED.fullmatch(word) else word for word in arguments[:stop]]
    command.usage = "clew search [options] query ..."  # so that it need not be formatted
    options = command.parse_intermixed_args([*escaped, *arguments[stop:]])
    options.query = [word.removeprefix(_ESCAPE) for word in options.query]
    return options


def run(options: Namespace) -> int:
    query = " ".join(options.query)
    with _open_index(options) as index:
        results = _search(index, query, options)
        _print_results(index, results, options)
    if not results and not options.quiet:
        print(f"Nothing matches {quote_input(query)}.", file=sys.stderr)
        if not (options.regex or options.substring):
            print("Try --substring for a part of a word, or in:all for what Claude Code added.", file=sys.stderr)
        if index.default.filters:
            print(
                f"Your settings narrow searches to {index.default.text}; in:all searches everything.", file=sys.stderr
            )
    return 0 if results else 1


def _open_index(options: Namespace) -> Index:
    """The index of the folder of Claude Code, or with `--archived` of the sessions that were deleted from it."""
    from clew.index.session_index import Index

    if not options.archived:
        return Index.open(options.claude_dir)
    from clew.collect.archive.deleted_tree import deleted_tree_path

    if not options.quiet:
        print("These sessions are only in the archive. Restore one with: clew restore ID", file=sys.stderr)
    return Index.open(str(deleted_tree_path(options.claude_dir)))


def _search(index: Index, query: str, options: Namespace) -> list[SearchResult]:
    """Refresh the index and search it, and add sessions without a transcript."""
    from clew.collect.archive.archived_sessions import ArchivedSessions
    from clew.index.gone_sessions import add_gone, add_gone_matches
    from clew.index.query_pieces import FILTER_NAMES
    from clew.index.query_syntax import parse_query
    from clew.system.environment import current_session

    limit = LIMIT if options.limit is None else options.limit
    without = None if options.include_current else current_session()
    archive = None if options.archived else ArchivedSessions(options.claude_dir)
    filters = _filters(options)
    is_scan = options.regex or options.substring
    if not options.no_refresh and not (is_scan and index.unusable and not filters):
        refresh(index, options.quiet)
    if is_scan and not options.semantic:
        matches = index.grep(query, regex=options.regex, filters=filters, without=without)
        results = [result for result, _ in zip(matches, range(limit), strict=False)]
        return add_gone_matches(
            index, query, parse_query(filters), results, limit, regex=options.regex, archive=archive, without=without
        )
    if options.semantic:
        _embed(index, options, archive)
    parsed = parse_query(query + filters)
    for name in () if options.quiet else parsed.unknown:
        known = " ".join(f"{filter_name}:" for filter_name in FILTER_NAMES)
        print(f"{name}: is not a filter, so it was searched as a word. Filters: {known}", file=sys.stderr)
    ranked = index.search(parsed, limit, without=without, semantic=options.semantic)
    add_gone(index, parsed, ranked, limit, archive=archive, without=without, semantic=options.semantic)
    if ranked.instead and not options.quiet:
        print(f"Nothing matches {quote_input(query)}; showing results for {ranked.instead!r}.", file=sys.stderr)
    return ranked


def _filters(options: Namespace) -> str:
    """The options that filter, in the query language."""
    values = {
        "project": options.project,
        "since": options.since.isoformat() if options.since else None,
        "until": options.until.isoformat() if options.until else None,
    }
    return "".join(f' {name}:"{value}"' for name, value in values.items() if value)


def _embed(index: Index, options: Namespace, archive: Archive | None) -> None:
    """Update the vectors, also those of archived sessions."""
    if options.regex or options.substring:
        raise ClewError("--semantic searches by meaning: leave out --semantic, or leave out --regex and --substring.")
    if options.no_refresh or not options.budget:
        return
    from clew.cli.find.embedding_progress import embed
    from clew.index.gone_sessions import refresh_archived
    from clew.index.session_index import Index

    embed(index, options.budget, options.quiet)
    if archive is not None and archive.folder:
        with Index.open(archive.folder) as archived:
            refresh_archived(archived)
            embed(archived, options.budget, options.quiet)


def _print_results(index: Index, results: list[SearchResult], options: Namespace) -> None:
    if not options.reveal:
        _mask(results)
    if options.json:
        from clew.cli.output import print_json

        print_json(_result_json(result) for result in results)
    elif options.context is not None:
        _print_context(index, results, options.context, options.reveal)
    else:
        _print_text(results)


def _print_context(index: Index, results: list[SearchResult], turns: int, reveal: bool) -> None:
    """Print each result with the turns around its best passage, as `clew show` prints them."""
    from clew.conversation.load import read
    from clew.index.gone_sessions import describe_gone
    from clew.view.mask_rows import mask_rows
    from clew.view.row_terminal import print_rows
    from clew.view.rows import ViewOptions, rows

    for result in results:
        print(_heading(result, False))
        passage = result.passages[0]
        around = index.context(passage, turns) if passage.offset >= 0 else []
        turn_rows = rows(read(passage.path), around, ViewOptions()) if passage.path else iter(())
        print_rows(turn_rows if reveal else mask_rows(turn_rows), sys.stdout, sys.stdout.isatty())
        print(f"    {_plain(describe_gone(result))}\n" if result.gone else "")


def _mask(results: list[SearchResult]) -> None:
    """Mask secrets in the results. A passage that changes loses its marks, which would be wrong."""
    from clew.facts.secrets.mask_secrets import mask, may_contain_secrets

    texts = [text for result in results for text in (result.title, *(passage.text for passage in result.passages))]
    if not any(may_contain_secrets(texts)):
        return
    for result in results:
        result.title = mask(result.title)[0]
        for passage in result.passages:
            text, secrets = mask(passage.text)
            if secrets:
                passage.text, passage.marks = text, ()


def refresh(index: Index, quiet: bool) -> None:
    """Update the index: completely the first time, with a progress bar; later for a few seconds, reporting what is left."""
    if index.unusable and not quiet:
        print(_plain(f"{index.unusable}; this search creates a temporary index."), file=sys.stderr)
    if index.is_new:
        from clew.cli.progress import ProgressBar

        progress = ProgressBar("Indexing transcripts", 0.0, quiet=quiet)
        done = index.refresh(progress=progress.update)
        progress.erase()
        _report_skipped(done.skipped, quiet)
        return
    done = index.refresh(REFRESH_SECONDS)
    _report_skipped(done.skipped, quiet)
    if not done.is_complete and not quiet:
        print(f"{plural(done.left, 'changed file')} not searched yet; the next search continues.", file=sys.stderr)


def _report_skipped(paths: list[str], quiet: bool) -> None:
    """Name the files that cannot be indexed, and are therefore not searched."""
    if paths and not quiet:
        from clew.cli.output import print_message
        from clew.system.file_errors import ErrorCollector

        for path in paths:
            ErrorCollector(print_message).add(path, "it cannot be indexed")


def _result_json(result: SearchResult) -> dict[str, Any]:
    return {
        "kind": "result",
        "session": result.session,
        "title": result.title,
        "cwd": result.cwd,
        "branch": result.branch,
        "ended": result.ended,
        "messages": result.messages,
        "matches": result.matches,
        "grade": result.grade,
        "missing": result.missing,
        "score": round(result.score, 4),
        "similarity": _rounded(result.similarity),
        "agents": sorted(result.agents),
        "path": result.path,
        "gone": result.gone or None,
        "gone_since": result.gone_since,
        "resume": result.command or None,
        "passages": [
            {
                "field": p.field,
                "match": p.kind or p.field,
                "tool": p.tool,
                "failed": p.failed,
                "time": p.time,
                "agent": p.agent,
                "round": p.round or None,
                "input": p.input or None,
                "text": p.text,
                "similarity": _rounded(p.similarity),
                "marks": [list(mark) for mark in p.marks],
                "path": p.path,
                "offset": p.offset,
            }
            for p in result.passages
        ],
    }


def _rounded(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, 4)


def _print_text(results: list[SearchResult]) -> None:
    from clew.index.gone_sessions import describe_gone
    from clew.system import shell_quoting
    from clew.system.environment import wants_colour

    colour = sys.stdout.isatty() and wants_colour()
    for result in results:
        print(_heading(result, colour))
        for passage in result.passages:
            print(f"    {_passage(passage, colour)}")
        last = (
            _plain(describe_gone(result)) if result.gone else shell_quoting.resume_command(result.session, result.cwd)
        )
        print(_styled(f"    {last}", "2", colour) + "\n")
    sys.stdout.flush()


def _heading(result: SearchResult, colour: bool) -> str:
    name = os.path.basename(result.cwd.replace("\\", "/").rstrip("/")) or result.folder
    facts = [
        _ago(result.ended),
        _plain(name),
        _plain(result.branch),
        plural(result.messages, "message") if result.messages else "",
        _plain(result.looseness),
    ]
    about = " · ".join(fact for fact in facts if fact)
    styled = ((_plain(result.session[:8]), "33"), (_plain(result.title), "1"), (about, "2"))
    return "  ".join(_styled(text, style, colour) for text, style in styled)


def _passage(passage: Passage, colour: bool) -> str:
    kind = passage.field if not passage.tool else f"{passage.tool} {passage.field}"
    kind = f"agent {kind}" if passage.agent else kind
    kind = kind if passage.similarity is None else f"{kind} {passage.similarity:.2f}"
    parts, at = [], 0
    for start, stop in passage.marks:
        parts += [_plain(passage.text[at:start]), _styled(_plain(passage.text[start:stop]), "1;31", colour)]
        at = stop
    return f"{_styled(_plain(kind) + ':', '36', colour)} {''.join(parts)}{_plain(passage.text[at:])}"


def _styled(text: str, style: str, colour: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if colour and text else text


def _plain(text: str) -> str:
    """Text of a transcript on one line, without control characters."""
    if text.isprintable():
        return text
    from clew.system.control_characters import clean_name

    return clean_name(text)


def _ago(then: int | None) -> str:
    seconds = time.time() - then if then else 0
    for length, unit in ((31_536_000, "y"), (2_592_000, "mo"), (604_800, "w"), (86_400, "d"), (3600, "h"), (60, "m")):
        if seconds >= length:
            return f"{int(seconds // length)}{unit} ago"
    return "now" if then else ""
