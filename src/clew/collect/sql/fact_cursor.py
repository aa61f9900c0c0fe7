"""Find the files with new lines whose facts a sink has not received."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import apsw

from clew.collect.masking import Policy
from clew.collect.sinks.outbox import SequenceCursor
from clew.collect.sql.fact_rows import changed_since
from clew.collect.sql.fact_tables import FileFacts
from clew.collect.sql.open_files import OpenFiles
from clew.facts.prices import Prices

_REST_FACTOR = 20  # pause per file, as a multiple of the time to build its facts: a growing session costs 5 % of a core


class FactCursor:
    """Yields each file whose lines are newer than its facts, one at a time. The cursor waits before a resting file."""

    def __init__(
        self, connection: apsw.Connection, sink: str, prices: Prices, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.connection = connection
        self.place = SequenceCursor(connection, sink)
        self.open_files = OpenFiles(connection, prices)
        self.clock = clock
        self._accepted: dict[int, int] = {}
        self._rests_until: dict[int, float] = {}
        self._is_held = False
        self._last = 0

    def batches(self, policy: Policy) -> Iterator[list[FileFacts]]:
        host = str(self.connection.execute("SELECT value FROM about WHERE name = 'host'").get)
        last = int(self.connection.execute("SELECT max(seq) FROM occurrence").get or 0)
        self._is_held = False
        self.open_files.close_resting(self.clock())
        if self.place.position < self._last:  # everything is sent again
            self._accepted.clear()
        self._last = self.place.position
        for file in changed_since(self.connection, self.place.position):
            if self._accepted.get(file.file) == file.seq:
                continue
            began = self.clock()
            if began < self._rests_until.get(file.file, began):
                self._is_held = True
                continue
            facts = self.open_files.build(host, file, policy, began)
            self._rests_until[file.file] = began + _REST_FACTOR * (self.clock() - began)
            yield [facts]
        if not self._is_held:
            self._move(last)

    def accept(self, batch: Sequence[FileFacts]) -> None:
        for facts in batch:
            self._accepted[facts.file] = facts.seq
        if not self._is_held:
            self._move(batch[-1].seq)

    def _move(self, seq: int) -> None:
        self.place.move(seq)
        self._last = self.place.position
