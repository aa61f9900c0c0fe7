"""The command `clew`: each command parses its options, calls one function, and prints the result.

Modules:
    chat/            Commands that talk to a model.
    commands         The table of commands: one group for each sub-package of `clew.cli`, in the order of `clew
                     --help`.
    cost/            Commands about token usage and cost.
    edit/            Commands that edit: they write a copy, or append to a session.
    find/            Commands that search.
    guarded_streams  Guarded standard streams: whatever is printed, no escape sequence but ours reaches a terminal
                     or a log.
    keep/            Commands of the archive and the stores.
    key_reader       Keys: what is pressed in a terminal, one key at a time, while something else goes on.
    output           Output: the writers of the command line.
    read/            Commands that print sessions.
    run_command      Run a command: parse the arguments, call its module, and report errors.
    select_session   Which session is meant: an id, a part of one, a path, or the newest at hand.
    serve/           Commands that serve sessions or a chat to other programs.
    share/           Commands that convert sessions to and from other formats.
    text_columns     Tables for people: columns as wide as their longest cell.
    turn_range       Which part of a session is meant: some of its turns, the last ones, or another branch.
"""

from __future__ import annotations

import sys


def main(argv: list[str] | None = None) -> int:
    """Run a command; the exit code is 0 done or found, 1 nothing matched, 2 failed or damaged, 130 interrupted."""
    from clew.system.subprocesses import isolate_process

    isolate_process()
    from clew.cli import guarded_streams

    before = guarded_streams.install()
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    finally:
        guarded_streams.restore(before)


def _main(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        from clew.version import __version__

        print(f"clew {__version__}")
        return 0
    if arguments[:1] == ["--index-shard"]:  # a process of a large build, which `index/build.py` started
        from clew.index.parallel_build import build_shard

        return build_shard(*arguments[1:])
    if arguments[:1] == ["search"]:
        from clew.cli.find.search import quick

        if (done := quick(arguments[1:])) is not None:
            return done
    if arguments[:1] == ["usage"]:
        from clew.cli.cost.usage import quick as quick_usage

        if (done := quick_usage(arguments[1:])) is not None:
            return done
    if arguments[:1] == ["statusline"]:
        from clew.cli.cost.statusline import quick as quick_line

        if (done := quick_line(arguments[1:])) is not None:
            return done
    from clew.cli.run_command import run

    return run(arguments)
