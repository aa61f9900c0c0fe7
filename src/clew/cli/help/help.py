"""`clew help`: describe clew or one of its commands, or print the manual page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.commands import COMMANDS
from clew.cli.options import add_common_options
from clew.cli.output import print_json
from clew.errors import NotFound


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("command", nargs="?", metavar="COMMAND", help="the command to describe (default: all of them)")
    command.add_argument("--man", action="store_true", help="print the manual page: clew help --man | man -l -")
    add_common_options(command)


def run(options: Namespace) -> int:
    from clew.cli.help.man_page import build_man_page
    from clew.cli.implied_command import similar_command
    from clew.cli.run_command import build_parser, command_parser

    name = options.command
    if name and name not in COMMANDS:
        near = similar_command(name)
        hint = f"Did you mean {near}?" if near else "List the commands with: clew help"
        raise NotFound(name, "command", hint=hint)
    if options.json:
        commands = {name: COMMANDS[name]} if name else COMMANDS
        print_json({"kind": "command", "name": each, "purpose": purpose} for each, purpose in commands.items())
    elif options.man:
        print(build_man_page(), end="")
    else:
        print((command_parser(name) if name else build_parser()).format_help(), end="")
    return 0
