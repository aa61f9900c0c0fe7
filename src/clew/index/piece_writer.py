"""Insert the rows of pieces into a shard, with ids in order of time: of two files, the newer one has the higher ids.

Full-text tables are fastest if rows arrive in order of their ids, and rows are fastest if they are inserted while their
texts are still in the CPU cache. But the newest files are read first. So files are read in windows, the newest window
first and the oldest file of a window first, and each window gets a range of ids below those of the window before.
"""

from __future__ import annotations

from typing import Any

import apsw

from clew.index.collect_forms import FormCollector
from clew.index.index_schema import FIRST_ROW, SPOKEN_FIELDS
from clew.index.query_syntax import SEARCH_FIELDS

# (file, offset, part, field, tool, failed, time, node, round, class, input, text)
PieceRow = tuple[int, int, int, int, int, int, int | None, int, int, int, int, str]
TITLE, INPUT = map(SEARCH_FIELDS.index, ("title", "input"))
_NULLS_BEFORE = [(None,) * field for field in range(len(SPOKEN_FIELDS))]  # the other columns of `said` for a field
_NULLS_AFTER = _NULLS_BEFORE[::-1]
_UNLIMITED = 1 << 62
_BYTES_PER_PIECE = 256  # at least, on average; real files have thousands


class PieceWriter:
    """Collects rows in `rows` and inserts them in the open transaction."""

    def __init__(self, shard: apsw.Connection) -> None:
        self.shard = shard
        self.rows: list[PieceRow] = []
        self.inserted = 0
        self.inputs: dict[tuple[int, int, int], int] = {}  # (file, offset, tool) of a call: the id of its last piece
        self._tools: dict[str, int] = {}
        self._forms = FormCollector()
        self._is_below = True
        self._reserve = 0  # ids for a window
        self._next_id = self._limit = 0  # the range of ids that is left

    def start_window(self, size: int) -> None:
        """Use other ids for the files of the next window, which have some bytes."""
        self._reserve = size // _BYTES_PER_PIECE
        self._next_id = self._limit = 0

    def put_below(self, is_below: bool) -> None:
        """Put the next rows below all ids, or above them."""
        if is_below != self._is_below:
            self.insert()
            self._is_below = is_below
            self._next_id = self._limit = 0

    def start_transaction(self) -> None:
        """Forget what another process may have changed since the last transaction."""
        self._tools.clear()
        if self._next_id:
            used: Any = self.shard.execute("SELECT min(id) FROM piece WHERE id>=?", (self._next_id,)).get
            self._limit = _UNLIMITED if used is None else int(used)

    def tool_id(self, name: str) -> int:
        if name not in self._tools:
            name = name.encode("utf-8", "replace").decode()
            self.shard.execute("INSERT OR IGNORE INTO tool(name) VALUES(?)", (name,))
            self._tools[name] = int(self.shard.execute("SELECT id FROM tool WHERE name=?", (name,)).get)
        return self._tools[name]

    def drop(self, file_id: int) -> None:
        """Remove the rows of a file that were collected but not inserted."""
        self.rows[:] = [row for row in self.rows if row[0] != file_id]

    def insert(self) -> None:
        """Insert the collected rows."""
        rows = self.rows
        if not rows:
            return
        start = self._take_ids(len(rows))
        said: list[tuple[Any, ...]] = []
        done: list[tuple[int, str]] = []
        pieces = []
        spoken_fields = len(SPOKEN_FIELDS)
        for number, row in enumerate(rows, start):
            *columns, text = row
            pieces.append((number, *columns))
            field = row[3]
            if field >= spoken_fields:
                done.append((number, text))
                if field == INPUT:
                    self.inputs[row[0], row[1], row[4]] = number
            else:
                said.append((number, *_NULLS_BEFORE[field], text, *_NULLS_AFTER[field]))
                if field == TITLE:
                    self.shard.execute("UPDATE file SET title=? WHERE id=?", (number, row[0]))
        self.shard.executemany("INSERT INTO piece VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", pieces)
        self.shard.executemany(f"INSERT INTO said(rowid, {', '.join(SPOKEN_FIELDS)}) VALUES(?,?,?,?,?)", said)
        self.shard.executemany("INSERT INTO done(rowid, text) VALUES(?, ?)", done)
        self._insert_forms()
        self.inserted += len(pieces)
        rows.clear()

    def _insert_forms(self) -> None:
        """Insert the other forms of the words in the rows. They stay when the rows are deleted, and then find nothing."""
        forms = set(self._forms.collect((SEARCH_FIELDS[row[3]], row[-1]) for row in self.rows))
        if forms:
            self.shard.executemany("INSERT OR IGNORE INTO form VALUES(?,?,?)", forms)

    def _take_ids(self, count: int) -> int:
        """Return the first of some ids in a row, after those that were taken before unless there are not enough left."""
        if self._next_id + count > self._limit:
            self._reserve_ids(count)
        first = self._next_id
        self._next_id += count
        return first

    def _reserve_ids(self, count: int) -> None:
        lowest: Any = self.shard.execute("SELECT min(id) FROM piece").get
        limit = FIRST_ROW if lowest is None else int(lowest)
        count = max(count, self._reserve) if limit > self._reserve else count
        if limit > count and (self._is_below or lowest is None):
            self._next_id, self._limit = limit - count, limit
        else:
            highest: Any = self.shard.execute("SELECT max(id) FROM piece").get
            self._next_id, self._limit = int(highest) + 1, _UNLIMITED
