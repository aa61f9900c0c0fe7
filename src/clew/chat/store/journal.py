"""Append lines to a session file while a conversation runs.

The chain is linear: each line is the child of the previous one. A progress line is a child of the newest line and
has no children, so that old versions, which resume from the newest timestamp, find every line before it. Timestamps
always increase, whatever the clock does.
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


def write_lines(path: Path, lines: Sequence[Json], sync: bool) -> None:
    """Append lines to a file in one write; create the file atomically if it does not exist."""
    if path.exists():
        append(path, lines, sync=sync)
    else:
        create(path, lines, sync=sync)


def discard_lines(path: Path, lines: Sequence[Json], sync: bool) -> None:
    """Write nothing: for a session that is not saved."""


_PROGRESS_NAMES = {"query_update": "search", "search_results_received": "search", "waiting_for_task": "task-output"}


class Journal:
    """Writes one session file. Nothing is created before the first line."""

    def __init__(
        self,
        path: Path,
        envelope: Envelope,
        *,
        leaf: str | None = None,
        last: datetime | None = None,
        clock: Clock = now,
        ids: Ids = new_id,
        write: Write = write_lines,
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
        self._held: list[tuple[list[Json], bool]] | None = None  # held lines, written by `release`
        self._lock = threading.Lock()  # tools may report a change from another thread
        self._progress = 0

    def child(self, path: Path, agent_id: str) -> Journal:
        """Return the journal of a subagent of this conversation, with the same clock, ids and durability."""
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
        return self._write is not discard_lines

    def time(self) -> str:
        """Return a new timestamp, later than that of any line so far."""
        # Timestamps have milliseconds. If the clock stands at or before the last line (10:00:00.005), the next line
        # gets 10:00:00.006.
        moment = self._clock()
        if self._last is not None and moment < self._last + _TICK:
            moment = self._last + _TICK
        self._last = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        return format_timestamp(self._last)

    def move(self, cwd: str, branch: str) -> None:
        """Let later lines state another working directory."""
        self.envelope = replace(self.envelope, cwd=cwd, branch=branch)

    def add(self, body: Json, *, uuid: str = "", is_safe: bool = False) -> str:
        """Append a line to the chain and return its uuid. With `is_safe` it is on disk when this returns."""
        with self._lock:
            line_id = uuid or self.new_id()
            line = self.envelope.chained(body, line_id, self.leaf, self.time())
            self._put([line], is_safe and self._durability == "line")
            self.leaf = line_id
        return line_id

    def hold(self) -> None:
        """Hold lines back until `release`: if the process ends before, the file is unchanged."""
        with self._lock:
            self._held = [] if self._held is None else self._held

    def release(self) -> None:
        """Write the held lines; later lines are written immediately."""
        with self._lock:
            held, self._held = self._held, None
            for lines, is_safe in held or ():
                self._put(lines, is_safe)

    def _put(self, lines: list[Json], is_safe: bool) -> None:
        if self._held is None:
            self._write(self.path, lines, is_safe)
        else:
            self._held.append((lines, is_safe))

    def add_compaction(self, boundary: Json, summary: Json, *beside: Callable[[str], Json]) -> str:
        """Append a compaction in one write, so that no reader finds the boundary without the summary. Return the
        uuid of the boundary.

        `beside` builds lines outside the chain from the uuid of the summary.
        """
        with self._lock:
            boundary_id, leaf = self.new_id(), self.new_id()
            lines = [
                self.envelope.chained(boundary, boundary_id, None, self.time()),
                self.envelope.chained(summary, leaf, boundary_id, self.time()),
                *(make(leaf) for make in beside),
            ]
            self._put(lines, self._durability != "off")
            self.leaf = leaf
        return boundary_id

    def progress(self, data: Json, call_id: str) -> None:
        """Append a progress line of a call; it has no children."""
        with self._lock:
            kind = str(data.get("type", "")).removesuffix("_progress") or "call"
            kind = _PROGRESS_NAMES.get(kind, kind)
            body = journal_lines.progress(data, f"{kind}-progress-{self._progress}", call_id)
            self._progress += 1
            line = self.envelope.chained(body, self.new_id(), self.leaf, self.time())
            self._put([line], False)

    def beside(self, *lines: Json, is_safe: bool = False) -> None:
        """Append lines outside the chain."""
        with self._lock:
            for line in lines:
                self._put([line], is_safe and self._durability != "off")


class ReplyWriter:
    """Writes a reply as it arrives, one line per block. The newest block is held back, so that the last line can
    state the stop reason and the usage.
    """

    def __init__(self, journal: Journal, message: Json, request_id: str = "") -> None:
        self._journal = journal
        self._message = message
        self._request_id = request_id
        self._held: tuple[str, Json] | None = None
        self._is_aborted = False  # the held block was cut off by an interrupt
        self.lines: list[tuple[str, Json]] = []  # the uuid of each block's line

    def take(self, block: Json, is_aborted: bool = False) -> str:
        """Hold a block and write the previous one. Return the uuid of the block's line."""
        # Blocks A, B, C: A is written when B arrives, B when C arrives, and C by `finish` with the stop reason.
        self._put(None, self._message.get("usage"))
        self._held = (self._journal.new_id(), block)
        self._is_aborted = is_aborted
        self.lines.append(self._held)
        return self._held[0]

    def finish(self, reply: ApiReply) -> None:
        """Write the last block. The stop reason is None if the reply is incomplete."""
        self._message = {**self._message, **reply.data}
        self._request_id = self._request_id or reply.request_id
        self._put(reply.stop_reason, reply.usage)

    def _put(self, stop: str | None, usage: object) -> None:
        if self._held is not None:
            uuid, block = self._held
            self._held = None
            line = journal_lines.reply_block(self._message, block, self._request_id, stop, usage)
            self._journal.add(line | ({"isAbortedMidStream": True} if self._is_aborted else {}), uuid=uuid)
