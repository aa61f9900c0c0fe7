"""Build the fact rows of one file from its archived lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

import apsw

from clew.collect.identity import Owner, read_owner
from clew.collect.masking import Policy
from clew.collect.sinks.outbox import DELIVERABLE
from clew.collect.sinks.record import COLUMNS, DAMAGED, read_records
from clew.collect.sql.call_facts import agent_type, attribution, git_events, is_refused, skill_name
from clew.collect.sql.fact_tables import CALL, FILE, GIT, REPLY, TURN, FileFacts, Value
from clew.conversation.replies import Call, Reply
from clew.conversation.reply_ids import reply_key
from clew.conversation.session import Session
from clew.facts.file_changes import changed_path, count_lines
from clew.facts.prices import Prices, priced
from clew.facts.token_usage import SYNTHETIC, Count, Spend, usage
from clew.facts.tool_catalog import subject
from clew.wire.bulk_scan import scan
from clew.wire.entry import Entry
from clew.wire.entry_types import ORIGIN_TYPE
from clew.wire.timestamps import format_timestamp, parse_timestamp
from clew.wire.usage_fields import USAGE_KEY, Billed

_MAX_NAME = 200  # characters of a key column; a PostgreSQL index entry has at most 2,704 bytes
_MAX_ERROR = 2000  # characters of the error of a failed call
_MAX_NUMBER = 10**15
_NO_TIME = ("", 0, "")
_OF_AGENT, _OF_SKILL = "attributionAgent", "attributionSkill"
_UNSUPPORTED = re.compile("[\0\ud800-\udfff]")

_CHANGED_FILES = f"""
SELECT f.id, g.id, f.path, f.project, f.session, f.agent, max(o.seq) AS last, g.offset
FROM occurrence o JOIN generation g ON g.id = o.generation JOIN file f ON f.generation = g.id
WHERE o.seq > ? AND f.kind IN ('session', 'agent') AND {DELIVERABLE} GROUP BY g.id ORDER BY last
"""


class ChangedFile(NamedTuple):
    """A session or agent with new lines; `seq` is the number of the last one."""

    file: int
    generation: int
    path: str
    project: str
    session: str
    agent: str
    seq: int
    size: int


def changed_since(connection: apsw.Connection, seq: int) -> list[ChangedFile]:
    """Return the files with lines after a sequence number, in the order of their last lines."""
    return [ChangedFile(*row) for row in connection.execute(_CHANGED_FILES, (seq,))]


def build_facts(connection: apsw.Connection, host: str, file: ChangedFile, policy: Policy, prices: Prices) -> FileFacts:
    """Build the rows of a file. Secrets are masked in its lines first, so that no derived value contains any."""
    query = f"SELECT {COLUMNS} WHERE o.generation = ? ORDER BY o.offset"
    rows = connection.execute(query, (file.generation,))
    lines: list[bytes] = []
    damaged: list[int] = []
    for record in read_records(connection, host, rows, policy):
        lines.append(record.raw or b"")
        if record.withheld == DAMAGED:
            damaged.append(record.line)
    data = b"".join(line + b"\n" for line in lines)
    builder = _FactBuilder(host, read_owner(connection), file, data, prices)
    facts = builder.facts(len(lines))
    vars(builder.session).clear()  # it and its turns refer to each other, and would stay until garbage is collected
    return facts._replace(damaged=tuple(damaged))


def sql_text(value: str | None) -> str:
    """Return a text that every engine can store: NUL becomes its symbol, an unpaired surrogate the replacement
    character.
    """
    if not value:
        return ""
    return _UNSUPPORTED.sub(lambda found: "\u2400" if found[0] == "\0" else "\ufffd", value)


def sql_name(value: str | None) -> str:
    """Return a text for a key column; one that is too long for an index becomes its hash."""
    cleaned = sql_text(value)
    return cleaned if len(cleaned) <= _MAX_NAME else f"sha256:{sha256(cleaned.encode()).hexdigest()}"


def sql_times(moment: datetime | None) -> tuple[str, int, str]:
    """Return a time as text, in milliseconds, and its day."""
    try:
        written = format_timestamp(moment) if moment else ""
    except OverflowError:  # its time zone moves it out of the years 1 to 9999
        written = ""
    return (written, round(moment.timestamp() * 1000), written[:10]) if moment and written else _NO_TIME


def sql_week(day: str) -> str:
    """Return the ISO week of a day: `2026-W47` for `2026-11-16`; empty without a day."""
    if not day:
        return ""
    year, week, _ = date.fromisoformat(day).isocalendar()
    return f"{year:04}-W{week:02}"


def sql_times_and_week(moment: datetime | None) -> tuple[str, int, str, str]:
    """Return a time as text, in milliseconds, its day, and its week."""
    times = sql_times(moment)
    return *times, sql_week(times[2])


def sql_integer(value: float | None) -> int:
    """Return a number that every engine can store and sum; files may contain any value."""
    if not value or value != value:
        return 0
    return round(max(-_MAX_NUMBER, min(_MAX_NUMBER, value)))


class _FactBuilder:
    def __init__(self, host: str, owner: Owner, file: ChangedFile, data: bytes, prices: Prices) -> None:
        self.host = host
        self.file = file
        self.data = data
        self.prices = prices
        self.session = Session(data)
        self.place = (
            host,
            file.file,
            sql_text(file.path),
            sql_text(file.project),
            sql_name(file.session),
            sql_name(file.agent),
            sql_text(owner.developer),
            sql_text(owner.machine),
            sql_text(owner.team),
        )

    def facts(self, lines: int) -> FileFacts:
        rows = {
            FILE.name: [self._file_row(lines)],
            TURN.name: list(self._turn_rows()),
            REPLY.name: list(self._reply_rows()),
            CALL.name: list(self._call_rows()),
            GIT.name: list(self._git_rows()),
        }
        return FileFacts(self.host, self.file.file, self.file.seq, rows)

    @cached_property
    def _spent(self) -> dict[str, Spend]:
        billed = (entry for piece in scan(self.data, shape=Billed, holding=USAGE_KEY) for entry in piece.spoken)
        return dict(usage(billed).own)

    @cached_property
    def _turn_of(self) -> dict[str, int]:
        """The turn of each entry on the active path; all others belong to turn 0."""
        return {e.uuid: turn.number for turn in self.session.turns for e in turn.entries if e.uuid}

    @cached_property
    def _commands(self) -> dict[int, str]:
        """The slash command of each turn that is one."""
        commands = {turn.number: turn.text.split(maxsplit=1) for turn in self.session.turns if turn.kind == "command"}
        return {number: sql_name(words[0]) for number, words in commands.items() if words}

    @cached_property
    def _attributed(self) -> frozenset[str]:
        """The fields for attributions that occur in the file: most files have none."""
        return frozenset(field for field in (_OF_AGENT, _OF_SKILL) if field.encode() in self.data)

    def _attribution(self, entries: tuple[Entry, ...], field: str) -> str:
        return attribution(entries, field) if field in self._attributed else ""

    @cached_property
    def _copied_before(self) -> int:
        """The offset before which every line was copied from another session by an edit of clew; 0 in an original."""
        origins = [entry for entry in self.session.entries if entry.type == ORIGIN_TYPE]
        return max((e.offset for e in origins if e.data.get("source") and not e.data.get("foreign")), default=0)

    def _file_row(self, lines: int) -> tuple[Value, ...]:
        session = self.session
        started, ended = sql_times(session.started), sql_times(session.ended)
        return (
            *self.place,
            self.file.seq,
            sql_text(session.title),
            sql_text(session.cwd),
            sql_text(session.branch_name),
            sql_text(next(reversed(session.versions), "")),
            *started[:2],
            *ended[:2],
            started[2],
            sql_week(started[2]),
            lines,
            self.file.size,
            len(session.damage),
            len(session.compactions),
            len(session.branches),
            len(session.rounds),
            sql_text(session.slug),
            sql_name(self._attribution(session.entries, _OF_AGENT) if self.file.agent else ""),
        )

    def _turn_rows(self) -> Iterator[tuple[Value, ...]]:
        for turn in self.session.turns:
            calls = turn.calls
            yield (
                *self.place,
                turn.number,
                *sql_times_and_week(turn.time),
                turn.kind,
                turn.state,
                sql_integer((turn.seconds or 0) * 1000),
                len(turn.replies),
                len(calls),
                sum(call.failed for call in calls),
                sql_text(turn.text),
                turn.round.number if turn.round else 0,
                turn.round.kind if turn.round else "",
                turn.input,
                (turn.round.complexity if turn.round else None) or "",
                self._commands.get(turn.number, ""),
            )

    def _reply_rows(self) -> Iterator[tuple[Value, ...]]:
        """Yield every reply that has usage, also those of agents that the session only repeats."""
        written = {reply.id: reply for reply in self.session.replies if reply.model != SYNTHETIC}
        for key in {**self._spent, **written}:
            spend = self._spent.get(key)
            yield self._reply(key, written.get(key), spend or Spend(Count(), "", ""), spend is None)

    def _reply(self, key: str, reply: Reply | None, spend: Spend, is_silent: bool) -> tuple[Value, ...]:
        count = spend.count
        cost = priced(self.prices, spend)
        first = reply.entries[0] if reply else None
        turn = self._turn_of.get((first.uuid if first else None) or "", 0)
        return (
            *self.place,
            sql_name(key),
            turn,
            *sql_times_and_week(parse_timestamp(spend.timestamp) or (reply.time if reply else None)),
            sql_text(spend.model or (reply.model if reply else "")),
            sql_text(reply.stop_reason if reply else ""),
            sql_integer(count.input),
            sql_integer(count.output),
            sql_integer(count.cache_write_5m),
            sql_integer(count.cache_write_1h),
            sql_integer(count.cache_read),
            sql_integer(count.web_searches),
            sql_integer(count.web_fetches),
            None if is_silent or cost is None else sql_integer(cost),
            len(spend.calls),
            int(spend.is_final and not is_silent),
            int(spend.is_copy or reply is None or reply.entries[-1].offset < self._copied_before),
            sql_text(reply.text if reply else ""),
            self._commands.get(turn, ""),
            sql_name(self._attribution(reply.entries, _OF_SKILL) if reply else ""),
        )

    def _call_rows(self) -> Iterator[tuple[Value, ...]]:
        for call in self.session.calls:
            key = reply_key(call.entry) or ""
            spend = self._spent.get(key)
            yield (
                *self.place,
                sql_name(call.id),
                sql_name(key),
                self._turn_of.get(call.entry.uuid or "", 0),
                *sql_times_and_week(call.entry.time),
                *_split_tool_name(call.name),
                sql_text(subject(call.name, call.input, self.session.cwd)),
                sql_integer((call.seconds or 0) * 1000),
                int(call.is_open),
                int(call.failed),
                sql_text(_error_text(call)),
                len(call.output),
                sql_name(call.agent_id),
                int(bool(spend and spend.is_copy) or call.entry.offset < self._copied_before),
                *_file_change(call),
                int(is_refused(call)),
                sql_name(agent_type(call)),
                sql_name(skill_name(call)),
            )

    def _git_rows(self) -> Iterator[tuple[Value, ...]]:
        for event in git_events(self.session):
            yield (
                *self.place,
                sql_name(event.name),
                event.kind,
                self._turn_of.get(event.entry.uuid or "", 0),
                *sql_times_and_week(event.entry.time),
                sql_name(event.call),
                sql_text(event.repository),
                sql_text(event.branch),
                sql_text(event.message),
                int(event.entry.offset < self._copied_before),
            )


def _split_tool_name(called: str) -> tuple[str, str]:
    """Return the name of a tool, and of its MCP server."""
    server, mark, tool = called.removeprefix("mcp__").partition("__") if called.startswith("mcp__") else ("", "", "")
    return (sql_text(tool), sql_text(server)) if mark else (sql_text(called), "")


def _file_change(call: Call) -> tuple[str, int, int, int]:
    """Return the file that a call changed, the lines that it added and removed, and whether the user modified it."""
    path = "" if call.failed or call.is_open else changed_path(call)
    if not path:
        return "", 0, 0, 0
    is_modified = isinstance(call.detail, dict) and bool(call.detail.get("userModified"))
    return sql_text(path), *count_lines(call), int(is_modified)


def _error_text(call: Call) -> str:
    return call.output[:_MAX_ERROR] if call.failed else ""
