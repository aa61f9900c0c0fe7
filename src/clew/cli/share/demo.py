"""`clew demo`: create a sample ~/.claude folder."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options
from clew.cli.output import clean_name, print_json
from clew.system import shell_quoting
from clew.system.plural import plural


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("dir", help="a folder that does not exist yet, or is empty")
    add_common_options(command)


def run(options: Namespace) -> int:
    from datetime import UTC, datetime
    from pathlib import Path

    from clew.demo.demo_tree import write_demo

    root = Path(options.dir).expanduser()
    summary = write_demo(root, datetime.now(UTC))
    if options.json:
        print_json(
            [{"kind": "demo", "path": str(root), "sessions": len(summary.sessions), "projects": summary.projects}]
        )
    elif not options.quiet:
        print(
            clean_name(f"{root}: {plural(len(summary.sessions), 'session')} in {plural(summary.projects, 'project')}.")
        )
        print(f"Look at them: {shell_quoting.clew_command('ls', '--claude-dir', str(root))}")
    return 0
