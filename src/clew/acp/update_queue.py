"""The post: what a session tells goes out in order, without anybody waiting for it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from acp import Client


class UpdateQueue:
    """The updates of all sessions of one connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._waiting: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        self._carrying = asyncio.create_task(self._carry())

    def put(self, session_id: str, update: Any) -> None:
        self._waiting.put_nowait((session_id, update))

    async def is_out(self) -> None:
        """Wait until all that was put in has gone out."""
        await self._waiting.join()

    async def close(self) -> None:
        self._carrying.cancel()
        await asyncio.gather(self._carrying, return_exceptions=True)

    async def _carry(self) -> None:
        while True:
            session_id, update = await self._waiting.get()
            with suppress(ConnectionError):  # the editor has gone, and nobody misses it
                await self._client.session_update(session_id, update)
            self._waiting.task_done()
