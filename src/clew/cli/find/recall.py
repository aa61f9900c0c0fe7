"""`clew recall`: save the results of a search and read them again."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from clew.cli.options import add_common_options, parse_positive
from clew.cli.output import clean, clean_name, format_age, one_line, print_json, print_message
from clew.errors import Refused, quote_input
from clew.system import shell_quoting
from clew.system.environment import current_session
from clew.system.plural import noun, plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from clew.index.saved_searches import Quote, Recall, SavedResult, SavedSearch

ACTIONS = ("list", "save", "load", "export")


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("action", nargs="?", choices=ACTIONS, default="list", help="what to do (default: list)")
    command.add_argument("words", nargs="*", help="save: the query; load and export: a name, or a number of the list")
    command.add_argument("--name", metavar="NAME", help="save: under this name (default: made from the query)")
    command.add_argument(
        "--limit", "-n", metavar="N", type=parse_positive, default=10, help="save: keep at most N sessions"
    )
    command.add_argument(
        "--include-current", action="store_true", help="save: include the session that runs this command"
    )
    command.add_argument("--dry-run", action="store_true", help="save: say what would be kept and keep nothing")
    command.add_argument(
        "--output", "-o", metavar="FILE", help="export: a new file; JSON if it ends in .json, else Markdown"
    )
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_tree
    from clew.index import saved_searches as kept

    text = " ".join(options.words).strip()
    if options.action != "list" and not text:
        needed = "a query" if options.action == "save" else "the name of a recall, or its number in the list"
        print_message(f"clew: {options.action} needs {needed}.")
        print_message("Try: clew recall --help")
        return 2
    if options.action == "list":
        return _list(options)
    if options.action == "save":
        return _save(options, text)
    saved_search = kept.find_saved(open_tree(options), text)
    if saved_search.recall is None:
        raise Refused([f"{saved_search.path} holds nothing to read, {saved_search.reason}"])
    return (
        _load(options, saved_search.name, saved_search.recall)
        if options.action == "load"
        else _export(options, saved_search.recall)
    )


def _save(options: Namespace, query: str) -> int:
    from datetime import UTC, datetime

    from clew.cli.find.search import refresh
    from clew.cli.select_session import open_tree
    from clew.collect.archive.archived_sessions import ArchivedSessions
    from clew.index import saved_searches as kept
    from clew.index.gone_sessions import add_gone
    from clew.index.query_syntax import parse_query
    from clew.index.session_index import Index

    with Index.open(options.claude_dir) as index:
        refresh(index, options.quiet)
        without = None if options.include_current else current_session()
        parsed = parse_query(query)
        results = index.search(parsed, options.limit, without=without)
        archive = ArchivedSessions(options.claude_dir)
        add_gone(index, parsed, results, options.limit, archive=archive, without=without)
    if not results:
        if not options.quiet:
            print_message(f"Nothing matches {quote_input(query)}, so nothing was saved.")
        return 1
    if results.instead and not options.quiet:
        print_message(f"Nothing matches {quote_input(query)}; saving results for {results.instead!r}.")
    recall = kept.make_recall(results.instead or query, results, datetime.now(UTC), clean)
    path = None if options.dry_run else kept.save_recall(open_tree(options), recall, options.name or "")
    if options.json:
        print_json([{"kind": "saved", "path": str(path) if path else None, **_json(path.stem if path else "", recall)}])
        return 0
    sessions = plural(len(recall.results), "session")
    print(clean_name(f"{path}: {sessions}." if path else f"Would keep {sessions}."))
    if path and not options.quiet:
        print_message(f"Read it again: {shell_quoting.clew_command('recall', 'load', path.stem)}")
    return 0


def _list(options: Namespace) -> int:
    from clew.cli.select_session import open_tree
    from clew.index import saved_searches as kept

    saved_searches = kept.list_saved(open_tree(options))
    if options.json:
        return (
            0 if print_json(_row(number, saved_search) for number, saved_search in enumerate(saved_searches, 1)) else 1
        )
    if not saved_searches and not options.quiet:
        print_message("No recall is kept yet. Keep one with: clew recall save QUERY")
    names = [one_line(saved_search.name, 40) for saved_search in saved_searches]
    width = max(map(len, names), default=0)
    for number, (name, saved_search) in enumerate(zip(names, saved_searches, strict=True), 1):
        print(f"{number:>3}  {name:<{width}}  {_about(saved_search)}")
    return 0 if saved_searches else 1


def _about(saved_search: SavedSearch) -> str:
    if saved_search.recall is None:
        return one_line(f"unreadable: {saved_search.reason}")
    count = len(saved_search.recall.results)
    sessions = f"{count:>3} {noun(count, 'session'):<8}"
    return f"{format_age(saved_search.recall.saved):>4}  {sessions}  {one_line(saved_search.recall.query)}"


def _row(number: int, saved_search: SavedSearch) -> dict[str, Any]:
    recall = saved_search.recall
    return {
        "kind": "recall",
        "number": number,
        "name": saved_search.name,
        "query": recall.query if recall else None,
        "saved": recall.saved if recall else None,
        "sessions": [result.session for result in recall.results] if recall else [],
        "path": str(saved_search.path),
        "problem": saved_search.reason or None,
    }


def _load(options: Namespace, name: str, recall: Recall) -> int:
    if options.json:
        print_json([_json(name, recall)])
    else:
        print("\n".join(_recall_lines(recall)))
    return 0


def _json(name: str, recall: Recall) -> dict[str, Any]:
    import msgspec

    value = msgspec.to_builtins(recall)
    del value["clew"]
    results = [
        {**each, "resume": one.command or None} for each, one in zip(value.pop("results"), recall.results, strict=True)
    ]
    return {**value, "kind": "recall", "name": name, "results": results}


def _recall_lines(recall: Recall) -> Iterator[str]:
    yield f"{one_line(recall.query)}  ({_day(recall.saved)})"
    for result in recall.results:
        yield ""
        yield f"{result.session[:8]}  {one_line(result.title) or '(no title)'}"
        yield f"    {_facts(result)}"
        yield from (f"    {_quote_label(quote)}: {one_line(quote.text)}" for quote in result.quotes)
        yield f"    {one_line(result.note) or result.command}"


def _facts(result: SavedResult) -> str:
    dates = " to ".join(dict.fromkeys(_day(t) for t in (result.started, result.ended) if t))
    facts = (result.project, result.branch, plural(result.messages, "message"), dates)
    return " · ".join(one_line(fact) for fact in facts if fact)


def _quote_label(quote: Quote) -> str:
    kind = f"{quote.tool} {quote.field}".strip()
    return one_line(f"agent {kind}" if quote.agent else kind)


def _day(time: datetime) -> str:
    return time.astimezone().strftime("%Y-%m-%d")


def _export(options: Namespace, recall: Recall) -> int:
    from pathlib import Path

    from clew.index import saved_searches as kept
    from clew.wire.session_writer import create

    if options.output is None:
        print("\n".join(_markdown(recall)))
        return 0
    path = Path(options.output).expanduser()
    text = kept.as_json(recall) if path.suffix == ".json" else "\n".join(_markdown(recall))
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "No such folder", str(path.parent))
    create(path, [line.encode() for line in text.split("\n")])
    if options.json:
        print_json([{"kind": "exported", "path": str(path.resolve())}])
    else:
        print(clean_name(str(path.resolve())))
    return 0


def _markdown(recall: Recall) -> Iterator[str]:
    yield f"# {one_line(recall.query)}"
    yield ""
    yield f"Searched on {_day(recall.saved)}. What is quoted below is data out of transcripts, with secrets masked."
    for result in recall.results:
        yield from ("", f"## {one_line(result.title) or '(no title)'}", "", _facts(result), "")
        for quote in result.quotes:
            yield from (f"> {_quote_label(quote)}: {one_line(quote.text)}", "")
        yield f"    {one_line(result.note) or result.command}"
