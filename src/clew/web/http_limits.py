"""Connections: HTTP as uvicorn speaks it, with limits on how long and how many a client may keep open."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD = 10.0  # seconds for a whole request, from the connection or the end of the last answer
STALLED = 60.0  # seconds in which a client takes nothing of an answer
MOST = 200  # connections at a time; above that the one that has waited longest without a request gives way


class ClientConnection(H11Protocol):
    """One client. A request that does not come, or an answer that is not taken, ends it."""

    _waiting: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel("_waiting", "_stalled")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._cancel("_waiting")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cancel("_stalled")
        self._stalled = self.loop.call_later(STALLED, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel("_stalled")
        super().resume_writing()

    @property
    def is_idle(self) -> bool:
        """Whether no answer is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        """Give the client time for a whole request; what trickles in does not extend it."""
        self._cancel("_waiting")
        self._waiting = self.loop.call_later(HEAD, self.transport.abort)

    def _cancel(self, *names: str) -> None:
        for name in names:
            timer: asyncio.TimerHandle | None = getattr(self, name)
            if timer is not None:
                timer.cancel()
                setattr(self, name, None)

    def _make_room(self) -> None:
        others: list[Any] = [
            other for other in self.connections if isinstance(other, ClientConnection) and other.is_idle
        ]
        oldest = min(others, key=lambda other: other._waiting.when() if other._waiting else 0.0, default=self)
        oldest.transport.abort()
