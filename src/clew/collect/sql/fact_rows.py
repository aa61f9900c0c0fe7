"""Build the fact rows of a file from its session and what its lines add up to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apsw

from clew.collect.identity import Owner
from clew.collect.sinks.outbox import DELIVERABLE
from clew.collect.sql.call_facts import OF_SKILL, GitEvent, agent_type, attribution, is_refused, skill_name
from clew.collect.sql.fact_tables import Value
from clew.collect.sql.line_totals import LineTotals
from clew.collect.sql.sql_values import (
    sql_integer,
    sql_name,
    sql_text,
    sql_times,
    sql_times_and_week,
    sql_week,
)
from clew.conversation.replies import Call, Reply
from clew.conversation.reply_ids import reply_key
from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.facts.file_changes import changed_path, count_lines
from clew.facts.prices import Prices, priced
from clew.facts.token_usage import SYNTHETIC, Count, Spend
from clew.facts.tool_catalog import subject
from clew.wire.timestamps import parse_timestamp

Row = tuple[Value, ...]
_MAX_ERROR = 2000  # characters of the error of a failed call

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


def owner_columns(host: str, owner: Owner, file: ChangedFile) -> Row:
    """Return the first columns of every row of a file."""
    return (
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


class RowBuilder:
    """Builds rows of a file. `turn_of` has the turn of each entry on the active path by its uuid, all others belong to
    turn 0; `commands` has the slash command of each turn that is one.
    """

    def __init__(
        self,
        owner: Row,
        prices: Prices,
        session: Session,
        totals: LineTotals,
        turn_of: dict[str, int],
        commands: dict[int, str],
    ) -> None:
        self.owner = owner
        self.prices = prices
        self.session = session
        self.totals = totals
        self.turn_of = turn_of
        self.commands = commands

    def file_row(self, file: ChangedFile, lines: int) -> Row:
        session, totals = self.session, self.totals
        started, ended = sql_times(totals.started), sql_times(totals.ended)
        return (
            *self.owner,
            file.seq,
            sql_text(session.title),
            sql_text(totals.cwd),
            sql_text(totals.branch_name),
            sql_text(next(reversed(totals.versions), "")),
            *started[:2],
            *ended[:2],
            started[2],
            sql_week(started[2]),
            lines,
            file.size,
            totals.damaged,
            totals.compactions,
            len(session.branches),
            len(totals.openings),
            sql_text(totals.slug),
            sql_name(totals.agent_type if file.agent else ""),
        )

    def turn_rows(self, turns: Iterable[Turn]) -> Iterator[Row]:
        for turn in turns:
            calls = turn.calls
            opening = self.totals.openings.get(turn.prompt.offset)
            features = opening.features if opening else None
            yield (
                *self.owner,
                turn.number,
                *sql_times_and_week(turn.time),
                turn.kind,
                turn.state,
                sql_integer((turn.seconds or 0) * 1000),
                len(turn.replies),
                len(calls),
                sum(call.failed for call in calls),
                sql_text(turn.text),
                opening.number if opening else 0,
                features.kind(opening.pause) if opening and features else "",
                turn.input,
                (features.complexity if features else None) or "",
                self.commands.get(turn.number, ""),
            )

    def reply_rows(self, keys: Iterable[str]) -> Iterator[Row]:
        """Yield the replies among some that have usage or were written by a model."""
        for key in keys:
            spend, entries = self.totals.spent.get(key), self.totals.replies.get(key)
            reply = Reply(key, tuple(entries)) if entries else None
            if reply is not None and reply.model == SYNTHETIC:
                reply = None
            if spend is not None or reply is not None:
                yield self._reply(key, reply, spend or Spend(Count(), "", ""), spend is None)

    def _reply(self, key: str, reply: Reply | None, spend: Spend, is_silent: bool) -> Row:
        count = spend.count
        cost = priced(self.prices, spend)
        first = reply.entries[0] if reply else None
        turn = self.turn_of.get((first.uuid if first else None) or "", 0)
        return (
            *self.owner,
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
            int(spend.is_copy or reply is None or reply.entries[-1].offset < self.totals.copied_before),
            sql_text(reply.text if reply else ""),
            self.commands.get(turn, ""),
            sql_name(attribution(reply.entries, OF_SKILL) if reply else ""),
        )

    def call_rows(self, calls: Iterable[Call]) -> Iterator[Row]:
        totals = self.totals
        for call in calls:
            key = reply_key(call.entry) or ""
            spend = totals.spent.get(key)
            yield (
                *self.owner,
                sql_name(call.id),
                sql_name(key),
                self.turn_of.get(call.entry.uuid or "", 0),
                *sql_times_and_week(call.entry.time),
                *_split_tool_name(call.name),
                sql_text(subject(call.name, call.input, totals.cwd or None)),
                sql_integer((call.seconds or 0) * 1000),
                int(call.is_open),
                int(call.failed),
                sql_text(_error_text(call)),
                len(call.output),
                sql_name(call.agent_id),
                int(bool(spend and spend.is_copy) or call.entry.offset < totals.copied_before),
                *_file_change(call),
                int(is_refused(call)),
                sql_name(agent_type(call)),
                sql_name(skill_name(call)),
            )

    def git_rows(self, events: Iterable[GitEvent]) -> Iterator[Row]:
        for event in events:
            yield (
                *self.owner,
                sql_name(event.name),
                event.kind,
                self.turn_of.get(event.entry.uuid or "", 0),
                *sql_times_and_week(event.entry.time),
                sql_name(event.call),
                sql_text(event.repository),
                sql_text(event.branch),
                sql_text(event.message),
                int(event.entry.offset < self.totals.copied_before),
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
