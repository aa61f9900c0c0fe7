"""`clew trim`: shrink a session until it fits the context window."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace

from clew.cli.edit import edit_output
from clew.cli.options import parse_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.edit.trim_presets import Trim

_NAMES = ("light", "fit", "tools", "heavy")
_FLAGS = {
    "--thinking": "remove thinking, but for a turn that the model is still in",
    "--images": "put notes in the place of pictures and documents",
    "--copies": "remove the program's own copies of results, which no model sees",
    "--progress": "remove signs of life of running tools",
    "--snapshots": "remove snapshots of files; rewinding the code is then not possible",
    "--state": "keep only the newest of the lines that replace each other: titles, modes, pins",
    "--requests": "remove the program's logs of its requests",
    "--before-compaction": "remove what stands before the last compaction and is not sent any more, but for the last turn",
}
_LINES = ("progress", "snapshots", "state", "requests")


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("id", help="a session: its id, the beginning of it, or a path")
    command.add_argument(
        "--preset",
        choices=_NAMES,
        help="light: without what no model sees; fit: light, no thinking, no pictures, all calls but the last 20 truncated; "
        "tools: light, all calls but the last 20 removed; heavy: light, no thinking, no pictures, no snapshots, all calls "
        "but the last 5 removed. Without any option: fit",
    )
    command.add_argument("--tools", choices=("remove", "truncate"), help="what becomes of tool calls and their results")
    command.add_argument(
        "--keep-last", metavar="N", type=parse_count, help="spare the calls of the last N turns that have any"
    )
    command.add_argument("--keep-calls", metavar="N", type=parse_count, help="spare the last N calls")
    command.add_argument(
        "--percent", metavar="P", type=parse_percent, help="only the calls in the oldest P %% of all turns"
    )
    command.add_argument(
        "--tool", metavar="NAME", action="append", default=[], help="only calls of this tool; mcp__* works"
    )
    for flag, purpose in _FLAGS.items():
        command.add_argument(flag, action="store_true", help=purpose)
    edit_output.add_arguments(command)


def parse_percent(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise ArgumentTypeError(f"{text!r} is not a percentage")
    return value


def run(options: Namespace) -> int:
    from clew.cli.select_session import open_session

    session = open_session(options, options.id)
    from clew.edit.plan import plan

    edit = plan(session).trim(parse_trim(options))
    return edit_output.finish_with_sizes(options, edit)


def parse_trim(options: Namespace) -> Trim:
    """Return the options as one value."""
    from clew.edit.trim_presets import DEFAULT, PRESETS, Trim
    from clew.edit.trim_tools import Tools

    tools = None
    ages = (options.keep_last, options.keep_calls, options.percent)
    if options.tools or options.tool or any(age is not None for age in ages):
        tools = Tools(options.tools or "remove", *ages, tuple(options.tool))
    trim = Trim(
        tools,
        options.thinking,
        options.images,
        options.copies,
        frozenset(name for name in _LINES if getattr(options, name)),
        options.before_compaction,
    )
    if options.preset or trim == Trim():
        return PRESETS[options.preset or DEFAULT] | trim
    return trim
