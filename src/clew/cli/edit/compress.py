"""`clew compress`: copy a session with its older replies shortened."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.edit import edit_output, summary_options
from clew.cli.output import print_json, print_message


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
    from clew.cli.select_session import open_session

    session = open_session(options, options.id)
    from clew.edit.plan import plan

    edit = plan(session)
    summarise = summary_options.Summariser(options)
    compressed = edit.compress(summarise, bands=options.bands, tools=options.tools)
    if compressed is not edit:
        return edit_output.finish_with_sizes(options, compressed, summarise.details)
    if summarise.failed:
        raise summarise.failed[0]
    if options.json:
        print_json([{"kind": "edit", "source": edit.source.id, "steps": [], "written": False}])
    elif not options.quiet:
        print_message("Nothing to compress: every turn is as short as its band asks for.")
    return 1
