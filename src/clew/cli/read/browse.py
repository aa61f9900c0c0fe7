"""`clew browse`: search and read sessions in the terminal; `clew` without a command starts it too."""

from __future__ import annotations

import importlib.util
import os
import sys
from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, add_store_options
from clew.cli.output import print_message
from clew.errors import ClewError
from clew.system import shell_quoting
from clew.system.environment import claude_home, program
from clew.system.extras import install_hint


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("query", nargs="*", help="words to search for, as in clew search (default: all sessions)")
    add_common_options(command)
    add_store_options(command, scope=True)


def run(options: Namespace) -> int:
    query = " ".join(options.query)
    if options.claude_dir and not os.path.isdir(folder := claude_home(options.claude_dir)):
        raise ClewError(
            f"The folder {folder} does not exist.", hint="Name the folder of Claude Code with --claude-dir."
        )
    if options.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        command = shell_quoting.clew_command("search", query) if query else "clew ls"
        raise ClewError("The browser needs a terminal, and prints no JSON.", hint=f"List sessions with: {command}")
    if not options.store_tree:
        return browse(options.claude_dir, query)
    from clew.cli.store_source import refreshed

    with refreshed(options):
        return browse(options.claude_dir, query, is_store=True)


def browse(claude_dir: str | None = None, query: str = "", *, is_store: bool = False) -> int:
    """Run the browser. If it ends with a session to resume, replace this process with `claude`."""
    from pathlib import Path

    from clew.cli.read.ls_messages import warn_of_expiring_sessions

    if importlib.util.find_spec("textual") is None:
        print_message("clew: the browser needs the package textual.")
        print_message(install_hint("tui"))
        return 2
    from clew.browse.search_thread import SearchLocation
    from clew.tui.browser_app import Browser
    from clew.tui.external_programs import ExternalPrograms, resume_session

    programs = ExternalPrograms(
        _program_words("PAGER", "less -R"), _program_words("VISUAL", "") or _program_words("EDITOR", "vi")
    )
    app = Browser(SearchLocation(claude_dir), query, programs=programs)
    resume = app.run()
    if is_store:
        if resume is not None:
            print_message("A session of a store is resumed after it was brought here: clew restore ID --store …")
        return app.return_code or 0
    if resume is None:
        warn_of_expiring_sessions(Namespace(claude_dir=claude_dir))
        return app.return_code or 0
    config = str(Path(claude_home(claude_dir)).absolute()) if claude_dir else ""
    return resume_session(resume._replace(config=config))


def _program_words(name: str, default: str) -> tuple[str, ...]:
    """Return the program that an environment variable names, split into words."""
    import shlex

    return tuple(shlex.split(program(name, default)))
