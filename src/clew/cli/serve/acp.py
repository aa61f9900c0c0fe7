"""`clew acp`: serve chats to an editor, over the Agent Client Protocol."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from clew.cli.chat.model_options import add_model_options
from clew.cli.options import add_common_options
from clew.cli.output import print_message
from clew.system.extras import install_hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from clew.chat.session_spec import SessionSpec


def add_arguments(command: ArgumentParser) -> None:
    from clew.cli.chat import chat

    add_model_options(command)
    chat.rights(command)
    add_common_options(command)


def run(options: Namespace) -> int:
    import asyncio

    from clew.cli.chat import chat

    try:
        from clew.acp.serve_stdio import serve
    except ModuleNotFoundError as error:
        if (error.name or "clew").partition(".")[0] == "clew":
            raise
        print_message(f"clew: editors need packages that are not installed, such as {error.name}.")
        print_message(install_hint("chat"))
        return 2
    from clew.wire.layout import Tree, claude_dir

    wished = _all(options)

    def make_spec(folder: Path) -> SessionSpec:
        return chat.session_spec(wished, folder)

    def say(text: str) -> None:
        if not options.quiet:
            print_message(text)

    if sys.stdin.isatty():
        say("An editor starts this command and talks to it over stdin: see docs/editor.md. Ctrl-D ends it.")
    asyncio.run(serve(make_spec, Tree(claude_dir(options.claude_dir)), say))
    return 0


def _all(options: Namespace) -> Namespace:
    """Return the options of a chat: those that were given, and what goes for the others, which the editor decides."""
    from clew.cli.chat import chat

    parser = ArgumentParser()
    chat.add_arguments(parser)
    return Namespace(**{**vars(parser.parse_args([])), **vars(options)})
