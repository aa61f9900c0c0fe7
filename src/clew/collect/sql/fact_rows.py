"""Facts: the rows of one file, from its lines in the archive, by the same reading that every command has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

import apsw

from clew.collect.masking import Policy
from clew.collect.sinks.outbox import DELIVERABLE
from clew.collect.sinks.record import COLUMNS, read_records
from clew.collect.sql.fact_tables import CALL, FILE, REPLY, TURN, FileFacts, Value
from clew.conversation.replies import Call, Reply
from clew.conversation.reply_ids import reply_key
from clew.conversation.session import Session
from clew.facts.prices import Prices, priced
from clew.facts.token_usage import SYNTHETIC, Count, Spend, usage
from clew.facts.tool_catalog import subject
from clew.wire.bulk_scan import scan
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.timestamps import format_timestamp, parse_timestamp
from clew.wire.usage_fields import USAGE_KEY, Billed

_LONGEST_NAME = 200  # letters of what names a row; a key of PostgreSQL holds 2,704 bytes
_LONGEST_ERROR = 2000  # letters of what a failed call was told
_LARGEST = 10**15
_NO_TIME = ("", 0, "")
_UNFIT = re.compile("[\0\ud800-\udfff]")

_CHANGED = f"""
SELECT f.id, g.id, f.path, f.project, f.session, f.agent, max(o.seq) AS last, g.offset
FROM occurrence o JOIN generation g ON g.id = o.generation JOIN file f ON f.generation = g.id
WHERE o.seq > ? AND f.kind IN ('session', 'agent') AND {DELIVERABLE} GROUP BY g.id ORDER BY last
"""


class Changed(NamedTuple):
    """A session or agent with lines that are new since a turn in the archive; `seq` is that of the last."""

    file: int
    generation: int
    path: str
    project: str
    session: str
    agent: str
    seq: int
    size: int


def changed_since(connection: apsw.Connection, seq: int) -> list[Changed]:
    """The files whose facts are older than their lines, as they are now, in the order of their last lines."""
    return [Changed(*row) for row in connection.execute(_CHANGED, (seq,))]


def facts_of(connection: apsw.Connection, host: str, file: Changed, policy: Policy, prices: Prices) -> FileFacts:
    """The rows of a file. Secrets are masked in its lines, so that nothing made of them holds any."""
    query = f"SELECT {COLUMNS} WHERE o.generation = ? ORDER BY o.offset"
    rows = connection.execute(query, (file.generation,))
    lines = [line.raw or b"" for line in read_records(host, rows, policy)]
    return _Maker(host, file, b"".join(line + b"\n" for line in lines), prices).facts(len(lines))


def text(value: str | None) -> str:
    """A text that every engine can hold: NUL becomes its picture, half a surrogate pair the sign for what is lost."""
    if not value:
        return ""
    return _UNFIT.sub(lambda found: "\u2400" if found[0] == "\0" else "\ufffd", value)


def name(value: str | None) -> str:
    """A text that names a row; one too long for an index becomes its hash."""
    found = text(value)
    return found if len(found) <= _LONGEST_NAME else f"sha256:{sha256(found.encode()).hexdigest()}"


def times(moment: datetime | None) -> tuple[str, int, str]:
    """A time as a text, in milliseconds, and its day."""
    try:
        written = format_timestamp(moment) if moment else ""
    except OverflowError:  # a year that its zone puts before the first or behind the last
        written = ""
    return (written, round(moment.timestamp() * 1000), written[:10]) if moment and written else _NO_TIME


def whole(value: float | None) -> int:
    """A number that every engine can hold and add up; files may be written by anybody."""
    if not value or value != value:
        return 0
    return round(max(-_LARGEST, min(_LARGEST, value)))


class _Maker:
    def __init__(self, host: str, file: Changed, data: bytes, prices: Prices) -> None:
        self.host = host
        self.file = file
        self.data = data
        self.prices = prices
        self.session = Session(data)
        self.place = (host, file.file, text(file.path), text(file.project), name(file.session), name(file.agent))

    def facts(self, lines: int) -> FileFacts:
        rows = {
            FILE.name: [self._file(lines)],
            TURN.name: list(self._turns()),
            REPLY.name: list(self._replies()),
            CALL.name: list(self._calls()),
        }
        return FileFacts(self.host, self.file.file, self.file.seq, rows)

    @cached_property
    def _spent(self) -> dict[str, Spend]:
        billed = (entry for piece in scan(self.data, shape=Billed, holding=USAGE_KEY) for entry in piece.spoken)
        return dict(usage(billed).own)

    @cached_property
    def _turn_of(self) -> dict[str, int]:
        """The turn of each entry on the active path; what is on no path that was kept is in turn 0."""
        return {e.uuid: turn.number for turn in self.session.turns for e in turn.entries if e.uuid}

    @cached_property
    def _copied(self) -> int:
        """The offset before which every line was copied from another session, by an edit of clew; 0 in the original."""
        origins = [entry for entry in self.session.entries if entry.type == ORIGIN_TYPE]
        return max((e.offset for e in origins if e.data.get("source") and not e.data.get("foreign")), default=0)

    def _file(self, lines: int) -> tuple[Value, ...]:
        session = self.session
        started, ended = times(session.started), times(session.ended)
        return (
            *self.place,
            self.file.seq,
            text(session.title),
            text(session.cwd),
            text(session.branch_name),
            text(next(reversed(session.versions), "")),
            *started[:2],
            *ended[:2],
            started[2],
            lines,
            self.file.size,
            len(session.damage),
            len(session.compactions),
            len(session.branches),
            len(session.rounds),
            text(session.slug),
        )

    def _turns(self) -> Iterator[tuple[Value, ...]]:
        for turn in self.session.turns:
            calls = turn.calls
            yield (
                *self.place,
                turn.number,
                *times(turn.time),
                turn.kind,
                turn.state,
                whole((turn.seconds or 0) * 1000),
                len(turn.replies),
                len(calls),
                sum(call.failed for call in calls),
                text(turn.text),
                turn.round.number if turn.round else 0,
                turn.round.kind if turn.round else "",
                turn.input,
                (turn.round.complexity if turn.round else None) or "",
            )

    def _replies(self) -> Iterator[tuple[Value, ...]]:
        """Every reply that tells its usage, also those of agents that the session only repeats."""
        written = {reply.id: reply for reply in self.session.replies if reply.model != SYNTHETIC}
        for key in {**self._spent, **written}:
            spend = self._spent.get(key)
            yield self._reply(key, written.get(key), spend or Spend(Count(), "", ""), spend is None)

    def _reply(self, key: str, reply: Reply | None, spend: Spend, is_silent: bool) -> tuple[Value, ...]:
        count = spend.count
        cost = priced(self.prices, spend)
        first = reply.entries[0] if reply else None
        return (
            *self.place,
            name(key),
            self._turn_of.get((first.uuid if first else None) or "", 0),
            *times(parse_timestamp(spend.timestamp) or (reply.time if reply else None)),
            text(spend.model or (reply.model if reply else "")),
            text(reply.stop_reason if reply else ""),
            whole(count.input),
            whole(count.output),
            whole(count.cache_write_5m),
            whole(count.cache_write_1h),
            whole(count.cache_read),
            whole(count.web_searches),
            whole(count.web_fetches),
            None if is_silent or cost is None else whole(cost),
            len(spend.calls),
            int(spend.is_final and not is_silent),
            int(spend.is_copy or reply is None or reply.entries[-1].offset < self._copied),
            text(reply.text if reply else ""),
        )

    def _calls(self) -> Iterator[tuple[Value, ...]]:
        for call in self.session.calls:
            key = reply_key(call.entry) or ""
            spend = self._spent.get(key)
            yield (
                *self.place,
                name(call.id),
                name(key),
                self._turn_of.get(call.entry.uuid or "", 0),
                *times(call.entry.time),
                *_tool(call.name),
                text(subject(call.name, call.input, self.session.cwd)),
                whole((call.seconds or 0) * 1000),
                int(call.is_open),
                int(call.failed),
                text(_error(call)),
                len(call.output),
                name(call.agent_id),
                int(bool(spend and spend.is_copy) or call.entry.offset < self._copied),
            )


def _tool(called: str) -> tuple[str, str]:
    """The name of a tool, and of the MCP server that has it."""
    server, mark, tool = called.removeprefix("mcp__").partition("__") if called.startswith("mcp__") else ("", "", "")
    return (text(tool), text(server)) if mark else (text(called), "")


def _error(call: Call) -> str:
    return call.output[:_LONGEST_ERROR] if call.failed else ""
