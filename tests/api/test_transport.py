"""The transport: connections that are used again, servers that go, and answers of every shape."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import ssl
import subprocess
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from clew.api.endpoint import Endpoint
from clew.api.mock.http_server import receive
from clew.api.transport import Transport, transport_for

WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
Answer = Callable[[StreamWriter, int], Awaitable[None]]


class Peer:
    """A server that answers each request on a connection by writing bytes as they are."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.connections = 0
        self.bodies: list[bytes] = []
        self.gone = asyncio.Semaphore(0)

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing() and (asked := await receive(reader, writer, 1 << 20)) is not None:
                self.bodies.append(asked.body)
                await self.answer(writer, len(self.bodies))
        except ConnectionError:  # a client may go as it likes
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
            self.gone.release()

    async def leave(self) -> None:
        """Wait until no connection is left."""
        for _ in range(self.connections):
            await self.gone.acquire()


def asked(answer: Answer, work: Callable[[httpx.AsyncClient, Peer], Awaitable[Any]]) -> tuple[Any, Peer]:
    async def run() -> tuple[Any, Peer]:
        peer = Peer(answer)
        async with await asyncio.start_server(peer.serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            base = f"http://127.0.0.1:{port}"
            try:
                async with httpx.AsyncClient(transport=Transport(), base_url=base, timeout=20) as client:
                    return await work(client, peer), peer
            finally:
                await asyncio.wait_for(peer.leave(), 20)

    return asyncio.run(run())


def always(data: bytes, closes: bool = False) -> Answer:
    async def answer(writer: StreamWriter, number: int) -> None:
        writer.write(data)
        if closes:
            writer.close()

    return answer


async def twice(client: httpx.AsyncClient, peer: Peer) -> list[str]:
    return [(await client.post("/", content=body)).text for body in (b"one", b"two")]


def test_a_connection_is_used_again() -> None:
    said, peer = asked(always(WHOLE), twice)
    assert said == ["hello", "hello"] and peer.bodies == [b"one", b"two"] and peer.connections == 1


def test_a_server_that_closed_the_connection_meanwhile_is_asked_on_a_new_one() -> None:
    said, peer = asked(always(WHOLE, closes=True), twice_with_a_pause)
    assert said == ["hello", "hello"] and peer.connections == 2


async def twice_with_a_pause(client: httpx.AsyncClient, peer: Peer) -> list[str]:
    first = await client.post("/", content=b"one")
    await asyncio.wait_for(peer.gone.acquire(), 20)
    peer.gone.release()
    for _ in range(20):  # the end is in the kernel: let the loop look at it
        await asyncio.sleep(0)
    return [first.text, (await client.post("/", content=b"two")).text]


def test_an_answer_that_is_left_early_ends_its_connection() -> None:
    endless = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhello"

    async def leave(client: httpx.AsyncClient, peer: Peer) -> list[bytes]:
        found = []
        for _ in range(2):
            async with client.stream("GET", "/") as response:
                async for piece in response.aiter_bytes():
                    found.append(piece)
                    break
        return found

    said, peer = asked(always(endless), leave)
    assert said == [b"hello", b"hello"] and peer.connections == 2


@pytest.mark.parametrize(
    ("data", "closes"),
    [
        (b"HTTP/1.1 103 Early Hints\r\nlink: a\r\n\r\n" + WHOLE, False),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", True),
        (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n%b"
            % (len(gzip.compress(b"hello", mtime=0)), gzip.compress(b"hello", mtime=0)),
            False,
        ),
    ],
)
def test_answers_of_every_shape_are_read(data: bytes, closes: bool) -> None:
    said, _ = asked(always(data, closes), lambda client, peer: client.get("/"))
    assert said.status_code == 200 and said.text == "hello"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", httpx.RemoteProtocolError),
        (b"what?\r\n\r\n", httpx.RemoteProtocolError),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello", httpx.RemoteProtocolError),
    ],
)
def test_what_breaks_off_or_is_no_answer_is_an_error_of_httpx(data: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        asked(always(data, closes=True), lambda client, peer: client.get("/"))


def test_a_server_that_is_not_there_is_an_error_of_httpx() -> None:
    async def run() -> None:
        async with await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
        async with httpx.AsyncClient(transport=Transport()) as client:
            await client.get(f"http://127.0.0.1:{port}/")

    with pytest.raises(httpx.ConnectError):
        asyncio.run(run())


@pytest.mark.parametrize("host", ["nowhere.invalid", "a..b", f"{'a' * 64}.test"])
def test_a_name_that_stands_for_nothing_is_an_error_of_httpx(host: str) -> None:
    async def run() -> None:
        async with httpx.AsyncClient(transport=Transport()) as client:
            await client.get(f"http://{host}:1/")

    with pytest.raises((httpx.ConnectError, httpx.InvalidURL)):
        asyncio.run(run())


def test_silence_is_a_time_out() -> None:
    async def silent(writer: StreamWriter, number: int) -> None:
        return None

    with pytest.raises(httpx.ReadTimeout):
        asked(silent, lambda client, peer: client.get("/", timeout=httpx.Timeout(20, read=0.05)))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_a_certificate_is_held_against_the_name_and_those_that_are_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def served_as(name: str) -> str:
        secure = certificate(tmp_path / name, name)

        async def run() -> str:
            peer = Peer(always(WHOLE))
            async with await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=secure) as server:
                port = server.sockets[0].getsockname()[1]
                try:
                    async with httpx.AsyncClient(transport=Transport(), timeout=20) as client:
                        return (await client.get(f"https://localhost:{port}/")).text
                finally:
                    await asyncio.wait_for(peer.leave(), 20)

        return asyncio.run(run())

    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        served_as("localhost")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "localhost" / "cert.pem"))
    assert served_as("localhost") == "hello"
    certificate(tmp_path / "other.test", "other.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.test" / "cert.pem"))
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        served_as("other.test")


def certificate(folder: Path, name: str) -> ssl.SSLContext:
    """A server's certificate, signed by itself; made once for a folder."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    if not folder.exists():
        folder.mkdir()
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        command += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", f"/CN={name}"]
        subprocess.run([*command, "-addext", f"subjectAltName=DNS:{name}"], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    return context


def test_a_proxy_of_the_environment_is_left_to_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    assert isinstance(transport_for(Endpoint()), Transport)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert transport_for(Endpoint()) is None
    assert isinstance(transport_for(Endpoint("http://127.0.0.1:1")), Transport)
