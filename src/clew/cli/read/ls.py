"""`clew ls`: list sessions, projects, agents, prompts, todo lists or plans."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, add_store_options


def add_arguments(command: ArgumentParser) -> None:
    kinds = ("sessions", "projects", "agents", "prompts", "todos", "plans")
    command.add_argument("kind", nargs="?", choices=kinds, default="sessions", help="what to list (default: sessions)")
    command.add_argument("--archived", action="store_true", help="only sessions that are in the archive alone")
    command.add_argument("--rounds", action="store_true", help="count the rounds of each session (reads all of it)")
    command.add_argument(
        "--gone", action="store_true", help="only sessions whose transcript is gone, as the index and history know them"
    )
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_common_options(command, lists=True)
    add_store_options(command)


def run(options: Namespace) -> int:
    from clew.cli.read.ls_run import list_kind

    return list_kind(options)
