"""`clew serve`: serve sessions to a web browser on this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, parse_count
from clew.cli.output import print_json, print_message
from clew.system.extras import install_hint

PACKAGES = ("jinja2", "markupsafe", "starlette", "uvicorn")


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "--port", metavar="N", type=parse_count, default=0, help="the port to listen on (default: a free one)"
    )
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    add_common_options(command)


def run(options: Namespace) -> int:
    try:
        from clew.web.web_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in PACKAGES:
            raise
        print_message(f"clew: the server needs the package {error.name}.")
        print_message(install_hint("web"))
        return 2
    if options.port > 65535:
        raise ValueError(f"{options.port} is not a port: the highest is 65535.")

    def ready(address: str) -> None:
        if options.json:
            print_json([{"kind": "server", "url": address}])
        else:
            print(address, flush=True)
        if not options.quiet:
            print_message("Open this address, which works once. Ctrl-C ends the server.")

    def again(address: str) -> None:
        """Print the address that replaces a used one: a message, or data with --quiet."""
        if not options.quiet:
            print_message(f"Opened. For another browser: {address}")
        elif options.json:
            print_json([{"kind": "server", "url": address}])
        else:
            print(address, flush=True)

    serve(options.claude_dir, options.port, options.reveal, ready, again)
    return 0
