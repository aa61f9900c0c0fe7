"""Build the facts of files, and keep the files open that grow: their next facts cost what was added.

When lines are added at the end of the active path, `session_growth` keeps the turns before, and only rows from there on
can differ from those that were built before:

    lines    ─────────────────────────── X ──────── end then ──── end now
    rows     the same                    │ built again

Everything is built again if the session is no extension of the one before (a fork, a compaction, a late result), or
if a new line changes a value in all rows, such as the first line that names a folder.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import apsw

from clew.collect.identity import read_owner
from clew.collect.masking import Policy
from clew.collect.sinks.record import COLUMNS, DAMAGED, read_records
from clew.collect.sql.call_facts import GitEvent, git_events, linked_pull_requests
from clew.collect.sql.fact_changes import ROW_TABLES, row_keys
from clew.collect.sql.fact_rows import ChangedFile, Row, RowBuilder, owner_columns
from clew.collect.sql.fact_tables import CALL, FILE, GIT, REPLY, TURN, Continuation, FileFacts, RowKey
from clew.collect.sql.line_totals import LineTotals, spent_in
from clew.collect.sql.sql_values import sql_name
from clew.conversation.replies import Call
from clew.conversation.reply_ids import reply_key
from clew.conversation.session import Session
from clew.conversation.session_growth import MARGIN, extend_session, turns_after
from clew.conversation.turns import Turn
from clew.facts.prices import Prices
from clew.wire.entry import SHORT_LINE, Item, read_piece

MAX_OPEN = 8  # open files
MAX_BYTES = 64 << 20  # bytes of their lines; an open file needs about 2.5 times as much
MAX_REST = 600.0  # seconds after which a file that did not grow is closed
_LINES = f"SELECT {COLUMNS} WHERE o.generation = ? AND o.offset >= ? ORDER BY o.offset"


class _Part(NamedTuple):
    """The rows that can differ from those that were built before: of lines from `offset` on, of the turns after `turn`,
    of these replies and of these calls.
    """

    offset: int
    turn: int
    replies: Iterable[str]
    calls: tuple[Call, ...]


class _Built(NamedTuple):
    """The facts that were built last: up to which line, on which basis, and which rows were among them."""

    seq: int
    basis: tuple[object, ...]
    keys: list[RowKey]


class OpenFile:
    """A file of the archive, as far as it was read."""

    def __init__(self, owner: Row, file: ChangedFile, prices: Prices, margin: int = MARGIN) -> None:
        self.owner = owner
        self.generation = file.generation
        self.prices = prices
        self.size = 0  # bytes of the lines
        self._host = str(owner[0])
        self._margin = margin
        self._end = self._lines = 0  # the offset after the last line in the file, and the number of lines
        self._damaged: list[int] = []
        self._session = Session(())
        self._totals = LineTotals(False)
        self._turn_of: dict[str, int] = {}
        self._commands: dict[int, str] = {}
        self._events: list[GitEvent] = []  # of calls
        self._built: _Built | None = None

    def read(self, connection: apsw.Connection, policy: Policy) -> None:
        """Read the lines that were added. Secrets are masked in them first, so that no derived value contains any."""
        lines: list[bytes] = []
        rows = connection.execute(_LINES, (self.generation, self._end))
        for record in read_records(connection, self._host, rows, policy):
            lines.append(record.raw or b"")
            self._end = record.end
            if record.withheld == DAMAGED:
                self._damaged.append(record.line)
        self.add(lines)

    def build(self, file: ChangedFile) -> FileFacts:
        """Return the facts of the lines that were read; if possible only those that can have changed."""
        before, part = self._built, self._find_part(file)
        if before is None or part is None:
            facts = self.build_all(file)
        else:
            facts = self._facts(file, part)
            replaced = _select_keys(before.keys, part)
            facts = facts._replace(continues=Continuation(before.seq, replaced, partial(self.build_all, file)))
        self._built = _Built(file.seq, self._totals.basis, list(row_keys(facts.rows)))
        return facts

    def build_all(self, file: ChangedFile) -> FileFacts:
        """Return all facts of the lines that were read."""
        replies = {**self._totals.spent, **self._totals.replies}
        return self._facts(file, _Part(0, 0, replies, self._session.calls))

    def close(self) -> None:
        """Free the session: it and its turns refer to each other, and would stay until garbage is collected."""
        vars(self._session).clear()

    # -- lines

    def add(self, lines: Sequence[bytes]) -> None:
        """Add lines, which are masked and without newlines."""
        if lines:
            self._lines += len(lines)
            self._add(b"".join(line + b"\n" for line in lines))

    def _add(self, data: bytes) -> None:
        before = self._session
        items = before.items
        last = items[-1].line if items else None
        fresh = read_piece(data, last.end, last.number + last.count) if last else ()
        self.size += len(data)
        if last is None or any(
            item.line.size <= SHORT_LINE for item in fresh
        ):  # which a run of short lines may contain
            self._add_all(b"".join(item.raw for item in items) + data)
        else:
            self._session = extend_session(before, fresh, self._margin)
            if self._session.is_agent != self._totals.is_agent:
                self._total_all()
            else:
                self._totals.add(data, fresh)
            self._number_turns(before)
        vars(before).clear()

    def _add_all(self, data: bytes) -> None:
        self._session = Session(data)
        self._total_all(data)
        self._number_turns()

    def _total_all(self, data: bytes | None = None) -> None:
        items = self._session.items
        self._totals = LineTotals(self._session.is_agent)
        self._totals.add(b"".join(item.raw for item in items) if data is None else data, items)

    def _number_turns(self, before: Session | None = None) -> None:
        """Note the turn of each entry, and which turns are commands; of an extended session from where it differs."""
        same = self._session.unchanged_turns
        if before is None or not self._session.unchanged_entries:
            self._turn_of, self._commands, same = {}, {}, 0
        else:
            for turn in turns_after(before, same):
                self._commands.pop(turn.number, None)
                for entry in turn.entries:
                    self._turn_of.pop(entry.uuid or "", None)
        for turn in turns_after(self._session, same):
            self._turn_of.update((entry.uuid, turn.number) for entry in turn.entries if entry.uuid)
            if command := _command(turn):
                self._commands[turn.number] = command

    # -- rows

    def _find_part(self, file: ChangedFile) -> _Part | None:
        """Return which rows can differ from those that were built before; None if all can."""
        session, totals, before = self._session, self._totals, self._built
        if (
            before is None
            or before.seq >= file.seq
            or before.basis != totals.basis
            or not totals.has_plain_names
            or not session.unchanged_entries
        ):
            return None
        offset = session.entries[session.unchanged_entries].offset
        tail = session.items[bisect_left(session.items, offset + 1, key=_item_end) :]
        replies = set(spent_in(b"".join(item.raw for item in tail)))
        for index in range(session.unchanged_entries, len(session.entries)):
            entry = session.entries[index]
            if entry.type == "assistant":
                replies.add(reply_key(entry) or f"#{index}")
        if any(totals.replies[key][0].offset < offset for key in replies if key in totals.replies):
            return None  # calls of these replies are before X
        calls = session.calls
        return _Part(offset, session.unchanged_turns, replies, calls[bisect_left(calls, offset, key=_call_offset) :])

    def _facts(self, file: ChangedFile, part: _Part) -> FileFacts:
        builder = RowBuilder(self.owner, self.prices, self._session, self._totals, self._turn_of, self._commands)
        known = (event for event in self._events if event.entry.offset < part.offset)
        self._events = [*known, *git_events(part.calls)]
        events = [*linked_pull_requests(self._totals.pull_requests), *self._events]
        rows = {
            FILE.name: [builder.file_row(file, self._lines)],
            TURN.name: list(builder.turn_rows(turns_after(self._session, part.turn))),
            REPLY.name: list(builder.reply_rows(part.replies)),
            CALL.name: list(builder.call_rows(part.calls)),
            GIT.name: list(builder.git_rows(events)),
        }
        return FileFacts(self._host, file.file, file.seq, rows, tuple(self._damaged))


class OpenFiles:
    """The files that grew last, as far as they were read; they are closed when there are too many, or after a rest."""

    def __init__(self, connection: apsw.Connection, prices: Prices) -> None:
        self.connection = connection
        self.prices = prices
        self._files: OrderedDict[tuple[object, ...], tuple[OpenFile, float]] = OrderedDict()

    def build(self, host: str, file: ChangedFile, policy: Policy, now: float) -> FileFacts:
        """Return the facts of a file; of one that grew only what can have changed since this was called before."""
        owner, repairs = read_owner(self.connection), read_repairs(self.connection)
        name = (host, owner, repairs, policy, file[:-2])  # while all of this is the same, lines are only added
        if name in self._files:
            opened, _ = self._files.pop(name)
        else:
            opened = OpenFile(owner_columns(host, owner, file), file, self.prices)
        opened.read(self.connection, policy)
        facts = opened.build(file)
        self._files[name] = opened, now
        while len(self._files) > MAX_OPEN or (len(self._files) > 1 and self._size > MAX_BYTES):
            self._close_oldest()
        return facts

    def close_resting(self, now: float) -> None:
        """Close the files that did not grow for some time."""
        while self._files and now - next(iter(self._files.values()))[1] > MAX_REST:
            self._close_oldest()

    def _close_oldest(self) -> None:
        _, (opened, _) = self._files.popitem(last=False)
        opened.close()

    @property
    def _size(self) -> int:
        return sum(opened.size for opened, _ in self._files.values())


def build_facts(connection: apsw.Connection, host: str, file: ChangedFile, policy: Policy, prices: Prices) -> FileFacts:
    """Build all rows of a file."""
    opened = OpenFile(owner_columns(host, read_owner(connection), file), file, prices)
    opened.read(connection, policy)
    facts = opened.build_all(file)
    opened.close()
    return facts


def read_repairs(connection: apsw.Connection) -> str:
    """Return a number that changes whenever earlier lines of the archive do: after a repair or an erasure."""
    return str(connection.execute("SELECT value FROM about WHERE name = 'repairs'").get)


def _select_keys(keys: Iterable[RowKey], part: _Part) -> frozenset[RowKey]:
    """Return the rows among those that were built before that are built again, or do not exist any more."""
    replies, calls = set(part.replies), {call.id for call in part.calls}

    def is_replaced(key: RowKey) -> bool:
        number, name, _ = key
        table = ROW_TABLES[number]
        if table is TURN:
            return isinstance(name, int) and name > part.turn
        if table is GIT:  # there are few commits and pull requests: all are built again
            return True
        return name in (replies if table is REPLY else calls)

    return frozenset(filter(is_replaced, keys))


def _command(turn: Turn) -> str:
    """Return the slash command of a turn; empty if it is none."""
    words = turn.text.split(maxsplit=1) if turn.kind == "command" else []
    return sql_name(words[0]) if words else ""


def _item_end(item: Item) -> int:
    return item.line.end


def _call_offset(call: Call) -> int:
    return call.entry.offset
