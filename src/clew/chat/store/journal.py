"""The journal: writes a conversation down, line by line, as it happens.

The chain is linear: each line hangs below the one before it. Progress hangs below the newest line and nothing hangs below
it, so that whoever goes on from the newest time, as old versions do, finds all that was written before it. Times only ever
grow, whatever the clock does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal
from uuid import uuid4

from msgspec.structs import replace

from clew.api.stream_assembly import ApiReply
from clew.chat.store import journal_lines
from clew.chat.store.journal_lines import Envelope
from clew.wire.json_codec import Json
from clew.wire.session_writer import append, create
from clew.wire.timestamps import format_timestamp

Clock = Callable[[], datetime]
Ids = Callable[[], str]
Write = Callable[[Path, Sequence[Json], bool], None]
Durability = Literal["line", "turn", "off"]

_TICK = timedelta(milliseconds=1)


def now() -> datetime:
    return datetime.now(UTC)


def new_id() -> str:
    return str(uuid4())


def put(path: Path, lines: Sequence[Json], sync: bool) -> None:
    """Lines behind a file, in one write; a file that is not there is made of them, whole."""
    if path.exists():
        append(path, lines, sync=sync)
    else:
        create(path, lines, sync=sync)


def forget(path: Path, lines: Sequence[Json], sync: bool) -> None:
    """For a conversation that is not to be kept."""


_PROGRESS_NAMES = {"query_update": "search", "search_results_received": "search", "waiting_for_task": "task-output"}


class Journal:
    """One file being written. Nothing is made before the first line."""

    def __init__(
        self,
        path: Path,
        envelope: Envelope,
        *,
        leaf: str | None = None,
        last: datetime | None = None,
        clock: Clock = now,
        ids: Ids = new_id,
        write: Write = put,
        durability: Durability = "line",
    ) -> None:
        self.path = path
        self.envelope = envelope
        self.leaf = leaf
        self.new_id = ids
        self._last = last
        self._clock = clock
        self._write = write
        self._durability = durability
        self._held: list[tuple[list[Json], bool]] | None = None  # lines that wait for the answer to the prompt
        self._turn = threading.Lock()  # tools may report a change from a thread
        self._progress = 0

    def child(self, path: Path, agent_id: str) -> Journal:
        """The journal of an agent of this conversation, written the same way."""
        return Journal(
            path,
            replace(self.envelope, agent_id=agent_id),
            clock=self._clock,
            ids=self.new_id,
            write=self._write,
            durability=self._durability,
        )

    @property
    def is_agent(self) -> bool:
        return bool(self.envelope.agent_id)

    @property
    def is_kept(self) -> bool:
        return self._write is not forget

    def time(self) -> str:
        """A time that no line has yet."""
        at = self._clock()
        if self._last is not None and at < self._last + _TICK:
            at = self._last + _TICK
        self._last = at.replace(microsecond=at.microsecond // 1000 * 1000)
        return format_timestamp(self._last)

    def move(self, cwd: str, branch: str) -> None:
        """From here on in another folder."""
        self.envelope = replace(self.envelope, cwd=cwd, branch=branch)

    def add(self, body: Json, *, uuid: str = "", is_safe: bool = False) -> str:
        """A line of the chain; its uuid. What is to be safe is on the disk when this returns."""
        with self._turn:
            made = uuid or self.new_id()
            line = self.envelope.chained(body, made, self.leaf, self.time())
            self._put([line], is_safe and self._durability == "line")
            self.leaf = made
        return made

    def hold(self) -> None:
        """Keep lines back until `release`: a process that ends before leaves the file as it was."""
        with self._turn:
            self._held = [] if self._held is None else self._held

    def release(self) -> None:
        """Write what was kept back, and from now on at once."""
        with self._turn:
            held, self._held = self._held, None
            for lines, is_safe in held or ():
                self._put(lines, is_safe)

    def _put(self, lines: list[Json], is_safe: bool) -> None:
        if self._held is None:
            self._write(self.path, lines, is_safe)
        else:
            self._held.append((lines, is_safe))

    def add_cut(self, boundary: Json, summary: Json, *beside: Callable[[str], Json]) -> str:
        """A compaction, in one write: no reader may find the boundary without the summary. The uuid of the boundary.

        `beside` are lines outside of the chain, made from the uuid of the summary.
        """
        with self._turn:
            cut, leaf = self.new_id(), self.new_id()
            lines = [
                self.envelope.chained(boundary, cut, None, self.time()),
                self.envelope.chained(summary, leaf, cut, self.time()),
                *(make(leaf) for make in beside),
            ]
            self._put(lines, self._durability != "off")
            self.leaf = leaf
        return cut

    def progress(self, data: Json, call_id: str) -> None:
        """How a call is getting on: a line that nothing hangs below."""
        with self._turn:
            kind = str(data.get("type", "")).removesuffix("_progress") or "call"
            kind = _PROGRESS_NAMES.get(kind, kind)
            body = journal_lines.progress(data, f"{kind}-progress-{self._progress}", call_id)
            self._progress += 1
            line = self.envelope.chained(body, self.new_id(), self.leaf, self.time())
            self._put([line], False)

    def beside(self, *lines: Json, is_safe: bool = False) -> None:
        """Lines that are no part of the chain."""
        with self._turn:
            for line in lines:
                self._put([line], is_safe and self._durability != "off")


class Replying:
    """Writes a reply while it comes: one line for each block, held back by one, so that the last line can tell why the
    reply stopped and what it took."""

    def __init__(self, journal: Journal, message: Json, request_id: str = "") -> None:
        self._journal = journal
        self._message = message
        self._request_id = request_id
        self._held: tuple[str, Json] | None = None
        self._is_aborted = False  # the held block was cut off by an interrupt
        self.lines: list[tuple[str, Json]] = []  # the uuid of each block's line

    def take(self, block: Json, is_aborted: bool = False) -> str:
        """Hold a block and write the one before it. Returns the uuid that the block's line will have."""
        self._put(None, self._message.get("usage"))
        self._held = (self._journal.new_id(), block)
        self._is_aborted = is_aborted
        self.lines.append(self._held)
        return self._held[0]

    def finish(self, reply: ApiReply) -> None:
        """The reply is whole, or will never be: then its stop reason is None."""
        self._message = {**self._message, **reply.data}
        self._request_id = self._request_id or reply.request_id
        self._put(reply.stop_reason, reply.usage)

    def _put(self, stop: str | None, usage: object) -> None:
        if self._held is not None:
            uuid, block = self._held
            self._held = None
            line = journal_lines.said(self._message, block, self._request_id, stop, usage)
            self._journal.add(line | ({"isAbortedMidStream": True} if self._is_aborted else {}), uuid=uuid)
