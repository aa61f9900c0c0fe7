"""Verify a whole archive: SQLite's own check, the hash of every content, and the checksum of every row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import error as struct_error
from typing import Any, NamedTuple

import apsw
from msgspec import Struct, field

from clew.collect.archive.checksums import generation_sum, line_sum
from clew.collect.archive.content_reader import CONTENT, ContentReader

_MAX_PROBLEMS = 20  # of the structure of the file; more say nothing new
_LINES = """
SELECT r.path, f.path, g.number, o.generation, o.offset, o.number, o.length, o.sum, c.hash, o.content
FROM occurrence o LEFT JOIN content c ON c.id = o.content LEFT JOIN generation g ON g.id = o.generation
LEFT JOIN file f ON f.id = g.file LEFT JOIN root r ON r.id = f.root ORDER BY o.generation, o.offset
"""
_GENERATIONS = """
SELECT r.path, f.path, g.number, g.id, g.file, g.number, g.offset, g.lines, g.rest, g.sum, coalesce(sum(o.length), 0)
FROM generation g LEFT JOIN file f ON f.id = g.file LEFT JOIN root r ON r.id = f.root
LEFT JOIN occurrence o ON o.generation = g.id GROUP BY g.id
"""
_LOST = """
SELECT r.path, f.path FROM file f LEFT JOIN root r ON r.id = f.root WHERE generation IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM generation g WHERE g.id = f.generation AND g.file = f.id)
"""
_READ_ERRORS = (apsw.Error, UnicodeDecodeError)
_VALUE_ERRORS = (TypeError, ValueError, struct_error)


class DamagedLine(NamedTuple):
    """A line that cannot be given back; `line` is 0 if it is not known which."""

    path: str
    generation: int
    line: int
    offset: int
    reason: str
    root: str = ""
    """The folder that the file was read from."""


class VerifyReport(Struct):
    """The result: how much was verified, the damaged lines, and what is wrong with the file itself."""

    contents: int = 0
    bytes: int = 0
    damaged: list[DamagedLine] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def is_sound(self) -> bool:
        return not self.damaged and not self.problems


def verify_archive(connection: apsw.Connection, progress: Callable[[int, int], None] | None = None) -> VerifyReport:
    """Verify everything in an archive. `progress` is called with the number of bytes verified, and in total."""
    report = VerifyReport()
    _run(report, lambda: _check_structure(connection, report))
    bad: set[int] = set()
    _run(report, lambda: _check_contents(connection, report, bad, progress))
    _run(report, lambda: report.damaged.extend(_damaged_lines(connection, bad)))
    _run(report, lambda: report.damaged.extend(_damaged_generations(connection, report.damaged)))
    return report


def _run(report: VerifyReport, check: Callable[[], object]) -> None:
    """Run a check; if the file is too damaged for it, say so and let the others run."""
    try:
        check()
    except _READ_ERRORS as error:
        if str(error) not in report.problems:
            report.problems.append(str(error))


def _check_structure(connection: apsw.Connection, report: VerifyReport) -> None:
    rows = connection.execute(f"PRAGMA integrity_check({_MAX_PROBLEMS})").fetchall()
    texts = [line for (text,) in rows for line in str(text).splitlines() if not line.startswith("***")]
    report.problems += [text for text in texts if text != "ok"]


def _check_contents(
    connection: apsw.Connection,
    report: VerifyReport,
    bad: set[int],
    progress: Callable[[int, int], None] | None,
) -> None:
    query = f"SELECT {CONTENT} FROM content c WHERE id = ?"
    reader = ContentReader(connection)
    total = int(connection.execute("SELECT coalesce(sum(size), 0) FROM content").get)
    for (id,) in connection.execute("SELECT id FROM content NOT INDEXED ORDER BY id"):
        report.contents += 1
        try:
            rows: list[Any] = connection.execute(query, (id,)).fetchall()
            [content] = rows
            raw, is_sound = reader.read_sound(content)
            if not is_sound:
                bad.add(id)
            report.bytes += len(raw or b"")
            if progress:
                progress(min(total, report.bytes), total)
        except (*_READ_ERRORS, *_VALUE_ERRORS):
            bad.add(id)


def _damaged_lines(connection: apsw.Connection, bad: set[int]) -> Iterator[DamagedLine]:
    for root, path, generation, *position, sum, hash, content in connection.execute(_LINES):
        reason = ""
        if content in bad:
            reason = "its content differs from its hash"
        elif hash is None or path is None or (sum is not None and not _is_sum(sum, line_sum, *position, hash)):
            reason = "its row is damaged"
        if reason:
            yield DamagedLine(str(path), generation or 0, position[2], position[1], reason, str(root or ""))


def _damaged_generations(connection: apsw.Connection, known: list[DamagedLine]) -> Iterator[DamagedLine]:
    named = {(line.path, line.generation) for line in known}
    for root, path, generation, *row, sum, end in connection.execute(_GENERATIONS):
        reason = ""
        if sum is not None and not _is_sum(sum, generation_sum, *row):
            reason = "the row of its generation is damaged"
        elif end != row[3] and (str(path), generation) not in named:
            reason = "lines of it are missing"
        if reason:
            yield DamagedLine(str(path), generation, 0, row[3], reason, str(root or ""))
    for root, path in connection.execute(_LOST):
        yield DamagedLine(str(path), 0, 0, 0, "its newest generation is missing", str(root or ""))


def _is_sum(sum: object, compute: Callable[..., int], *values: Any) -> bool:
    try:
        return compute(*values) == sum
    except _VALUE_ERRORS:  # a flipped bit changed the type of a column
        return False
