"""Run the web application on a socket of this machine."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import Protocol

import uvicorn

from clew.errors import ClewError
from clew.web.access_control import EntryToken
from clew.web.http_limits import ClientConnection
from clew.web.routes import make_app
from clew.web.server_record import ServerRecord

KEEP_ALIVE = 5  # seconds that an idle connection stays open
GRACE = 2  # seconds for open responses when the server stops
PORTS = range(25390, 25400)  # tried in this order; CLEW on the keys of a telephone


class ServeOutput(Protocol):
    """What the command line prints."""

    def ready(self, address: str) -> None:
        """The server listens; the address signs one browser in."""

    def again(self, address: str) -> None:
        """The address was used, and this one replaces it."""

    def running(self, address: str) -> None:
        """A server of this folder runs already; this is its address."""

    def warn(self, sentence: str) -> None: ...


def serve(
    claude: str | None, port: int | None, is_revealed: bool, renews_key: bool, output: ServeOutput, store: str = ""
) -> None:
    """Serve until interrupted, or return if a server of this folder runs already. `store` is where it was fetched from.

    A chosen `port` (0 is any free one) or `is_revealed` starts a second server beside it.
    """
    record = ServerRecord(claude)
    is_kept = True
    try:
        is_first = record.lock()
    except OSError as error:
        is_first, is_kept = True, False
        output.warn(f"Browsers must sign in again after a restart: the key cannot be kept ({error.strerror}).")
    if not is_first:
        if renews_key:
            raise ClewError("A server of this folder is running with the old key.", hint="Stop it, and try again.")
        if port is None and not is_revealed:
            output.running(record.running_address())
            return
    if renews_key:
        record.renew_key()
    try:
        with _listen(port, record.port) as listener:
            number = listener.getsockname()[1]
            if port is None and record.port not in (0, number):
                output.warn(f"Port {record.port} is taken: saved links need {number} in its place.")
            if is_kept:
                record.save(number if is_first and port != 0 else 0)
            _run(claude, listener, record, is_revealed, output, store)
    finally:
        record.release()


def _run(
    claude: str | None,
    listener: socket.socket,
    record: ServerRecord,
    is_revealed: bool,
    output: ServeOutput,
    store: str,
) -> None:
    def renewed(address: str) -> None:
        record.save_address(address)
        output.again(address)

    entry = EntryToken(listener.getsockname()[1], renewed, record.key)
    app = make_app(claude, entry, is_revealed=is_revealed, is_ending=lambda: server.should_exit, store=store)
    config = uvicorn.Config(
        app,
        http=ClientConnection,
        timeout_keep_alive=KEEP_ALIVE,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    server = uvicorn.Server(config)
    record.save_address(entry.address)
    output.ready(entry.address)
    server.run(sockets=[listener])


def _listen(port: int | None, last_port: int) -> socket.socket:
    """Listen on a chosen port, else on the one of the last time, else on the first free one."""
    if port is not None:
        return socket.create_server(("127.0.0.1", port))
    for candidate in dict.fromkeys((last_port, *PORTS) if last_port else PORTS):
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", candidate))
    return socket.create_server(("127.0.0.1", 0))
