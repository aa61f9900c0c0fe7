"""HTTP/1.1 transport for httpx, directly on asyncio streams.

httpx's own transport needs two more libraries: loading these takes longer than a short turn. It is still used if the
environment names a proxy.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from urllib.request import getproxies

import h11
import httpx

from clew.api.endpoint import Endpoint

READ_SIZE = 1 << 16
MAX_HEAD = 100 * 1024
Origin = tuple[str, str, int]
_PORTS = {"http": 80, "https": 443}


def transport_for(endpoint: Endpoint) -> httpx.AsyncBaseTransport | None:
    """Return the transport for an endpoint; None for httpx's own."""
    return None if not endpoint.is_loopback and getproxies() else Transport()


class Transport(httpx.AsyncBaseTransport):
    """Sends requests to servers. A connection whose answer was read completely is reused."""

    def __init__(self) -> None:
        self._idle: dict[Origin, list[HttpConnection]] = {}
        self._aborted: list[HttpConnection] = []  # aborted, but possibly not closed yet
        self._trusted: ssl.SSLContext | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        limits = request.extensions.get("timeout", {})
        url = request.url
        origin = (url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme])
        connection = self._reuse(origin) or await self._connect(origin, limits.get("connect"))
        is_answered = False
        try:
            head = await connection.send(request, limits)
            is_answered = True
        finally:
            if not is_answered:
                self._abort(connection)
        return httpx.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=ResponseBody(self, origin, connection, limits.get("read")),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )

    def release(self, origin: Origin, connection: HttpConnection) -> None:
        """Keep a connection for the next request, if it can be reused."""
        if connection.is_whole:
            self._idle.setdefault(origin, []).append(connection)
        else:
            self._abort(connection)

    def _abort(self, connection: HttpConnection) -> None:
        connection.close()
        self._aborted.append(connection)

    async def aclose(self) -> None:
        held = [connection for rested in self._idle.values() for connection in rested] + self._aborted
        self._idle.clear()
        self._aborted.clear()
        for connection in held:
            await connection.end()

    def _reuse(self, origin: Origin) -> HttpConnection | None:
        connections = self._idle.get(origin, [])
        while connections:
            connection = connections.pop()
            if connection.is_open:
                return connection
            connection.close()
        return None

    async def _connect(self, origin: Origin, limit: float | None) -> HttpConnection:
        scheme, host, port = origin
        if scheme == "https" and self._trusted is None:
            self._trusted = httpx.create_ssl_context()
        trusted = self._trusted if scheme == "https" else None
        try:
            async with asyncio.timeout(limit):
                # cancelling a race between addresses leaks a socket; a single address needs no race
                delay = None if host in ("127.0.0.1", "::1") else 0.25
                reader, writer = await asyncio.open_connection(host, port, ssl=trusted, happy_eyeballs_delay=delay)
        except TimeoutError:
            raise httpx.ConnectTimeout("could not connect in time") from None
        except (OSError, UnicodeError) as error:  # UnicodeError: a host name that cannot be resolved
            raise httpx.ConnectError(str(error)) from error
        return HttpConnection(reader, writer)


class HttpConnection:
    """One connection to a server, for consecutive requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)

    @property
    def is_open(self) -> bool:
        """True if the server has not closed the connection."""
        return not self._reader.at_eof() and not self._writer.is_closing()

    @property
    def is_whole(self) -> bool:
        """Whether another request can follow; then it is made ready for that."""
        if self._state.our_state is not h11.DONE or self._state.their_state is not h11.DONE:
            return False
        self._state.start_next_cycle()
        return self.is_open

    async def send(self, request: httpx.Request, limits: Mapping[str, float | None]) -> h11.Response:
        """Send a request; return the head of its answer."""
        try:
            async with asyncio.timeout(limits.get("write")):
                with suppress(OSError):  # a server that stopped reading may already have answered
                    await self._send(request)
        except TimeoutError:
            raise httpx.WriteTimeout("the server did not accept the request in time") from None
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        while True:
            event = await self.receive(limits.get("read"))
            if isinstance(event, h11.Response):
                return event

    async def _send(self, request: httpx.Request) -> None:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
        self._writer.write(self._state.send(head) or b"")
        async for piece in request.stream:
            self._writer.write(self._state.send(h11.Data(data=piece)) or b"")
            await self._writer.drain()
        self._writer.write(self._state.send(h11.EndOfMessage()) or b"")
        await self._writer.drain()

    async def receive(self, limit: float | None) -> h11.Event:
        """Return the next event from the server."""
        try:
            while (event := self._state.next_event()) is h11.NEED_DATA:
                async with asyncio.timeout(limit):
                    data = await self._reader.read(READ_SIZE)
                if not data and self._state.their_state is h11.SEND_RESPONSE:
                    raise httpx.RemoteProtocolError("the server closed the connection without an answer")
                self._state.receive_data(data)
        except TimeoutError:
            raise httpx.ReadTimeout("no data in time") from None
        except OSError as error:
            raise httpx.ReadError(str(error)) from error
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        if not isinstance(event, h11.Event):
            raise httpx.RemoteProtocolError("the server switched to another protocol")
        return event

    def close(self) -> None:
        self._writer.transport.abort()  # closing would wait until everything is sent

    async def end(self) -> None:
        """Close it, and wait until it is closed."""
        self.close()
        with suppress(OSError):
            await self._writer.wait_closed()


class ResponseBody(httpx.AsyncByteStream):
    """The body of an answer. Closing it releases the connection, or aborts it if the body was not read completely."""

    def __init__(self, transport: Transport, origin: Origin, connection: HttpConnection, limit: float | None) -> None:
        self._transport = transport
        self._origin = origin
        self._connection = connection
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not isinstance(event := await self._connection.receive(self._limit), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                yield bytes(event.data)

    async def aclose(self) -> None:
        self._transport.release(self._origin, self._connection)
