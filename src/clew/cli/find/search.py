"""`clew search`: search all sessions.

A search should take little longer than Python takes to start, so this module imports what it needs when it needs it.
"""

from __future__ import annotations

import sys

from clew.cli.find.search_output import ResultPage, plain, print_page, print_position
from clew.cli.options import add_common_options, add_jobs_option, add_store_options, parse_count, parse_positive
from clew.errors import ClewError, quote_input
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from clew.index.gone_sessions import ArchiveLookup
    from clew.index.query_syntax import Query
    from clew.index.session_index import Index

REFRESH_SECONDS = 3.0  # time for indexing new lines before the search
SCAN_SECONDS = 2.0  # time for looking whether a scan would find something
EMBED_SECONDS = 60  # time for embedding new texts before a search by meaning
LIMIT = 10
QUERY_HELP = """\
query:
  retry backoff            both words, in one passage if possible
  "retry after"            exactly these words in sequence
  back*                    words that begin with back
  retry AND backoff        the same as retry backoff
  retry OR backoff         either; OR binds more tightly than AND or a space
  -timeout, NOT timeout    without this word
  (a b) OR c               brackets group words; NOT (a OR b) excludes both
  3f2a9c1e                 a session by its id, or the first 8 digits of it

filters (quote spaces and commas: project:"my app"; exclude: -tool:Bash; several: in:prompt,reply):
  project:NAME  branch:NAME  model:NAME  id:ID  tool:NAME  file:NAME
  since:WHEN  until:WHEN     times: 7d, 2w, yesterday, "last week", monday, october, 2026-01, 2026-01-31T12:00
  in:FIELD                   title, prompt, reply, input, result, todo, plan, summary; talk (the first three);
                             thinking and meta (what Claude Code added) are searched only if named;
                             all is everything but thinking
  role:user,assistant,tool   is:error,agent   has:agent   input:KIND   round:N   tag:NAME

Exact matches come first, then other endings, parts of names, most of the words; each result says how it
matches. Words ignore case. --substring and --regex ignore case unless the pattern has a capital letter."""
_ESCAPE = "\0"  # no argument can contain it


def add_arguments(command: ArgumentParser) -> None:
    command.epilog = QUERY_HELP
    command.add_argument(
        "query", nargs="+", help='words, "phrases", AND, OR, NOT, -word, brackets and filters: see below'
    )
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
    command.add_argument("--page", metavar="N", type=parse_positive, default=1, help="show page N of the results")
    command.add_argument("--archived", action="store_true", help="only sessions that are only in the archive")
    command.add_argument("--include-current", action="store_true", help="include the session that runs this command")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    command.add_argument("--no-refresh", action="store_true", help="search the index without updating it")
    add_jobs_option(command, "for a new index: ")
    add_common_options(command, lists=True)
    add_store_options(command)


def parse_arguments(command: ArgumentParser, arguments: Sequence[str]) -> Namespace:
    """Parse options and query terms in any order: `clew search retry -timeout --json backoff`.

    argparse would take `-timeout` for an option, so terms that begin with a dash are escaped until it is done.
    """
    stop = arguments.index("--") if "--" in arguments else len(arguments)
    escaped = [f"{_ESCAPE}{word}" if _excludes_word(word) else word for word in arguments[:stop]]
    command.usage = "clew search [options] query ..."  # so that it need not be formatted
    options = command.parse_intermixed_args([*escaped, *arguments[stop:]])
    options.query = [word.removeprefix(_ESCAPE) for word in options.query]
    return options


def _excludes_word(argument: str) -> bool:
    """Return whether an argument is a term such as `-timeout`, and not one of the options -n, -n5, -p, -q and -h.

    It is no regular expression: to load `re` takes half as long as Python takes to start.
    """
    name = argument[1:]
    is_option = name in ("p", "q", "h") or (name[:1] == "n" and (name == "n" or name[1:].isdecimal()))
    return argument[:1] == "-" and name[:1] not in ("", "-") and not is_option


def run(options: Namespace) -> int:
    with _open_index(options) as index:
        page = _search_page(index, options)
        if page.results:
            print_page(index, page, options)
    if not page.results:
        from clew.cli.find.no_results import explain_no_results

        explain_no_results(options, page, _search_variation)
        return 1
    if not options.quiet:
        print_position(page, options.limit or LIMIT)
    return 0


def _search_variation(options: Namespace) -> ResultPage:
    with _open_index(options) as index:
        return _search_page(index, options, SCAN_SECONDS)


def _open_index(options: Namespace) -> Index:
    """Open the index of the folder of Claude Code, or with `--archived` of the sessions that were deleted from it."""
    from clew.index.session_index import Index

    if not options.archived:
        return Index.open(options.claude_dir)
    from clew.collect.archive.archive_view import open_deleted_tree
    from clew.collect.archive.deleted_tree import deleted_tree_path

    open_deleted_tree(options.claude_dir)  # brings it up to date
    if not options.quiet:
        print("These sessions are only in the archive. Restore one with: clew restore ID", file=sys.stderr)
    return Index.open(str(deleted_tree_path(options.claude_dir)))


def _search_page(index: Index, options: Namespace, scan_seconds: float | None = None) -> ResultPage:
    """Refresh the index and search it, and add sessions without a transcript.

    `scan_seconds` limits the time of a search for a substring or an expression.
    """
    from clew.collect.archive.archived_sessions import ArchivedSessions
    from clew.index.gone_sessions import add_gone, add_gone_matches
    from clew.index.query_syntax import parse_query
    from clew.system.environment import current_session

    query = " ".join(options.query)
    page_size = options.limit or LIMIT
    offset = (options.page - 1) * page_size
    stop = offset + page_size
    without = None if options.include_current else current_session()
    archive = None if options.archived else ArchivedSessions(options.claude_dir)
    filters = _filters(options)
    is_scan = options.regex or options.substring
    if not options.no_refresh and not (is_scan and index.unusable and not filters):
        refresh(index, options.quiet, options.jobs)
    if is_scan and not options.semantic:
        matches = index.grep(query, regex=options.regex, filters=filters, without=without, budget=scan_seconds)
        found = [result for result, _ in zip(matches, range(stop + 1), strict=False)]
        found = add_gone_matches(
            index, query, parse_query(filters), found, stop + 1, regex=options.regex, archive=archive, without=without
        )
        return ResultPage(found[offset:stop], offset, len(found), len(found) <= stop)
    if options.semantic:
        _embed(index, options, archive)
    parsed = parse_query(query + filters)
    if not options.quiet:
        _report_unknown(parsed)
    limit = stop + 1 if options.semantic else stop
    ranked = index.search(parsed, limit, without=without, semantic=options.semantic, page_size=page_size)
    add_gone(index, parsed, ranked, limit, archive=archive, without=without, semantic=options.semantic)
    if ranked.instead and not options.quiet:
        print(f"Nothing matches {quote_input(query)}; showing results for {ranked.instead!r}.", file=sys.stderr)
    if options.semantic:
        ranked.total, ranked.is_total_exact = len(ranked), len(ranked) <= stop
    return ResultPage(ranked[offset:stop], offset, ranked.total, ranked.is_total_exact, ranked.instead)


def _report_unknown(query: Query) -> None:
    """Name the words that look like filters and are not."""
    from clew.index.query_pieces import FILTER_NAMES
    from clew.index.query_syntax import OTHER_NAMES

    for name in query.unknown:
        known = " ".join(f"{filter_name}:" for filter_name in FILTER_NAMES)
        meant = f" Did you mean {OTHER_NAMES[name]}?" if OTHER_NAMES[name] else ""
        print(f"{name}: is not a filter, so it was searched as a word.{meant} Filters: {known}", file=sys.stderr)


def _filters(options: Namespace) -> str:
    """Return the options that filter, in the query language."""
    values = {
        "project": options.project,
        "since": options.since.isoformat() if options.since else None,
        "until": options.until.isoformat() if options.until else None,
    }
    return "".join(f' {name}:"{value}"' for name, value in values.items() if value)


def _embed(index: Index, options: Namespace, archive: ArchiveLookup | None) -> None:
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


def refresh(index: Index, quiet: bool, jobs: int | None = None) -> None:
    """Update the index: completely the first time, with a progress bar; later for a few seconds, reporting what is left."""
    if index.unusable and not quiet:
        print(plain(f"{index.unusable}; this search creates a temporary index."), file=sys.stderr)
    if index.is_new:
        from clew.cli.progress import ProgressBar

        progress = ProgressBar("Indexing transcripts", 0.0, quiet=quiet)
        done = index.refresh(progress=progress.update, jobs=jobs)
        progress.erase()
        _report_skipped(done.skipped, quiet)
        return
    done = index.refresh(REFRESH_SECONDS, jobs=jobs)
    _report_skipped(done.skipped, quiet)
    if done.left and not quiet:
        print(f"{plural(done.left, 'changed file')} not searched yet; the next search continues.", file=sys.stderr)


def _report_skipped(paths: list[str], quiet: bool) -> None:
    """Name the files that cannot be indexed, and are therefore not searched."""
    if paths and not quiet:
        from clew.cli.output import print_message
        from clew.system.file_errors import ErrorCollector

        for path in paths:
            ErrorCollector(print_message).add(path, "it cannot be indexed")
