"""Run the web application on a socket of this machine."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn

from clew.web.access_control import EntryToken
from clew.web.http_limits import ClientConnection
from clew.web.routes import make_app

KEEP_ALIVE = 5  # seconds that an idle connection stays open
GRACE = 2  # seconds for open responses when the server stops


def serve(
    claude: str | None, port: int, is_revealed: bool, ready: Callable[[str], None], again: Callable[[str], None]
) -> None:
    """Serve until interrupted. `ready` receives the first sign-in address, `again` each one that replaces a used
    one.
    """
    with socket.create_server(("127.0.0.1", port)) as listener:
        entry = EntryToken(listener.getsockname()[1], again)
        app = make_app(claude, entry, is_revealed=is_revealed, is_ending=lambda: server.should_exit)
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
        ready(entry.address)
        server.run(sockets=[listener])
