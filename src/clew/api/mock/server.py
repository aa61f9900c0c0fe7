"""The server: a mock on a port of this machine, with a ledger of what it was asked and what it charged.

async with Server(Mock(script)) as server: ...      # in a loop that runs
with running(script) as server: ...                 # in a thread of its own
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from clew.api.mock.http_server import LONGEST_HEAD, HttpRequest, Malformed, chunk, head, receive
from clew.api.mock.mock_api import LONGEST_BODY, Mock, PlannedAnswer, refuse
from clew.api.mock.scripts import ECHO, MockScript
from clew.api.stream_assembly import Json
from clew.wire.json_codec import decode, encode

Note = Callable[[Json], None]
STEPS = 8  # of the loop, in which a connection is made or unmade


class MockServer:
    """Serves a mock until it is left. `rows` is the ledger; `note` is told each row when its answer is out."""

    def __init__(
        self,
        mock: Mock,
        host: str = "127.0.0.1",
        port: int = 0,
        note: Note | None = None,
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
        self._server = await asyncio.start_server(self._accept, self._host, self._port, limit=LONGEST_HEAD)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing = True
        if self._server is not None:
            for listening in self._server.sockets:  # closed at once, it would lose a connection that was just accepted
                asyncio.get_running_loop().remove_reader(listening.fileno())
            await _settled()
            self._server.close()
        held = dict(self._open)
        for task, writer in held.items():
            task.cancel()
            writer.transport.abort()  # closing would wait until all was sent
        await asyncio.gather(*held, return_exceptions=True)
        await _settled()

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, in a task that can be ended."""
        task = asyncio.current_task()
        if task is None or self._is_closing:
            writer.transport.abort()
            return
        self._open[task] = writer
        try:
            with suppress(asyncio.CancelledError):
                await self._converse(reader, writer)
        finally:
            del self._open[task]

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await receive(reader, writer, LONGEST_BODY)) is not None:
                is_kept = await self._answer(asked, reader, writer)
                if asked.is_last or not is_kept:
                    break
        except Malformed as error:
            await self._write(writer, refuse(400, f"Bad request: {error}."), "GET")
        except ConnectionError:
            pass  # the client may leave when it likes
        finally:
            writer.close()

    async def _answer(self, asked: HttpRequest, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can be used for another request."""
        if asked.path == "/ledger":
            await self._write(writer, self._ledger(asked.method), asked.method)
            return True
        plan = self._mock.answer(asked)
        self._number += 1
        row = {"n": self._number, "method": asked.method, "path": asked.path, "status": plan.status, **plan.row}
        if self._keeps_bodies:
            row["body"] = _body(asked.body)
        row |= {"usage": None, "complete": False}
        self.rows.append(row)
        try:
            await asyncio.sleep(plan.step.delay)
            if plan.frames:
                await self._stream(writer, plan, row)
            elif not plan.ending:
                row |= plan.told(0)
                await self._write(writer, plan, asked.method)
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
        writer.write(head(plan.status, {**plan.headers, "content-length": str(len(plan.body))}))
        if method != "HEAD":
            await _trickle(writer, plan.body, plan.step.trickle, plan.step.pace)
        await writer.drain()

    async def _stream(self, writer: asyncio.StreamWriter, plan: PlannedAnswer, row: Json) -> None:
        """The frames, one after the other; the row is charged for each before it is out."""
        writer.write(head(plan.status, {**plan.headers, "transfer-encoding": "chunked"}))
        for place, frame in enumerate(plan.frames):
            if place and plan.step.pace:
                await asyncio.sleep(plan.step.pace)
            row |= plan.told(place + 1)
            size = plan.step.trickle or len(frame)
            for start in range(0, len(frame), size):
                writer.write(chunk(frame[start : start + size]))
                if plan.step.trickle:
                    await writer.drain()
                    await asyncio.sleep(plan.step.pace)
            await writer.drain()
        if plan.ending in ("", "end"):
            writer.write(chunk(b""))
            await writer.drain()

    async def _end(self, ending: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """End other than well: stay silent until the client goes, or break off."""
        if ending == "hang":
            await reader.read()
        if ending in ("cut", "close"):
            with suppress(RuntimeError):
                writer.transport.abort()


async def _settled() -> None:
    """Let what the loop has begun come to its end: a connection that was just accepted, one that was just closed."""
    for _ in range(STEPS):
        await asyncio.sleep(0)


async def _trickle(writer: asyncio.StreamWriter, data: bytes, size: int, pace: float) -> None:
    for start in range(0, len(data), size or max(1, len(data))):
        writer.write(data[start : start + size] if size else data)
        if size:
            await writer.drain()
            await asyncio.sleep(pace)


def _body(raw: bytes) -> Any:
    try:
        return decode(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")


@contextmanager
def running(script: MockScript = ECHO, **options: Any) -> Iterator[MockServer]:
    """A server in a thread of its own, for code that is not asynchronous."""
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
