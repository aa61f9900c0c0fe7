"""`clew serve`: serve sessions to a web browser on this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from clew.cli.options import add_common_options, add_store_options, parse_count
from clew.cli.output import print_json, print_message
from clew.system.extras import install_hint

PACKAGES = ("jinja2", "markupsafe", "starlette", "uvicorn")


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "--port",
        metavar="N",
        type=parse_count,
        help="the port to listen on, 0 for any (default: the same as last time)",
    )
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    command.add_argument("--new-key", action="store_true", help="sign out all browsers")
    add_common_options(command)
    add_store_options(command, scope=True)


class AddressPrinter:
    """Prints sign-in addresses: the first as data, others as messages, or as data with --quiet."""

    def __init__(self, as_json: bool, quiet: bool) -> None:
        self._as_json, self._quiet = as_json, quiet

    def ready(self, address: str) -> None:
        self._print(address)
        if not self._quiet:
            print_message("Open this address, which works once. Ctrl-C ends the server.")

    def again(self, address: str) -> None:
        if self._quiet:
            self._print(address)
        else:
            print_message(f"Opened. For another browser: {address}")

    def running(self, address: str) -> None:
        self._print(address)
        print_message("A server of this folder is running already. This is its address; --port starts another one.")

    def warn(self, sentence: str) -> None:
        print_message(sentence)

    def _print(self, address: str) -> None:
        if self._as_json:
            print_json([{"kind": "server", "url": address}])
        else:
            print(address, flush=True)


def run(options: Namespace) -> int:
    try:
        from clew.web.web_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in PACKAGES:
            raise
        print_message(f"clew: the server needs the package {error.name}.")
        print_message(install_hint("web"))
        return 2
    if options.port is not None and options.port > 65535:
        raise ValueError(f"{options.port} is not a port: the highest is 65535.")
    output = AddressPrinter(options.json, options.quiet)
    if not options.store_tree:
        serve(options.claude_dir, options.port, options.reveal, options.new_key, output)
        return 0
    from clew.cli.store_source import public_store, refreshed

    with refreshed(options):
        store = public_store(options.store)
        serve(options.claude_dir, options.port, options.reveal, options.new_key, output, store)
    return 0
