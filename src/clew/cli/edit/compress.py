"""`clew compress`: a session whose older replies are shorter."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.edit import edit_output, summary_options
from clew.cli.output import print_json, print_message
from clew.cli.select_session import open_session


def add_arguments(command: ArgumentParser) -> None:
    from clew.edit.summary.age_levels import DEFAULT

    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument(
        "--bands",
        metavar="BANDS",
        default=DEFAULT,
        help="how closely turns are kept, counted from the end: TURNS:LEVEL,… with the levels verbatim, short and "
        f"brief (default {DEFAULT})",
    )
    command.add_argument(
        "--tools",
        choices=("drop", "keep"),
        default="drop",
        help="calls in shortened turns: drop them with their results, or keep them without (default drop)",
    )
    summary_options.add_arguments(command)
    edit_output.add_arguments(command)


def run(options: Namespace) -> int:
    from clew.edit.plan import plan

    found = plan(open_session(options, options.id))
    summarise = summary_options.Summariser(options)
    made = found.compress(summarise, bands=options.bands, tools=options.tools)
    if made is not found:
        return edit_output.finish_with_sizes(options, made, summarise.told)
    if summarise.failed:
        raise summarise.failed[0]
    if options.json:
        print_json([{"kind": "edit", "source": found.source.id, "steps": [], "written": False}])
    elif not options.quiet:
        print_message("Nothing to compress: every turn is as short as its band asks for.")
    return 1
