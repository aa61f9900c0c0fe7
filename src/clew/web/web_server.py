"""The server: a socket on this machine alone, and the app behind it."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from clew.web.access_control import EntryToken
from clew.web.http_limits import ClientConnection
from clew.web.routes import make_app

KEPT = 5  # seconds that a connection stays open after an answer
GRACE = 2  # seconds that answers under way are given when the server ends


def serve(
    claude: str | None, port: int, is_revealed: bool, ready: Callable[[str], None], again: Callable[[str], None]
) -> None:
    """Serve until interrupted. `ready` hears the address to open, `again` each that takes the place of a used one."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        door = EntryToken(listening.getsockname()[1], again)
        app = make_app(claude, door, is_revealed=is_revealed, is_ending=lambda: server.should_exit)
        config = uvicorn.Config(
            app,
            http=ClientConnection,
            timeout_keep_alive=KEPT,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE,
        )
        server = uvicorn.Server(config)
        ready(door.address)
        server.run(sockets=[listening])
