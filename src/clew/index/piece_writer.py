"""Insert the rows of pieces into a shard, with ids in order of time: of two files, the newer one has the higher ids.
Pieces of one file in a row are a run, so that a search can tell the file of a piece by its id.

Full-text tables are fastest if rows arrive in order of their ids, and rows are fastest if they are inserted while their
texts are still in the CPU cache. But the newest files are read first. So files are read in windows, the newest window
first and the oldest file of a window first, and each window gets a range of ids below those of the window before.
"""

from __future__ import annotations

from itertools import compress, count, groupby
from operator import itemgetter
from typing import Any

import apsw

from clew.index.base64_filter import prepare_text
from clew.index.collect_forms import FormCollector
from clew.index.index_schema import CODE_BITS, CODES, FIRST_NUMBER, SIZES, SPOKEN_FIELDS
from clew.index.query_syntax import SEARCH_FIELDS

# (file, offset, part, field, tool, failed, time, node, round, class, input)
PieceRow = tuple[int, int, int, int, int, int, int | None, int, int, int, int]
TITLE, INPUT = map(SEARCH_FIELDS.index, ("title", "input"))
_NULLS_BEFORE = [(None,) * field for field in range(len(SPOKEN_FIELDS))]  # the other columns of `said` for a field
_NULLS_AFTER = _NULLS_BEFORE[::-1]
_MAX_DIGITS = 48
_CODES = [  # of a field and the digits of a size: that of the next smaller size, or the smallest
    [
        CODES.index((field, max([size for size in SIZES[field] if size <= digits], default=SIZES[field][0])))
        for digits in range(_MAX_DIGITS)
    ]
    for field in SEARCH_FIELDS
]
_SPOKEN = len(SPOKEN_FIELDS)
_FILE = itemgetter(0)
_UNLIMITED = 1 << 54
_BYTES_PER_PIECE = 256  # at least, on average; real files have thousands


class PieceWriter:
    """Collects rows in `rows`, and their texts in `texts`, and inserts them in the open transaction."""

    def __init__(self, shard: apsw.Connection) -> None:
        self.shard = shard
        self.rows: list[PieceRow] = []
        self.texts: list[str] = []
        self.inserted = 0
        self.inputs: dict[tuple[int, int, int], int] = {}  # (file, offset, tool) of a call: the id of its last piece
        self._tools: dict[str, int] = {}
        self._forms = FormCollector()
        self._is_below = True
        self._reserve = 0  # numbers for a window
        self._next_number = self._limit = 0  # the range of numbers that is left

    def start_window(self, size: int) -> None:
        """Use other ids for the files of the next window, which have some bytes."""
        self._reserve = size // _BYTES_PER_PIECE
        self._next_number = self._limit = 0

    def put_below(self, is_below: bool) -> None:
        """Put the next rows below all ids, or above them."""
        if is_below != self._is_below:
            self.insert()
            self._is_below = is_below
            self._next_number = self._limit = 0

    def start_transaction(self) -> None:
        """Forget what another process may have changed since the last transaction."""
        self._tools.clear()
        if self._next_number:
            next_id = self._next_number << CODE_BITS
            used: Any = self.shard.execute("SELECT min(id) FROM piece WHERE id>=?", (next_id,)).get
            self._limit = _UNLIMITED if used is None else int(used) >> CODE_BITS

    def tool_id(self, name: str) -> int:
        if name not in self._tools:
            name = name.encode("utf-8", "replace").decode()
            self.shard.execute("INSERT OR IGNORE INTO tool(name) VALUES(?)", (name,))
            self._tools[name] = int(self.shard.execute("SELECT id FROM tool WHERE name=?", (name,)).get)
        return self._tools[name]

    def add(self, row: PieceRow, text: str) -> None:
        """Collect the row of a piece and its text, as it will be indexed."""
        text, characters = prepare_text(text)
        self.rows.append(row)
        self.texts.append(text)
        if characters:
            self._forms.add_accented(row[3], text, characters)

    def drop(self, file_id: int) -> None:
        """Remove the rows of a file that were collected but not inserted."""
        kept = [row[0] != file_id for row in self.rows]
        self.rows[:], self.texts[:] = compress(self.rows, kept), compress(self.texts, kept)

    def insert(self) -> None:
        """Insert the collected rows."""
        rows, texts = self.rows, self.texts
        if not rows:
            return
        fields = [row[3] for row in rows]
        codes = [_CODES[field][len(text).bit_length()] for field, text in zip(fields, texts, strict=True)]
        first = self._take_numbers(len(rows)) << CODE_BITS
        ids = [number | code for number, code in zip(count(first, 1 << CODE_BITS), codes, strict=False)]
        said: list[tuple[Any, ...]] = []
        done: list[tuple[int, str]] = []
        for number, field, text in zip(ids, fields, texts, strict=True):
            if field >= _SPOKEN:
                done.append((number, text))
            else:
                said.append((number, *_NULLS_BEFORE[field], text, *_NULLS_AFTER[field]))
        pieces = [(number, *row) for number, row in zip(ids, rows, strict=True)]
        self.shard.executemany("INSERT INTO piece VALUES(?,?,?,?,?,?,?,?,?,?,?,?)", pieces)
        self.shard.executemany(f"INSERT INTO said(rowid, {', '.join(SPOKEN_FIELDS)}) VALUES(?,?,?,?,?)", said)
        self.shard.executemany("INSERT INTO done(rowid, text) VALUES(?, ?)", done)
        self._remember_places(ids, fields)
        self._insert_runs(ids)
        self._insert_forms(fields)
        self.inserted += len(rows)
        rows.clear()
        texts.clear()

    def _remember_places(self, ids: list[int], fields: list[int]) -> None:
        """Keep the ids of calls, which a failed result changes, and set those of titles in the rows of their files."""
        for number, field, row in zip(ids, fields, self.rows, strict=True):
            if field == INPUT:
                self.inputs[row[0], row[1], row[4]] = number
            elif field == TITLE:
                self.shard.execute("UPDATE file SET title=? WHERE id=?", (number, row[0]))

    def _insert_runs(self, ids: list[int]) -> None:
        """Insert a row for each file in a row of pieces, with the time of its last piece; or extend the run before."""
        before = "SELECT first, file, time FROM run WHERE first<? ORDER BY first DESC LIMIT 1"
        first, file, last = self.shard.execute(before, (ids[0],)).fetchone() or (0, -1, 0)
        runs = [(first, file, last)] if file >= 0 else []
        position = 0
        for other, group in groupby(self.rows, _FILE):
            times = [row[6] or 0 for row in group]
            if runs and other == runs[-1][1]:  # only of the run before
                runs[-1] = (runs[-1][0], other, max(runs[-1][2], *times))
            else:
                runs.append((ids[position], other, max(times)))
            position += len(times)
        self.shard.executemany("INSERT OR REPLACE INTO run VALUES(?,?,?)", runs)

    def _insert_forms(self, fields: list[int]) -> None:
        """Insert the other forms of the words in the texts. They stay when the rows are deleted, and then find nothing."""
        forms = self._forms.collect(fields, self.texts)
        if forms:
            self.shard.executemany("INSERT OR IGNORE INTO form VALUES(?,?,?)", forms)

    def _take_numbers(self, count: int) -> int:
        """Return the first of some numbers in a row, after those taken before unless there are not enough left."""
        if self._next_number + count > self._limit:
            self._reserve_numbers(count)
        first = self._next_number
        self._next_number += count
        return first

    def _reserve_numbers(self, count: int) -> None:
        lowest: Any = self.shard.execute("SELECT min(id) FROM piece").get
        limit = FIRST_NUMBER if lowest is None else int(lowest) >> CODE_BITS
        count = max(count, self._reserve) if limit > self._reserve else count
        if limit > count and (self._is_below or lowest is None):
            self._next_number, self._limit = limit - count, limit
        else:
            highest: Any = self.shard.execute("SELECT max(id) FROM piece").get
            self._next_number, self._limit = (int(highest) >> CODE_BITS) + 1, _UNLIMITED
