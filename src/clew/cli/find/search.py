"""`clew search`: find anything.

A search is to be answered in the time that Python takes to start, so this module parses its own arguments and imports
neither argparse nor rich; `arguments` says the same for the help and the reference.
"""

from __future__ import annotations

import gc
import os
import sys
import time

from clew.errors import UNEXPECTED_ERRORS, BadQuery, ClewError, quote_input
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

    from clew.index.gone_sessions import Archive
    from clew.index.results import SearchResult
    from clew.index.session_index import Index
    from clew.index.snippet import Passage

BUDGET = 3.0  # seconds for reading what is new before the answer
_FLAGS = (
    *("--json", "--quiet", "-q", "--include-current", "--no-refresh", "--reveal"),
    *("--regex", "--substring", "--semantic", "--archived"),
)
_VALUES = {"--limit": "limit", "-n": "limit", "--claude-dir": "claude_dir", "--project": "project", "-p": "project"}
_VALUES |= {"--since": "since", "--until": "until", "--context": "context", "--budget": "budget"}


class SearchOptions:
    """What a search is to do."""

    __slots__ = ("budget", "claude_dir", "context", "flags", "limit", "project", "query", "since", "until")

    def __init__(self) -> None:
        self.query = ""
        self.limit = "10"
        self.context = ""
        self.budget = "60"
        self.claude_dir: str | None = None
        self.project = self.since = self.until = ""
        self.flags: set[str] = set()


def quick(arguments: list[str]) -> int | None:
    """Run a search whose arguments are plain; None if the whole parser is needed to understand or explain them."""
    gc.set_threshold(50_000)  # what a search makes is gone with it; to look for garbage took a twentieth of its time
    plan = SearchOptions()
    words: list[str] = []
    waiting = iter(arguments)
    for word in waiting:
        if word in _FLAGS:
            plan.flags.add(word)
        elif word in _VALUES:
            value = next(waiting, None)
            if value is None:
                return None
            setattr(plan, _VALUES[word], value)
        elif word.startswith("--") or word == "-h":
            return None
        else:
            words.append(word)
    if not words or not all(number.isdigit() for number in (plan.limit, plan.context or "0", plan.budget)):
        return None
    plan.query = " ".join(words)
    try:
        return run_search(plan)
    except BadQuery as error:
        before, after = _plain(error.text[: error.at])[-60:], _plain(error.text[error.at :])[:60]
        print(f"clew: {_plain(error.reason)}.\n  {before}{after}\n  {' ' * len(before)}^", file=sys.stderr)
        if error.hint:
            print(error.hint, file=sys.stderr)
    except ClewError as error:
        print(f"clew: {_plain(str(error))}\n{_plain(error.hint)}".rstrip(), file=sys.stderr)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (OSError, *UNEXPECTED_ERRORS):
        return None  # where the parser is, errors are explained
    return 2


def run_search(plan: SearchOptions) -> int:
    from clew.collect.archive.archived_sessions import ArchivedSessions
    from clew.index.gone_sessions import add_gone, add_gone_matches
    from clew.index.query_syntax import parse_query
    from clew.index.session_index import Index
    from clew.system.environment import current_session

    filters = "".join(f' {name}:"{value}"' for name in ("project", "since", "until") if (value := getattr(plan, name)))
    without = None if "--include-current" in plan.flags else current_session()
    quiet = bool(plan.flags & {"--quiet", "-q"})
    limit = int(plan.limit)
    archive = None if "--archived" in plan.flags else ArchivedSessions(plan.claude_dir)
    with Index.open(_place(plan, quiet)) as index:
        is_scan = bool(plan.flags & {"--regex", "--substring"})
        if "--no-refresh" not in plan.flags and not (is_scan and index.unusable and not filters):
            refresh(index, quiet)
        found: list[SearchResult]
        if is_scan and "--semantic" not in plan.flags:
            regex = "--regex" in plan.flags
            made = index.grep(plan.query, regex=regex, filters=filters, without=without)
            found = [result for result, _ in zip(made, range(limit), strict=False)]
            found = add_gone_matches(
                index, plan.query, parse_query(filters), found, limit, regex=regex, archive=archive, without=without
            )
        else:
            semantic = "--semantic" in plan.flags
            if semantic:
                _embed(index, plan, archive, quiet)
            query = parse_query(plan.query + filters)
            results = index.search(query, limit, without=without, semantic=semantic)
            add_gone(index, query, results, limit, archive=archive, without=without, semantic=semantic)
            if results.instead and not quiet:
                print(f"Nothing matches {quote_input(plan.query)}; this is for {results.instead!r}.", file=sys.stderr)
            found = results
        _show(index, found, plan)
    if not found and not quiet:
        print(f"Nothing matches {quote_input(plan.query)}.", file=sys.stderr)
        if index.default.filters:
            print(
                f"Your settings narrow searches to {index.default.text}; in:all searches everything.", file=sys.stderr
            )
    return 0 if found else 1


def _place(plan: SearchOptions, quiet: bool) -> str | None:
    """The folder to search: that of Claude Code, or the attic with what is gone from there."""
    if "--archived" not in plan.flags:
        return plan.claude_dir
    from clew.collect.archive.deleted_tree import deleted_tree_path

    if not quiet:
        print("These are in the archive alone; bring one back with: clew restore ID", file=sys.stderr)
    return str(deleted_tree_path(plan.claude_dir))


def _embed(index: Index, plan: SearchOptions, archive: Archive | None, quiet: bool) -> None:
    """Bring the vectors up to date, those of archived sessions too."""
    if plan.flags & {"--regex", "--substring"}:
        raise ClewError("A text that is looked for letter by letter has no meaning: leave out --semantic or the other.")
    if "--no-refresh" in plan.flags or not int(plan.budget):
        return
    from clew.cli.find.embedding_progress import embed
    from clew.index.gone_sessions import refresh_archived
    from clew.index.session_index import Index

    embed(index, int(plan.budget), quiet)
    if archive is not None and archive.folder:
        with Index.open(archive.folder) as archived:
            refresh_archived(archived)
            embed(archived, int(plan.budget), quiet)


def _show(index: Index, found: list[SearchResult], plan: SearchOptions) -> None:
    if "--reveal" not in plan.flags:
        _mask(found)
    if "--json" in plan.flags:
        _print_json(found)
    elif plan.context:
        _print_context(index, found, int(plan.context), "--reveal" in plan.flags)
    else:
        _print(found)


def _print_context(index: Index, found: list[SearchResult], turns: int, reveal: bool) -> None:
    """Each result with the turns around its best passage, as `clew show` would print them."""
    from clew.conversation.load import read
    from clew.index.gone_sessions import describe_gone
    from clew.view.mask_rows import mask_rows
    from clew.view.row_terminal import print_rows
    from clew.view.rows import ViewOptions, rows

    for result in found:
        print(_heading(result, False))
        passage = result.passages[0]
        around = index.context(passage, turns) if passage.offset >= 0 else []
        made = rows(read(passage.path), around, ViewOptions()) if passage.path else iter(())
        print_rows(made if reveal else mask_rows(made), sys.stdout, sys.stdout.isatty())
        print(f"    {_plain(describe_gone(result))}\n" if result.gone else "")


def _mask(found: list[SearchResult]) -> None:
    """Hide secrets in what will be shown; where a passage changes its marks would be wrong and go."""
    from clew.facts.secrets.mask_secrets import mask, may_contain_secrets

    if not any(
        may_contain_secrets([text for result in found for text in (result.title, *(p.text for p in result.passages))])
    ):
        return
    for result in found:
        result.title = mask(result.title)[0]
        for passage in result.passages:
            text, secrets = mask(passage.text)
            if secrets:
                passage.text, passage.marks = text, ()


def refresh(index: Index, quiet: bool) -> None:
    """Bring the index up to date: all of it the first time, with a bar; later for a moment, and say what is left."""
    bar = _bar if sys.stderr.isatty() and not quiet else None
    if index.unusable and not quiet:
        print(_plain(f"{index.unusable}; this search makes a temporary index."), file=sys.stderr)
    if index.is_new:
        done = index.refresh(progress=bar)
        if bar:
            print("\r\x1b[K", end="", file=sys.stderr)
        _report_skipped(done.skipped, quiet)
        return
    done = index.refresh(BUDGET)
    _report_skipped(done.skipped, quiet)
    if not done.is_complete and not quiet:
        print(f"{plural(done.left, 'changed file')} not searched yet; the next search continues.", file=sys.stderr)


def _report_skipped(paths: list[str], quiet: bool) -> None:
    """Name the files that cannot be indexed, and so are not searched."""
    if paths and not quiet:
        from clew.cli.output import print_message
        from clew.system.file_errors import ErrorCollector

        for path in paths:
            ErrorCollector(print_message).add(path, "it cannot be indexed")


def _bar(done: int, total: int) -> None:
    share = min(1.0, done / total) if total else 1.0
    print(f"\rIndexing {total / 1e6:.0f} MB  {'█' * int(30 * share):░<30} {share:4.0%}", end="", file=sys.stderr)


def _print_json(found: list[SearchResult]) -> None:
    from clew.cli.output import print_json

    print_json(_json(result) for result in found)


def _json(result: SearchResult) -> dict[str, Any]:
    return {
        "kind": "result",
        "session": result.session,
        "title": result.title,
        "cwd": result.cwd,
        "branch": result.branch,
        "ended": result.ended,
        "messages": result.messages,
        "matches": result.matches,
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


def _print(found: list[SearchResult]) -> None:
    from clew.index.gone_sessions import describe_gone
    from clew.system import shell_quoting
    from clew.system.environment import wants_colour

    colour = sys.stdout.isatty() and wants_colour()
    for result in found:
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
    """Text of a transcript on one line that cannot drive a terminal."""
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


def add_arguments(command: ArgumentParser) -> None:
    from clew.cli.output import add_common_options, parse_count

    command.add_argument("query", nargs="+", help='words, "phrases", -not, OR, and fields such as tool:Bash since:30d')
    command.add_argument("--regex", action="store_true", help="the query is a regular expression over the text itself")
    command.add_argument("--substring", action="store_true", help="the query is a piece of text, letter by letter")
    command.add_argument("--semantic", action="store_true", help="find also what was said in other words (an extra)")
    command.add_argument(
        "--budget", metavar="SECONDS", type=parse_count, help="with --semantic: time for embedding (60)"
    )
    command.add_argument("--context", metavar="N", help="show the turn of the best passage with N turns on either side")
    command.add_argument("--archived", action="store_true", help="sessions that are in the archive alone")
    command.add_argument("--include-current", action="store_true", help="also the session that asks")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    command.add_argument("--no-refresh", action="store_true", help="search the index as it is")
    add_common_options(command, lists=True)


def run(options: Namespace) -> int:
    """The same by the parsed arguments, for what the quick way does not understand."""
    plan = SearchOptions()
    plan.query = " ".join(options.query)
    plan.limit = str(options.limit if options.limit is not None else 10)
    plan.claude_dir, plan.project = options.claude_dir, options.project or ""
    plan.since, plan.until = (when.isoformat() if when else "" for when in (options.since, options.until))
    wanted = {"--json": options.json, "--quiet": options.quiet}
    wanted |= {"--include-current": options.include_current, "--no-refresh": options.no_refresh}
    wanted |= {"--reveal": options.reveal, "--regex": options.regex, "--substring": options.substring}
    wanted |= {"--semantic": options.semantic, "--archived": options.archived}
    plan.context = options.context or ""
    plan.budget = plan.budget if options.budget is None else str(options.budget)
    plan.flags = {flag for flag, is_set in wanted.items() if is_set}
    return run_search(plan)
