"""Send session updates to the editor in order, without blocking the session."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from acp import Client


class UpdateQueue:
    """Outgoing updates of all sessions on one connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._queue: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._sender = asyncio.create_task(self._send_updates())

    def put(self, session_id: str, update: Any) -> None:
        self._queue.put_nowait((session_id, update))

    async def drain(self) -> None:
        """Wait until every queued update has been sent."""
        await self._queue.join()

    async def close(self) -> None:
        self._sender.cancel()
        await asyncio.gather(self._sender, return_exceptions=True)

    async def _send_updates(self) -> None:
        while True:
            session_id, update = await self._queue.get()
            with suppress(ConnectionError):  # the editor disconnected; drop the update
                await self._client.session_update(session_id, update)
            self._queue.task_done()
