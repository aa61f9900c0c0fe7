"""The command `clew`: arguments become one value, then one call, then text."""

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
