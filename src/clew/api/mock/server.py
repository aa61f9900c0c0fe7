"""Serve a mock on a local port, with a ledger of its requests and charges.

async with MockServer(Mock(script)) as server: ... # in a running loop with running(script) as server: ... # in a
separate thread
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from clew.api.mock.http_server import MAX_HEAD, HttpRequest, Malformed, encode_chunk, receive, response_head
from clew.api.mock.mock_api import MAX_BODY, Mock, PlannedAnswer, refuse
from clew.api.mock.scripts import ECHO, MockScript
from clew.wire.json_codec import Json, decode, encode

RowCallback = Callable[[Json], None]
LOOP_STEPS = 8  # iterations of the loop that opening or closing a connection takes


class MockServer:
    """Serves a mock until its context ends. `rows` is the ledger; `note` is called with each row after its answer."""

    def __init__(
        self,
        mock: Mock,
        host: str = "127.0.0.1",
        port: int = 0,
        note: RowCallback | None = None,
        keeps_bodies: bool = False,
    ) -> None:
        self._mock = mock
        self._host = host
        self._port = port
        self._note = note
        self._keeps_bodies = keeps_bodies
        self._number = 0
        self._open: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._is_closing = False
        self._server: asyncio.Server | None = None
        self.rows: list[Json] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, self._port, limit=MAX_HEAD)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing = True
        if self._server is not None:
            for listening in self._server.sockets:  # closing now would lose a connection that was just accepted
                asyncio.get_running_loop().remove_reader(listening.fileno())
            await _run_pending()
            self._server.close()
        open_connections = dict(self._open)
        for task, writer in open_connections.items():
            task.cancel()
            writer.transport.abort()  # closing would wait until everything is sent
        await asyncio.gather(*open_connections, return_exceptions=True)
        await _run_pending()

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, in a task that can be cancelled."""
        task = asyncio.current_task()
        if task is None or self._is_closing:
            writer.transport.abort()
            return
        self._open[task] = writer
        try:
            with suppress(asyncio.CancelledError):
                await self._serve_connection(reader, writer)
        finally:
            del self._open[task]

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await receive(reader, writer, MAX_BODY)) is not None:
                is_reusable = await self._answer(request, reader, writer)
                if request.is_last or not is_reusable:
                    break
        except Malformed as error:
            await self._write(writer, refuse(400, f"Bad request: {error}."), "GET")
        except ConnectionError:
            pass  # the client disconnected
        finally:
            writer.close()

    async def _answer(self, request: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; return True if the connection can be used for another one."""
        if request.path == "/ledger":
            await self._write(writer, self._ledger(request.method), request.method)
            return True
        plan = self._mock.answer(request)
        self._number += 1
        row = {"n": self._number, "method": request.method, "path": request.path, "status": plan.status, **plan.row}
        if self._keeps_bodies:
            row["body"] = _decode_body(request.body)
        row |= {"usage": None, "complete": False}
        self.rows.append(row)
        try:
            await asyncio.sleep(plan.step.delay)
            if plan.frames:
                await self._stream(writer, plan, row)
            elif not plan.ending:
                row |= plan.state_after(0)
                await self._write(writer, plan, request.method)
            await self._end(plan.ending, reader, writer)
        finally:
            if self._note is not None:
                self._note(row)
        return not plan.ending

    def _ledger(self, method: str) -> PlannedAnswer:
        body = b"".join(encode(row) + b"\n" for row in self.rows)
        if method == "DELETE":
            self.rows.clear()
        return PlannedAnswer(200, body, {"content-type": "application/jsonl"})

    async def _write(self, writer: asyncio.StreamWriter, plan: PlannedAnswer, method: str) -> None:
        writer.write(response_head(plan.status, {**plan.headers, "content-length": str(len(plan.body))}))
        if method != "HEAD":
            await _trickle(writer, plan.body, plan.step.trickle, plan.step.pace)
        await writer.drain()

    async def _stream(self, writer: asyncio.StreamWriter, plan: PlannedAnswer, row: Json) -> None:
        """Write the frames in order; the row is charged for each before it is sent."""
        writer.write(response_head(plan.status, {**plan.headers, "transfer-encoding": "chunked"}))
        for position, frame in enumerate(plan.frames):
            if position and plan.step.pace:
                await asyncio.sleep(plan.step.pace)
            row |= plan.state_after(position + 1)
            size = plan.step.trickle or len(frame)
            for start in range(0, len(frame), size):
                writer.write(encode_chunk(frame[start : start + size]))
                if plan.step.trickle:
                    await writer.drain()
                    await asyncio.sleep(plan.step.pace)
            await writer.drain()
        if plan.ending in ("", "end"):
            writer.write(encode_chunk(b""))
            await writer.drain()

    async def _end(self, ending: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """End irregularly: stay silent until the client disconnects, or abort."""
        if ending == "hang":
            await reader.read()
        if ending in ("cut", "close"):
            with suppress(RuntimeError):
                writer.transport.abort()


async def _run_pending() -> None:
    """Let the loop finish connections that were just accepted or closed."""
    for _ in range(LOOP_STEPS):
        await asyncio.sleep(0)


async def _trickle(writer: asyncio.StreamWriter, data: bytes, size: int, pace: float) -> None:
    for start in range(0, len(data), size or max(1, len(data))):
        writer.write(data[start : start + size] if size else data)
        if size:
            await writer.drain()
            await asyncio.sleep(pace)


def _decode_body(raw: bytes) -> Any:
    try:
        return decode(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")


@contextmanager
def running(script: MockScript = ECHO, **options: Any) -> Iterator[MockServer]:
    """Run a server in a separate thread, for synchronous code."""
    ready: threading.Event = threading.Event()
    server = MockServer(Mock(script), **options)
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    failed: list[OSError] = []

    async def serve() -> None:
        try:
            async with server:
                ready.set()
                await stop.wait()
        except OSError as error:
            failed.append(error)
            ready.set()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    ready.wait()
    try:
        if failed:
            raise failed[0]
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
