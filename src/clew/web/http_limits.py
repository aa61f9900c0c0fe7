"""Limit how long and how many connections clients may keep open."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT = 10.0  # seconds for a complete request, from the connection or the end of the last response
WRITE_TIMEOUT = 60.0  # seconds in which a client reads nothing of a response
MAX_CONNECTIONS = 200  # open connections; above that, the one that was idle for longest is closed


class ClientConnection(H11Protocol):
    """One client connection. It is closed if a request does not arrive, or a response is not read, in time."""

    _request_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_request_timer()
        if len(self.connections) > MAX_CONNECTIONS:
            self._close_oldest_idle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel("_request_timer", "_write_timer")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._cancel("_request_timer")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.transport.is_closing():
            self._start_request_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._cancel("_write_timer")
        self._write_timer = self.loop.call_later(WRITE_TIMEOUT, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel("_write_timer")
        super().resume_writing()

    @property
    def is_idle(self) -> bool:
        """Whether no response is in progress."""
        return self.cycle is None or self.cycle.response_complete

    def _start_request_timer(self) -> None:
        """Give the client time for one complete request; partial data does not extend it."""
        self._cancel("_request_timer")
        self._request_timer = self.loop.call_later(REQUEST_TIMEOUT, self.transport.abort)

    def _cancel(self, *names: str) -> None:
        for name in names:
            timer: asyncio.TimerHandle | None = getattr(self, name)
            if timer is not None:
                timer.cancel()
                setattr(self, name, None)

    def _close_oldest_idle(self) -> None:
        others: list[Any] = [
            other for other in self.connections if isinstance(other, ClientConnection) and other.is_idle
        ]
        oldest = min(
            others, key=lambda other: other._request_timer.when() if other._request_timer else 0.0, default=self
        )
        oldest.transport.abort()
