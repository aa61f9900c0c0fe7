"""Watch followed sessions, all session files and the index, once for all pages, and stream what changed.

A topic is `session:ID`, `sessions` (any session file is new, changed or gone) or `index` (its progress). Each has one
current value: a page that connects gets it, and then every later one.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from clew.browse.search_thread import RefreshProgress
from clew.errors import NotFound
from clew.web.session_cache import SessionCache, file_state
from clew.wire.layout import SessionFile

INTERVAL = (
    0.2  # seconds between two looks at the followed sessions, or more: a look is to take 1/LOOK_SHARE of the time
)
LOOK_SHARE = 100
TREE_INTERVAL = 1.0  # seconds between two looks at all files, or more: a look is to take 1/TREE_SHARE of the time
TREE_SHARE = 200
MAX_STREAMS = 64
MAX_SESSIONS = 32  # sessions that one stream follows
MAX_NAMED = 50  # changed sessions that an event names
KEEP_ALIVE = 15.0  # seconds after which a silent connection gets a keep-alive


def state_mark(state: str) -> str:
    """Return a short mark that changes with the state of a session."""
    return sha256(state.encode("utf-8", "replace")).hexdigest()[:16]


class TreeWatch:
    """Notices new, changed and deleted session files, with less than a hundredth of one processor.

    `edition` counts the looks that found the files other than before; the first look is one of them.
    """

    def __init__(self, root: str) -> None:
        self._root = os.path.join(root, "projects")
        self._files: dict[str, tuple[int, int]] | None = None
        self._due = 0.0
        self.edition = 0

    def changes(self) -> list[str]:
        """Return the ids of sessions that changed since the last look; none if it is too early for another look."""
        if time.monotonic() < self._due:
            return []
        started = time.thread_time()
        files = dict(self._scan())
        known, self._files = self._files, files
        self._due = time.monotonic() + max(TREE_INTERVAL, TREE_SHARE * (time.thread_time() - started))
        self.edition += known != files
        if known is None or known == files:
            return []
        changed = {path for path, state in known.items() ^ files.items()}
        return sorted({os.path.basename(path).removesuffix(".jsonl") for path in changed})

    def _scan(self) -> Iterable[tuple[str, tuple[int, int]]]:
        for folder in _entries(self._root):
            for entry in _entries(folder.path):
                if entry.name.endswith(".jsonl"):
                    with suppress(OSError):
                        stat = entry.stat()
                        yield entry.path, (stat.st_size, stat.st_mtime_ns)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


class LiveUpdates:
    """The current value of each topic that a page follows. All streams end when `is_ending` says that the server stops."""

    def __init__(self, sessions: SessionCache, is_ending: Callable[[], bool]) -> None:
        self._sessions, self._is_ending = sessions, is_ending
        self._tree = TreeWatch(sessions.root)
        self._values: dict[str, str] = {}
        self._streams: Counter[str] = Counter()  # by topic
        self._count = 0
        self._files: dict[str, SessionFile | None] = {}
        self._changed, self._looking = asyncio.Condition(), asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._index = RefreshProgress()
        self._pause = INTERVAL
        self._start = f"{time.time():.3f}"  # so that no value of an earlier server is taken for one of this one

    def report_index(self, progress: RefreshProgress) -> None:
        """Keep the progress of the index, from any thread."""
        self._index = progress

    @property
    def version(self) -> str:
        """The value of the topic `sessions`: a page that was made since then needs no update when it connects."""
        return f"{self._start}.{self._tree.edition}"

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of streams is reached."""
        return self._count >= MAX_STREAMS

    def routes(self) -> list[Route]:
        return [Route("/events", self.answer, methods=["GET"])]

    async def answer(self, request: Request) -> Response:
        """Stream the events of the topics that the query names."""
        if self.is_full:
            return PlainTextResponse("Too many windows are open. Close some.\n", status_code=503)
        query = request.query_params
        named = list(dict.fromkeys(query.getlist("session")))[:MAX_SESSIONS]
        topics = [*(f"session:{name[:100]}" for name in named), *(n for n in ("sessions", "index") if n in query)]

        async def stream() -> AsyncIterator[str]:
            async for topic, value in self.events(topics):
                yield f"event: {topic.partition(':')[0]}\ndata: {value}\n\n" if topic else ": alive\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def events(self, topics: Sequence[str]) -> AsyncIterator[tuple[str, str]]:
        """Yield the value of each topic now and after each change, and empty strings as a keep-alive."""
        self._streams.update(topics)
        self._count += 1
        sent: dict[str, str] = {}
        try:
            await self._look(topics)
            if self._task is None:
                self._task = asyncio.create_task(self._poll())
            while not self._is_ending():
                fresh = {
                    topic: value for topic in topics if (value := self._values.get(topic, "")) != sent.get(topic, "")
                }
                for topic, value in fresh.items() or [("", "")]:
                    yield topic, value
                sent |= fresh
                await self._wait(topics, sent)
        finally:
            self._count -= 1
            self._streams.subtract(topics)
            self._streams = +self._streams

    async def _wait(self, topics: Sequence[str], sent: dict[str, str]) -> None:
        """Wait until a value changes, the server stops, or a keep-alive is due."""
        with suppress(TimeoutError):
            async with asyncio.timeout(KEEP_ALIVE), self._changed:
                await self._changed.wait_for(
                    lambda: self._is_ending() or any(self._values.get(t, "") != sent.get(t, "") for t in topics)
                )

    async def _poll(self) -> None:
        """Look at everything that is followed, until nothing is."""
        while self._count and not self._is_ending():
            await asyncio.sleep(self._pause)
            await self._look(list(self._streams))
        self._task = None
        self._values.clear()
        self._files.clear()
        async with self._changed:
            self._changed.notify_all()

    async def _look(self, topics: Sequence[str]) -> None:
        async with self._looking:
            values = await asyncio.to_thread(self._read, topics)
        if any(self._values.get(topic) != value for topic, value in values.items()):
            self._values |= values
            async with self._changed:
                self._changed.notify_all()

    def _read(self, topics: Sequence[str]) -> dict[str, str]:
        """Return the values of topics now."""
        values = {}
        changed = self._tree.changes() if "sessions" in topics or None in self._files.values() else []
        if changed:
            self._files = {session: file for session, file in self._files.items() if file is not None}
        started = time.thread_time()
        for topic in topics:
            kind, _, session = topic.partition(":")
            if kind == "session":
                values[topic] = _json(id=session, **self._session_value(session))
            elif kind == "index":
                done, total, is_done, reason = self._index
                percent = 100 if is_done else 100 * done // total if total else 0
                values[topic] = _json(percent=percent, done=done, total=total, isDone=is_done, reason=reason)
            elif changed or topic not in self._values:
                values[topic] = _json(version=self.version, changed=changed[:MAX_NAMED])
        self._pause = max(INTERVAL, LOOK_SHARE * (time.thread_time() - started))
        return values

    def _session_value(self, session: str) -> dict[str, Any]:
        """Return the state of a session; `gone` if its file is deleted or was replaced by a link out of the folder."""
        try:
            if session not in self._files:
                self._files[session] = self._sessions.find(session)
            if (file := self._files[session]) is not None and self._sessions.holds(str(file.path)):
                return {"state": state_mark(file_state(file)), "changed": file.path.stat().st_mtime}
        except (OSError, NotFound):
            pass
        self._files[session] = None
        return {"gone": True}


def _json(**values: Any) -> str:
    return json.dumps(values)
