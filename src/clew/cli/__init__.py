"""The command `clew`: each command parses its options, calls one function, and prints the result.

Modules:
    chat/            Commands that talk to a model.
    commands         The table of commands: one group for each sub-package of `clew.cli`, in the order of `clew
                     --help`.
    cost/            Commands about token usage and cost.
    edit/            Commands that edit: they write a copy, or append to a session.
    find/            Commands that search.
    guarded_streams  Wrap stdout and stderr so that no escape sequence but ours reaches a terminal or a log.
    help/            Commands that describe clew and complete its arguments.
    implied_command  Choose the command for arguments that do not begin with one: `clew`, `clew retry backoff`,
                     `clew --claude-dir DIR`.
    keep/            Commands of the archive and the stores.
    key_reader       Read single key presses from a terminal while something else runs.
    light_imports    Import libraries without the modules that they load and a command rarely needs: the one place
                     that postpones those.
    options          Command-line options that several commands share, and the parsers of option values.
    output           Print text, JSON, CSV and messages: data to stdout, messages to stderr.
    progress         Progress lines on a terminal: the only code of the commands that draws them.
    read/            Commands that print sessions.
    run_command      Run a command: parse the arguments, call its module, and report errors.
    select_session   Find the session that a command is about: by id, by a part of it, by path, or the newest.
    serve/           Commands that serve sessions or a chat to other programs.
    share/           Commands that convert sessions to and from other formats.
    store_source     The option `--store` of commands that read: fetch what is new from a store, and let the command
                     read the mirror.
    text_columns     Print tables with columns as wide as their longest cell.
    turn_range       Select turns of a session: a range, the last ones, or another branch.
"""

from __future__ import annotations

import gc
import sys


def main(argv: list[str] | None = None) -> int:
    """Run a command. Return 0 for success, 1 if nothing matched, 2 for failure or damage, 130 after an interrupt."""
    gc.set_threshold(50_000)  # imports and parsed files create few cycles; looking for them took a tenth of the time
    from clew.system.subprocesses import isolate_process

    isolate_process()
    from clew.cli import guarded_streams

    before = guarded_streams.install()
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    finally:
        guarded_streams.restore(before)
        if argv is None and "duckdb" not in sys.modules:  # which would report what is frozen as its leaks
            gc.freeze()  # the process ends, and its last search for garbage would find nothing but take time


def _main(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        from clew.version import __version__

        print(f"clew {__version__}")
        return 0
    from clew.cli import light_imports

    light_imports.install()
    if arguments == ["--worker"]:  # a process that `system/worker_processes.py` started
        from clew.system.worker_processes import serve_batches

        return serve_batches()
    if arguments[:1] == ["--index-shard"]:  # a process of a large build, which `index/parallel_build.py` started
        from clew.index.parallel_build import build_shard

        return build_shard(*arguments[1:])
    if arguments[:1] == ["--summaries"]:  # a process that `browse/summary_thread.py` started
        from clew.browse.summary_thread import build_summaries

        return build_summaries(*arguments[1:])
    from clew.cli.run_command import run

    return run(arguments)
