"""Load: many readers of one session that grows, each of whom must see everything that is written.

A reader opens the session, goes to its end and listens for changes; at each it reads the last page that it knows, and those
after it, as the script of the page does.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from clew.demo.talk import Talk, bash

EVERY = 0.25  # seconds between two turns
PATIENCE = 60.0  # seconds that readers have after the last word was written
_MARK = re.compile(rb"mark (\d+) ")
_COUNT = re.compile(rb'data-count="(\d+)"')
_LENGTH = re.compile(rb"content-length: (\d+)")


@dataclass
class Reader:
    """One of them: the marks that it saw, each with the moment, and how long its requests took."""

    seen: dict[int, float] = field(default_factory=dict)
    took: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    page: int = 1


@dataclass(frozen=True)
class Loaded:
    """What became of it. Times are in seconds; `missed` counts marks that a reader never saw."""

    marks: int
    requests: int
    median: float
    p95: float
    delay_p95: float
    missed: int
    failures: tuple[str, ...]


def load(base: str, cookies: httpx.Cookies, path: Path, turns: list[bytes], readers: int) -> Loaded:
    """Let a session grow while readers follow it."""
    return asyncio.run(_load(base, cookies, path, turns, readers))


class Link:
    """A connection that asks for one page after the other. It does no more than it must: readers share a processor."""

    def __init__(self, port: int, cookie: str) -> None:
        self._port, self._cookie = port, cookie

    async def open(self) -> Link:
        self._from, self._to = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 24)
        return self

    async def ask(self, path: str) -> tuple[int, int]:
        """Send a request; the status, and how long the answer is if it says so."""
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nCookie: {self._cookie}\r\n\r\n"
        self._to.write(head.encode())
        answer = (await self._from.readuntil(b"\r\n\r\n")).lower()
        length = _LENGTH.search(answer)
        return int(answer.split(b" ", 2)[1]), int(length[1]) if length else 0

    async def body(self, size: int) -> bytes:
        return await self._from.readexactly(size)

    async def line(self) -> bytes:
        return await self._from.readline()

    def close(self) -> None:
        self._to.close()


async def _load(base: str, cookies: httpx.Cookies, path: Path, turns: list[bytes], count: int) -> Loaded:
    readers = [Reader() for _ in range(count)]
    port, cookie = int(base.rpartition(":")[2]), "; ".join(f"{name}={value}" for name, value in cookies.items())
    at = f"/session/{path.stem}"
    following = [asyncio.create_task(_follow(Link(port, cookie), Link(port, cookie), at, one)) for one in readers]
    written = await _write(path, turns)
    last = max(written)
    try:
        async with asyncio.timeout(PATIENCE):
            while any(last not in reader.seen for reader in readers):
                await asyncio.sleep(0.05)
    except TimeoutError:
        pass  # what was missed is counted
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    return _summed(readers, written)


def grown(told: Talk, turns: int) -> tuple[bytes, list[bytes]]:
    """A session as it begins, and what is appended to it, turn by turn."""
    begin = told.lines()
    for number in range(1, turns + 1):
        told = told.user(f"go on {number}").reply(call=bash(f"echo {number}")).result("x" * 400)
        told = told.reply(f"This is mark {number} of the session.")
    added = told.lines()[len(begin) :]
    each = len(added) // turns
    return b"".join(begin), [b"".join(added[at : at + each]) for at in range(0, len(added), each)]


async def _write(path: Path, turns: list[bytes]) -> dict[int, float]:
    """Append turns, and say when each was written."""
    written: dict[int, float] = {}
    for number, data in enumerate(turns, 1):
        with open(path, "ab") as file:
            file.write(data)
        written[number] = time.monotonic()
        await asyncio.sleep(EVERY)
    return written


async def _follow(events: Link, pages: Link, at: str, reader: Reader) -> None:
    """Listen for as long as the server speaks; a reader that is left alone says why."""
    try:
        await asyncio.gather(events.open(), pages.open())
        await _catch_up(pages, at, reader)
        status, _ = await events.ask(f"/events?session={at.rpartition('/')[2]}")
        while line := await events.line():
            if line.startswith(b"data: "):
                await _catch_up(pages, at, reader)
        reader.failures.append(f"the events ended, with status {status}")
    except (OSError, EOFError) as error:
        reader.failures.append(f"{type(error).__name__}: {error}")
    finally:
        events.close()
        pages.close()


async def _catch_up(pages: Link, at: str, reader: Reader) -> None:
    while True:
        began = time.monotonic()
        status, size = await pages.ask(f"{at}/page/{reader.page}")
        text = await pages.body(size)
        now = time.monotonic()
        reader.took.append(now - began)
        if status != 200:
            reader.failures.append(f"{status} for page {reader.page}")
            return
        for mark in _MARK.findall(text):
            reader.seen.setdefault(int(mark), now)
        found = _COUNT.search(text)
        if found is None or reader.page >= int(found[1]):
            return
        reader.page = reader.page + 1 if reader.seen else int(found[1])


def _summed(readers: list[Reader], written: dict[int, float]) -> Loaded:
    took = sorted(each for reader in readers for each in reader.took)
    delays = sorted(reader.seen[n] - written[n] for reader in readers for n in written if n in reader.seen)
    return Loaded(
        marks=len(written),
        requests=len(took),
        median=_at(took, 0.5),
        p95=_at(took, 0.95),
        delay_p95=_at(delays, 0.95),
        missed=sum(number not in reader.seen for reader in readers for number in written),
        failures=tuple(failure for reader in readers for failure in reader.failures),
    )


def _at(ordered: list[float], share: float) -> float:
    return ordered[int(share * (len(ordered) - 1))] if ordered else 0.0
