"""Find the spans that a receiver has not been sent.

A span is sent once, when it is final. Files before the cursor that have open spans are remembered individually; when
such a file has not changed for a while, its open spans are sent as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import apsw
import msgspec

from clew.collect.masking import Policy
from clew.collect.sinks.otlp.spans import Span, SpanSource, build_spans
from clew.collect.sinks.outbox import BATCH_ROWS, DELIVERABLE, SequenceCursor
from clew.collect.sinks.record import COLUMNS, read_records
from clew.conversation.session import Session
from clew.facts.prices import Prices
from clew.facts.token_usage import usage
from clew.system.sqlite_file import WriteTransaction
from clew.wire.bulk_scan import scan
from clew.wire.side_files import AgentMeta
from clew.wire.usage_fields import USAGE_KEY, Billed

QUIET_NS = 900 * 10**9  # nanoseconds without a change before open spans are sent
_REST_FACTOR = 20  # pause, as a multiple of the time it took to process a file
_TABLE = """
CREATE TABLE IF NOT EXISTS told(
  sink TEXT NOT NULL, file INTEGER NOT NULL, seq INTEGER NOT NULL, is_open INTEGER NOT NULL, PRIMARY KEY(sink, file)
) STRICT, WITHOUT ROWID
"""
_CHANGED_FILES = f"""
SELECT f.id, g.id, f.project, f.session, f.agent, f.mtime, max(o.seq) AS last
FROM occurrence o JOIN generation g ON g.id = o.generation JOIN file f ON f.generation = g.id
WHERE {{}} AND f.kind IN ('session', 'agent') AND {DELIVERABLE} GROUP BY g.id ORDER BY last
"""
_OF_SESSION = f"SELECT {COLUMNS} WHERE f.generation = g.id AND f.session = ? AND f.kind"


class SentSpan(NamedTuple):
    """A span to send, with its file. `is_last` marks the last waiting span of the file."""

    seq: int
    file: int
    host: str
    project: str
    span: Span
    is_last: bool
    is_open: bool


class _SpanFile(NamedTuple):
    file: int
    generation: int
    project: str
    session: str
    agent: str
    mtime: int
    seq: int


class SpanCursor:
    """Yields each span that became final since the last delivery of its file."""

    def __init__(
        self,
        connection: apsw.Connection,
        sink: str,
        prices: Prices,
        content: bool = False,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.connection = connection
        self.sink = sink
        self.place = SequenceCursor(connection, sink)
        self.prices = prices
        self.content = content
        self.clock = clock
        self._rests_until: dict[int, int] = {}
        connection.execute(_TABLE)

    def batches(self, policy: Policy) -> Iterator[list[SentSpan]]:
        last = int(self.connection.execute("SELECT max(seq) FROM occurrence").get or 0)
        is_complete = True
        for file, since in self._files_to_check():
            began = self.clock()
            if began < self._rests_until.get(file.file, began):
                is_complete = False
                continue
            waiting = self._due_spans(file, since, policy)
            self._rests_until[file.file] = began + _REST_FACTOR * (self.clock() - began)
            yield from (waiting[start : start + BATCH_ROWS] for start in range(0, len(waiting), BATCH_ROWS))
        if is_complete and last > self.place.position:
            with WriteTransaction(self.connection):
                self.place.move(last)
                self.connection.execute("DELETE FROM told WHERE sink = ? AND NOT is_open", (self.sink,))

    def accept(self, batch: Sequence[SentSpan]) -> None:
        if batch[-1].is_last:
            self._note(batch[-1].file, batch[-1].seq, batch[-1].is_open)

    def _note(self, file: int, seq: int, is_open: bool) -> None:
        self.connection.execute("INSERT OR REPLACE INTO told VALUES(?, ?, ?, ?)", (self.sink, file, seq, is_open))

    def _files_to_check(self) -> Iterator[tuple[_SpanFile, int]]:
        """Yield the files to process, each with the last line whose spans were sent."""
        progress = {
            int(file): (int(seq), bool(is_open))
            for file, seq, is_open in self.connection.execute(
                "SELECT file, seq, is_open FROM told WHERE sink = ?", (self.sink,)
            )
        }
        position = self.place.position
        new = {
            row[0]: _SpanFile(*row) for row in self.connection.execute(_CHANGED_FILES.format("o.seq > ?"), (position,))
        }
        for known in progress.keys() - new.keys():
            new |= {
                row[0]: _SpanFile(*row) for row in self.connection.execute(_CHANGED_FILES.format("f.id = ?"), (known,))
            }
        for file in sorted(new.values(), key=lambda each: each.seq):
            since, is_open = progress.get(file.file, (position, False))
            if file.seq > since or (is_open and self._is_quiet(file)):
                yield file, since

    def _is_quiet(self, file: _SpanFile) -> bool:
        return self.clock() - file.mtime > QUIET_NS

    def _due_spans(self, file: _SpanFile, since: int, policy: Policy) -> list[SentSpan]:
        host = str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)
        all_spans = build_spans(self._build_source(host, file, policy), self.prices, self.content)
        is_quiet = self._is_quiet(file)
        is_open = not is_quiet and any(span.final is None for span in all_spans)
        due = [span for span in all_spans if (is_quiet if span.final is None else span.final > since)]
        if not due:
            self._note(file.file, file.seq, is_open)
        return [
            SentSpan(file.seq, file.file, host, file.project, span, number == len(due), is_open)
            for number, span in enumerate(due, 1)
        ]

    def _build_source(self, host: str, file: _SpanFile, policy: Policy) -> SpanSource:
        query = f"SELECT {COLUMNS} WHERE o.generation = ? ORDER BY o.offset"
        lines = list(read_records(self.connection, host, self.connection.execute(query, (file.generation,)), policy))
        data = b"".join((line.raw or b"") + b"\n" for line in lines)
        conversation = Session(data)
        named = file.session or conversation.id
        meta = self._read_agent_meta(host, file.session, file.agent, policy) if file.agent else AgentMeta()
        caller = meta.tool_use_id or (
            self._find_calling_tool_use(host, named, file.agent, policy) if file.agent else ""
        )
        billed = (entry for piece in scan(data, shape=Billed, holding=USAGE_KEY) for entry in piece.spoken)
        return SpanSource(
            named,
            file.agent,
            meta.agent_type or "",
            caller,
            conversation,
            {number: line.seq for number, line in enumerate(lines, 1)},
            dict(usage(billed).own),
        )

    def _read_agent_meta(self, host: str, session: str, agent: str, policy: Policy) -> AgentMeta:
        query = f"{_OF_SESSION} = 'meta' AND f.agent = ?"
        for line in read_records(self.connection, host, self.connection.execute(query, (session, agent)), policy):
            try:
                return msgspec.json.decode(line.raw or b"", type=AgentMeta)
            except msgspec.DecodeError:  # it is incomplete: Claude Code is writing it
                continue
        return AgentMeta()

    def _find_calling_tool_use(self, host: str, session: str, agent: str, policy: Policy) -> str:
        """Return the id of the call whose result names the agent; older versions record it nowhere else."""
        lines: dict[int, list[bytes]] = {}
        query = f"{_OF_SESSION} IN ('session', 'agent') ORDER BY o.offset"
        for line in read_records(self.connection, host, self.connection.execute(query, (session,)), policy):
            lines.setdefault(line.file, []).append(line.raw or b"")
        for of_file in lines.values():
            for call in Session(b"".join(line + b"\n" for line in of_file)).calls:
                if call.agent_id == agent:
                    return call.id
        return ""
