"""`clew usage`: what it took and what it cost.

The common question is to be answered in the time that Python takes to start, so this module understands plain arguments by
itself and imports neither argparse nor rich; `arguments` says the same for the help and the reference.
"""

from __future__ import annotations

import io
import os
import sys
import time

from clew.errors import READ_ERRORS
from clew.report.usage_table import BY, TIMES, Wanted, needs_places, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable
    from typing import Any

    from clew.facts.prices import Prices
    from clew.report.collect_buckets import ArchivedTranscript, Gathered
    from clew.report.usage_row import UsageRow
    from clew.report.usage_table import UsageTable

ALIASES = {"daily": "day", "weekly": "week", "monthly": "month", "hourly": "hour"}
VIEWS = ("blocks", "context", "turns", "waste")
_PLAIN = ("--json", "--quiet", "-q", "--compact", "--breakdown")


class UsageOptions:
    """What is to be shown, and how."""

    def __init__(self) -> None:
        self.wanted = Wanted()
        self.view = ""
        self.session: str | None = None
        self.claude_dir: str | None = None
        self.prices: str | None = None
        self.plot: str | None = None
        self.flags: set[str] = set()

    def has(self, flag: str) -> bool:
        return flag in self.flags

    @property
    def is_quiet(self) -> bool:
        return self.has("quiet")


def quick(arguments: list[str]) -> int | None:
    """Answer a plain question; None if the whole parser is needed to understand or explain it."""
    plan = UsageOptions()
    words = iter(arguments)
    for word in words:
        if word in _PLAIN:
            plan.flags.add("quiet" if word == "-q" else word[2:])
        elif word == "--claude-dir":
            plan.claude_dir = next(words, None)
            if plan.claude_dir is None:
                return None
        elif ALIASES.get(word, word) in (*TIMES, "model"):
            plan.wanted = plan.wanted._replace(by=ALIASES.get(word, word))
        else:
            return None
    plan.wanted = plan.wanted._replace(by_model=plan.has("breakdown"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        code = report_usage(plan)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except READ_ERRORS:
        return None  # where the parser is, errors are explained
    except KeyboardInterrupt:
        return 130


def add_arguments(command: ArgumentParser) -> None:
    from clew.cli.output import add_common_options

    kinds = (*ALIASES, *BY, *VIEWS)
    command.add_argument("by", nargs="?", choices=kinds, default="daily", metavar="BY", help=_HELP)
    command.add_argument("id", nargs="?", metavar="ID", help="the session of context, turns or waste; a part of its id")
    command.add_argument("--model", metavar="NAME", default="", help="only models with this in their name")
    command.add_argument("--session", metavar="ID", default="", help="only this session, its agents included")
    command.add_argument("--branch", metavar="NAME", default="", help="only this git branch")
    command.add_argument("--tool", metavar="NAME", default="", help="only replies that called this tool")
    command.add_argument("--breakdown", action="store_true", help="a line for each model below each row")
    command.add_argument("--estimate", action="store_true", help="put what placeholders lack on top, by their text")
    command.add_argument("--tz", metavar="ZONE", default="", help="days of this time zone (default: the local one)")
    command.add_argument("--csv", action="store_true", help="print comma-separated values")
    command.add_argument("--compact", action="store_true", help="few columns, as on a narrow terminal")
    command.add_argument("--plot", metavar="FILE", nargs="?", const="-", help=_PLOT)
    command.add_argument("--reconcile", action="store_true", help="compare with what Claude Code itself counted")
    command.add_argument("--prices", metavar="FILE", help="prices that go before those of the package")
    add_common_options(command, lists=True)


_HELP = "by what: daily (default), weekly, monthly, hourly, project, session, model, tool, agent, branch, or a view: "
_HELP += "blocks of five hours, the context of a session, its turns, or what was wasted"
_PLOT = "draw it: in the terminal, or into a new file that ends in .svg, .html or .png"


def run(options: Namespace) -> int:
    plan = UsageOptions()
    by = ALIASES.get(options.by, options.by)
    plan.view = by if by in VIEWS else ""
    plan.session = options.id
    plan.claude_dir, plan.prices, plan.plot = options.claude_dir, options.prices, options.plot
    names = ("json", "csv", "quiet", "compact", "breakdown", "estimate", "reconcile")
    plan.flags = {name for name in names if getattr(options, name)}
    plan.wanted = Wanted(
        by=by if by in BY else "day",
        since=options.since.timestamp() if options.since else None,
        until=options.until.timestamp() if options.until else None,
        project=_project(options) if options.project else "",
        session=_session(options) if options.session else "",
        branch=options.branch,
        model=options.model,
        tool=options.tool,
        limit=options.limit,
        zone=options.tz,
        by_model=options.breakdown,
        estimate=options.estimate,
    )
    return report_usage(plan)


def _project(options: Namespace) -> str:
    from clew.cli.select_session import open_tree
    from clew.wire.lookup import find_project

    return find_project(open_tree(options), options.project).name


def _session(options: Namespace) -> str:
    from clew.cli.select_session import open_tree
    from clew.wire.lookup import find_session

    return find_session(open_tree(options), options.session).id


def report_usage(plan: UsageOptions) -> int:
    from clew.report.custom_prices import prices as own_prices
    from clew.system.environment import claude_home

    prices = own_prices(plan.prices)
    if plan.view in ("context", "turns", "waste") or plan.has("reconcile"):
        from clew.cli.cost.usage_views import view

        return view(plan, prices)
    root = claude_home(plan.claude_dir)
    gathered = gather_all(plan, root, bool(plan.view) or needs_places(plan.wanted) or plan.plot is not None)
    if plan.view == "blocks":
        from clew.cli.cost.usage_views import show_blocks

        _warn(plan)
        return show_blocks(plan, gathered, prices)
    if plan.wanted.by == "agent":
        from clew.cli.cost.usage_views import with_agent_types

        with_agent_types(gathered)
    found = table(gathered.cells, plan.wanted, prices)
    if found.rows:
        _warn(plan)
    if plan.plot is not None:
        from clew.cli.cost.usage_plot import draw

        return draw(plan, gathered, found, prices)
    code = show(plan, found, prices, gathered)
    return 1 if gathered.missed else code


def _warn(plan: UsageOptions) -> None:
    """Warn about a session whose numbers do not agree with its text."""
    if plan.wanted.session:
        from clew.cli.cost.usage_views import warn_of_session

        warn_of_session(plan)


def gather_all(plan: UsageOptions, root: str, places: bool) -> Gathered:
    import gc

    from clew.report.collect_buckets import gather
    from clew.system.environment import cache_home

    gc.disable()  # a command ends soon, and what it makes has no cycles: looking for them took a tenth of its time
    progress = None if plan.is_quiet else _progress()
    gathered = gather(root, cache_home(), places=places, kept=_kept(root), progress=progress)
    if gathered.missed and not plan.is_quiet:
        from clew.cli.output import print_message
        from clew.system.file_errors import ErrorCollector, unreadable_reason

        for path in gathered.missed:
            ErrorCollector(print_message).add(path, unreadable_reason(path))
    return gathered


def _kept(root: str) -> list[ArchivedTranscript]:
    """What an archive keeps of the tree that is no longer in it."""
    from clew.system.environment import data_home

    if not os.path.exists(os.path.join(data_home(), "archive", "archive.db")):
        return []
    from clew.cli.cost.usage_archived import kept

    return kept(root)


def _progress() -> Callable[[int, int], None] | None:
    """Says how far it is on a terminal, once a second has passed."""
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()
    said = [False]

    def tell(done: int, total: int) -> None:
        if done >= total and said[0]:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - start > 1:
            said[0] = True
            print(f"\rReading transcripts: {100 * done // max(1, total)} %", end="", file=sys.stderr, flush=True)

    return tell


def show(plan: UsageOptions, found: UsageTable, prices: Prices, gathered: Gathered) -> int:
    if not found.rows and not plan.has("json") and not plan.has("csv"):
        if not plan.is_quiet:
            print("No usage here. Name another folder with --claude-dir.", file=sys.stderr)
        return 1
    names = labels(plan, found, gathered)
    if plan.has("json"):
        print_json(_told(found, prices, names))
    elif plan.has("csv"):
        print_csv({**row.told(), **_label(row, names)} for row in found.rows)
    else:
        from clew.report.text_table import table_lines

        for row in found.rows:
            row.name = names.get(row.name, row.name)
        measure = _measure(found)
        for line in table_lines(found, found.by.upper(), prices, width(), compact=plan.has("compact"), measure=measure):
            print(line)
    return 0 if found.rows else 1


def labels(plan: UsageOptions, found: UsageTable, gathered: Gathered) -> dict[str, str]:
    """Names that people know: the path of a project, the title of a session."""
    if found.by not in ("project", "session"):
        return {}
    from clew.cli.cost.usage_views import readable

    return readable(plan, found, gathered)


def _label(row: UsageRow, names: dict[str, str]) -> dict[str, str]:
    return {"label": names[row.name]} if row.name in names else {}


def _measure(found: UsageTable) -> Callable[[str], int]:
    if all(row.name.isascii() for row in found.rows):
        return len
    from clew.view.sanitize import columns

    return columns


def _told(found: UsageTable, prices: Prices, names: dict[str, str]) -> Iterable[dict[str, Any]]:
    for row in found.rows:
        models = {"models": [part.told() for part in row.models.values()]} if row.models else {}
        yield {"kind": "usage", "by": found.by, **row.told(), **_label(row, names), **models}
    yield {"kind": "total", **found.total.told(), "price_date": prices.date, "price_source": prices.source}


def print_json(values: Iterable[dict[str, Any]]) -> None:
    """JSON lines, as everywhere; written with the library that is loaded already."""
    import json

    for value in values:
        line = json.dumps({"clew": 1, **value}, ensure_ascii=False, separators=(",", ":"))
        print(line if line.isprintable() else _escaped(line))


def _escaped(line: str) -> str:
    from clew.system.control_characters import escape_json

    return escape_json(line)


def print_csv(values: Iterable[dict[str, Any]]) -> None:
    from clew.cli import output

    rows = [
        {key: " ".join(each) if isinstance(each, dict | list) else each for key, each in value.items()}
        for value in values
    ]
    if rows:
        output.print_csv(list(rows[0]), ([row.get(key) for key in rows[0]] for row in rows))


def width() -> int:
    """The columns of the terminal; 0 if it is none."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0
    except (OSError, ValueError):
        return 0
