"""`clew usage`: token usage and cost.

The usual report should take little longer than Python takes to start, so modules are imported when they are needed.
"""

from __future__ import annotations

import sys

from clew.cli.cost.usage_request import UsageOptions, collect_usage, print_csv, print_json, terminal_width
from clew.cli.options import add_common_options, add_jobs_option, add_store_options
from clew.errors import Refused
from clew.report.usage_table import BY, UsageQuery, build_table, needs_places, needs_replies, table_json
from clew.system.terminal_style import stdout_style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from clew.facts.prices import Prices
    from clew.report.collect_buckets import CollectedBuckets
    from clew.report.usage_row import UsageRow
    from clew.report.usage_table import UsageTable

ALIASES = {"daily": "day", "weekly": "week", "monthly": "month", "hourly": "hour"}
VIEWS = ("blocks", "context", "turns", "waste", "limits")


def add_arguments(command: ArgumentParser) -> None:
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
    add_jobs_option(command)
    add_common_options(command, lists=True)
    add_store_options(command)


_HELP = "by what: daily (default), weekly, monthly, hourly, project, session, model, tool, agent, branch, or a view: "
_HELP += "blocks of five hours, the context of a session, its turns, what was wasted, or the limits of the subscription"
_PLOT = "draw it: in the terminal, or into a new file that ends in .svg, .html or .png"


def run(options: Namespace) -> int:
    if options.plot is not None and (options.by == "limits" or options.reconcile):
        what = "limits" if options.by == "limits" else "--reconcile"
        raise Refused([f"usage {what} has no chart"], hint="Leave out --plot.")
    if options.by == "limits":
        from clew.cli.cost.usage_limits import show_limits

        return show_limits(options)
    if options.id and options.by not in ("context", "turns", "waste"):
        hint = "Choose with options, such as --session ID or --project NAME."
        raise Refused([f"usage {options.by} does not take {options.id!r}"], hint=hint)
    by = ALIASES.get(options.by, options.by)
    query = UsageQuery(
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
    return report_usage(UsageOptions(query, by if by in VIEWS else "", options))


def _project(options: Namespace) -> str:
    from clew.cli.select_session import open_tree
    from clew.wire.lookup import find_project

    return find_project(open_tree(options), options.project).name


def _session(options: Namespace) -> str:
    from clew.cli.select_session import open_tree
    from clew.wire.lookup import find_session

    return find_session(open_tree(options), options.session).id


def report_usage(plan: UsageOptions) -> int:
    from clew.report.custom_prices import load_prices as own_prices
    from clew.system.environment import claude_home

    prices = own_prices(plan.prices)
    if plan.view in ("context", "turns", "waste") or plan.has("reconcile"):
        from clew.cli.cost.usage_views import view

        return view(plan, prices)
    root = claude_home(plan.claude_dir)
    is_per_reply = bool(plan.view) or needs_replies(plan.query) or plan.plot is not None
    collected = collect_usage(plan, root, is_per_reply, needs_places(plan.query))
    if plan.view == "blocks":
        from clew.cli.cost.usage_views import show_blocks

        _warn(plan)
        return show_blocks(plan, collected, prices)
    if plan.query.by == "agent":
        collected.name_agents()
    table = collected.read(lambda buckets: build_table(buckets, _with_models(plan), prices))
    if table.rows:
        _warn(plan)
    if plan.plot is not None:
        from clew.cli.cost.usage_plot import draw

        return draw(plan, collected, table, prices, labels(plan, table, collected))
    code = show(plan, table, prices, collected)
    return 1 if collected.missed else code


def _with_models(plan: UsageOptions) -> UsageQuery:
    """Return the query; for a table on a terminal, with the models of each row."""
    is_table = not plan.has("json") and not plan.has("csv") and terminal_width()
    return plan.query._replace(by_model=True) if is_table and plan.query.by != "model" else plan.query


def _warn(plan: UsageOptions) -> None:
    """Warn about a session whose numbers do not agree with its text."""
    if plan.query.session:
        from clew.cli.cost.usage_views import warn_of_session

        warn_of_session(plan)


def show(plan: UsageOptions, table: UsageTable, prices: Prices, collected: CollectedBuckets) -> int:
    if not table.rows and not plan.has("json") and not plan.has("csv"):
        if not plan.is_quiet:
            print(_explain_nothing(plan), file=sys.stderr)
        return 1
    names = labels(plan, table, collected)
    if plan.has("json"):
        print_json(table_json(table, prices, names))
    elif plan.has("csv"):
        print_csv({**row.to_json(), **_label(row, names)} for row in table.rows)
    else:
        from clew.report.text_table import table_lines

        for row in table.rows:
            row.name = names.get(row.name, row.name)
        for line in table_lines(
            table,
            table.by.upper(),
            prices,
            terminal_width(),
            compact=plan.has("compact"),
            measure=_measure(table),
            style=stdout_style(),
            breakdown=plan.has("breakdown"),
        ):
            print(line)
    return 0 if table.rows else 1


def _explain_nothing(plan: UsageOptions) -> str:
    """Say why there is no usage: the options leave none, or the folder has none."""
    from clew.system.environment import claude_home

    query, empty = plan.query, UsageQuery()
    names = ("since", "until", "project", "session", "branch", "model", "tool")
    used = [f"--{name}" for name in names if getattr(query, name) != getattr(empty, name)]
    root = claude_home(plan.claude_dir)
    if used:
        return f"No usage in {root} with {' and '.join(used)}."
    return f"No usage in {root}. Name another folder with --claude-dir."


def labels(plan: UsageOptions, table: UsageTable, collected: CollectedBuckets) -> dict[str, str]:
    """Names that people know: the path of a project, the title of a session."""
    if table.by not in ("project", "session"):
        return {}
    from clew.cli.cost.usage_views import readable

    return readable(plan, table, collected)


def _label(row: UsageRow, names: dict[str, str]) -> dict[str, str]:
    return {"label": names[row.name]} if row.name in names else {}


def _measure(table: UsageTable) -> Callable[[str], int]:
    if all(row.name.isascii() for row in table.rows):
        return len
    from clew.view.sanitize import columns

    return columns
