"""Explain why a search found nothing: run variations of it, and name those that find something."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterator

from clew.cli.find.search_output import ResultPage
from clew.cli.output import print_message
from clew.errors import BadQuery, ClewError, quote_input
from clew.index.query_pieces import Piece, split_query
from clew.system.environment import claude_home, current_session
from clew.system.plural import noun, plural

MAX_SUGGESTIONS = 3
MAX_SHOWN = 60  # characters of a filter
_OPTIONS = ("project", "since", "until")
_HEX = frozenset("0123456789abcdef-")


def explain_no_results(options: Namespace, page: ResultPage, search: Callable[[Namespace], ResultPage]) -> None:
    """Report that nothing was found, with what would find something. Raises ClewError if there is no folder.

    `search` runs a variation.
    """
    folder = claude_home(options.claude_dir)
    if not os.path.isdir(folder):
        raise ClewError(
            f"The folder {folder} does not exist.",
            hint="Name the folder of Claude Code with --claude-dir, or create a sample with: clew demo DIR",
        )
    if options.quiet:
        return
    if page.offset and page.total:
        count = plural(page.total, "session") if page.is_total_exact else f"at least {plural(page.total, 'session')}"
        print_message(f"Page {options.page} is empty: {count} {noun(page.total, 'matches', 'match')}.")
        print_message("Leave out --page for the first ones, or narrow the search with words or filters.")
        return
    print_message(f"Nothing matches {quote_input(' '.join(options.query))}.")
    suggestions = 0
    for change, variation in _variations(options):
        if sentence := _try(change, variation, search):
            print_message(sentence)
            suggestions += 1
            if suggestions == MAX_SUGGESTIONS:
                break
    if not suggestions:
        print_message("List the sessions with: clew ls")


def _try(change: str, variation: Namespace, search: Callable[[Namespace], ResultPage]) -> str:
    """Run a variation. Return the sentence that suggests it, or "" if it finds nothing either."""
    try:
        page = search(variation)
    except (BadQuery, ValueError):
        return ""
    if not page.results:
        return ""
    count = plural(page.total, "session") if page.is_total_exact else f"At least {plural(page.total, 'session')}"
    corrected = f" {quote_input(page.instead)}" if page.instead else ""
    return f"{count} {noun(page.total, 'matches', 'match')}{corrected} {change}{_projects(change, page)}."


def _projects(change: str, page: ResultPage) -> str:
    """Name the projects of results that another project has."""
    if "project" not in change:
        return ""
    names = dict.fromkeys(os.path.basename(result.cwd.replace("\\", "/").rstrip("/")) for result in page.results)
    listed = [name for name in names if name]
    return f" (in {', '.join(listed[:3])}{', …' if len(listed) > 3 else ''})" if listed else ""


def _variations(options: Namespace) -> Iterator[tuple[str, Namespace]]:
    """Yield searches that differ from a search in one thing, each with what differs; the likeliest to help first."""
    text = " ".join(options.query)
    is_scan = options.regex or options.substring
    yield from _without_options(options)
    if is_scan:
        yield from _other_scans(options, text)
    else:
        yield from _other_words(options, text)
    if current_session() and not options.include_current:
        yield "with --include-current", _vary(options, include_current=True)
    if options.archived:
        yield "without --archived", _vary(options, archived=False)


def _vary(options: Namespace, **changes: object) -> Namespace:
    return Namespace(**{**vars(options), "quiet": True, "no_refresh": True, "page": 1, **changes})


def _without_options(options: Namespace) -> Iterator[tuple[str, Namespace]]:
    given = [name for name in _OPTIONS if getattr(options, name)]
    for name in given:
        value = f" {_shorten(options.project)}" if name == "project" else ""
        yield f"without --{name}{value}", _vary(options, **{name: None})
    if len(given) > 1:
        yield f"without {' and '.join(f'--{name}' for name in given)}", _vary(options, **dict.fromkeys(given))


def _other_scans(options: Namespace, text: str) -> Iterator[tuple[str, Namespace]]:
    if text != text.lower():
        yield "in another case: write the pattern in lower case", _vary(options, query=[text.lower()])
    if options.regex:
        yield "with --substring instead of --regex", _vary(options, regex=False, substring=True)
    option = "--regex" if options.regex else "--substring"
    yield f"without {option}", _vary(options, regex=False, substring=False)


def _other_words(options: Namespace, text: str) -> Iterator[tuple[str, Namespace]]:
    pieces = split_query(text, False)
    names = list(dict.fromkeys(piece.name for piece in pieces if piece.name))
    for name in names:
        written = " ".join(_written(text, pieces, piece) for piece in pieces if piece.name == name)
        yield from _vary_query(options, f"without {_shorten(written)}", _without(text, pieces, {name}))
    if len(names) > 1:
        yield from _vary_query(options, "without filters", _without(text, pieces, set(names)))
    if not {"in", "role"} & set(names):
        yield "with in:all", _vary(options, query=[f"{text} in:all"])
        yield "with in:thinking", _vary(options, query=[f"{text} in:thinking"])
    if any(piece.negated and not piece.name for piece in pieces):
        kept = [_written(text, pieces, piece) for piece in pieces if not piece.negated or piece.name]
        yield from _vary_query(options, "without the excluded words", " ".join(kept))
    if '"' in text:
        yield from _vary_query(options, "without the quotation marks", text.replace('"', " "))
    if any(word in ("or", "not") for word in text.split()):
        capitals = " ".join(word.upper() if word in ("or", "and", "not") else word for word in text.split())
        yield from _vary_query(options, "with OR and NOT in capitals", capitals)
    if len(text) >= 4 and _HEX.issuperset(text.lower()):
        yield "as the beginning of an id, with id:", _vary(options, query=[f"id:{text}"])
    if not names and not any(piece.operator or piece.negated for piece in pieces):
        literal = " ".join(piece.value for piece in pieces).strip("*")
        if literal:
            yield "with --substring", _vary(options, query=[literal], substring=True, semantic=False)


def _vary_query(options: Namespace, change: str, text: str) -> Iterator[tuple[str, Namespace]]:
    """Yield the search with another text, unless no word is left in it."""
    if any(not piece.name and not piece.operator for piece in split_query(text, True)):
        yield change, _vary(options, query=[text])


def _written(text: str, pieces: list[Piece], piece: Piece) -> str:
    """Return a part of a query as it was typed."""
    following = [other.position for other in pieces if other.position > piece.position]
    return text[piece.position : min(following, default=len(text))].strip()


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"


def _without(text: str, pieces: list[Piece], names: set[str]) -> str:
    return " ".join(_written(text, pieces, piece) for piece in pieces if piece.name not in names)
