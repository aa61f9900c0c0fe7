"""`clew mcp`: serve sessions to models, over the Model Context Protocol."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options
from clew.cli.output import print_json, print_message
from clew.system.extras import install_hint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument("--tools", action="store_true", help="list the tools and serve nothing")
    add_common_options(command)


def run(options: Namespace) -> int:
    import signal

    if options.tools or options.json:
        return _list(options)
    try:
        from clew.mcp.mcp_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        print_message("clew: the server needs the package mcp, version 2 or newer.")
        print_message(install_hint("mcp"))
        return 2
    signal.signal(signal.SIGINT, _leave)
    serve(options.claude_dir)
    return 0


def _leave(*_: object) -> NoReturn:
    """Exit immediately: the thread that waits for input cannot be interrupted, and no open file could lose data."""
    from clew.cli.run_command import INTERRUPTED

    print_message("Interrupted.")
    os._exit(INTERRUPTED)


def _list(options: Namespace) -> int:
    from clew.mcp.session_tools import TOOLS, schema

    if options.json:
        print_json(
            {"kind": "tool", "name": name, "description": tool.about, "input": schema(tool)}
            for name, tool in TOOLS.items()
        )
    else:
        for name, tool in TOOLS.items():
            wanted = ", ".join(schema(tool)["properties"])
            print(f"{name}({wanted})\n    {tool.about}")
    return 0
