"""Erase sessions, projects or a text from an archive, and remember it, so that they are not collected again.

Rows are overwritten (`secure_delete`) and the file is written again (`VACUUM`), so that no page keeps them. Copies that
upgrades left next to the archive are deleted. Transcripts on the disk, backups and stores are not touched.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from clew.collect.archive.archive_schema import reserve_numbers
from clew.collect.archive.checksums import ABSENT, RAW, unpack

ERASED = b"[ERASED]"


class Erased(NamedTuple):
    """What was erased: files with all their generations, lines, and contents that nothing refers to any more."""

    files: list[str]
    lines: int
    contents: int


def erase(
    connection: apsw.Connection,
    sessions: Sequence[str] = (),
    projects: Sequence[str] = (),
    text: str = "",
    *,
    dry_run: bool,
) -> Erased:
    """Erase in one transaction. With `dry_run` it is rolled back."""
    connection.execute("PRAGMA secure_delete = 1").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    is_kept = False
    try:
        found = _erase(connection, sessions, projects, text)
        is_kept = not dry_run
    finally:
        connection.execute("COMMIT" if is_kept else "ROLLBACK")
    return found


def scrub_pages(connection: apsw.Connection, path: str) -> list[str]:
    """Remove what was erased from every page, and from the copies of upgrades. Returns the copies that were deleted."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    copies = sorted(Path(path).parent.glob(f"{Path(path).name}.version-*"))
    for copy in copies:
        copy.unlink()
    return [str(copy) for copy in copies]


def _erase(connection: apsw.Connection, sessions: Sequence[str], projects: Sequence[str], text: str) -> Erased:
    reserve_numbers(connection)
    files: list[str] = []
    lines = 0
    for kind, values in (("session", sessions), ("project", projects)):
        for value in values:
            _remember(connection, kind, value)
            rows = connection.execute(f"SELECT id, path FROM file WHERE {kind} = ?", (value,)).fetchall()
            files += [str(path) for _, path in rows]
            lines += sum(_delete_file(connection, int(str(id))) for id, _ in rows)
    for session in sessions:
        lines += _erase_lines(connection, _variants(session), kinds=("history",))
    if text:
        lines += _erase_lines(connection, _variants(text))
    unused = "id NOT IN (SELECT content FROM occurrence)"
    contents = int(connection.execute(f"SELECT count(*) FROM content WHERE {unused}").get)
    connection.execute(f"DELETE FROM content WHERE {unused}")
    connection.execute("INSERT INTO about VALUES('repairs', '1') ON CONFLICT(name) DO UPDATE SET value = value + 1")
    return Erased(files, lines, contents)


def _delete_file(connection: apsw.Connection, file: int) -> int:
    mine = "generation IN (SELECT id FROM generation WHERE file = ?)"
    lines = int(connection.execute(f"SELECT count(*) FROM occurrence WHERE {mine}", (file,)).get)
    for table, where in (("quarantine", mine), ("occurrence", mine), ("generation", "file = ?"), ("alias", "file = ?")):
        connection.execute(f"DELETE FROM {table} WHERE {where}", (file,))
    connection.execute("DELETE FROM file WHERE id = ?", (file,))
    return lines


def _erase_lines(connection: apsw.Connection, variants: Sequence[bytes], kinds: Sequence[str] = ()) -> int:
    """Replace a text in every content. In files of `kinds` the whole line goes: it belongs to what is erased."""
    connection.execute("CREATE INDEX IF NOT EXISTS occurrence_content ON occurrence(content)")
    count = 0
    for id, hash, raw in list(_matching(connection, variants, kinds)):
        _remember(connection, "line", hash.hex())
        new = raw if not kinds else ERASED
        for variant in variants:
            new = new.replace(variant, ERASED)
        content = _store(connection, new)
        count += int(connection.execute("SELECT count(*) FROM occurrence WHERE content = ?", (id,)).get)
        connection.execute(
            "UPDATE occurrence SET content = ?1, sum = line_sum(generation, offset, number, length, ?2) WHERE content = ?3",
            (content, sha256(new).digest(), id),
        )
    connection.execute("DROP INDEX occurrence_content")
    for variant in variants:
        connection.execute("UPDATE generation SET rest = x'' WHERE instr(rest, ?) > 0 AND ? = 0", (variant, len(kinds)))
    connection.execute("UPDATE generation SET sum = generation_sum(id, file, number, offset, lines, rest)")
    return count


def _matching(
    connection: apsw.Connection, variants: Sequence[bytes], kinds: Sequence[str]
) -> Iterator[tuple[int, bytes, bytes]]:
    query = f"SELECT id, hash, packing, data FROM content WHERE packing <> {ABSENT}"
    if kinds:
        names = ", ".join("?" * len(kinds))
        query += f""" AND id IN (SELECT o.content FROM occurrence o JOIN generation g ON g.id = o.generation
          JOIN file f ON f.id = g.file WHERE f.kind IN ({names}))"""
    row: Any
    for row in connection.execute(query, tuple(kinds)):
        raw = unpack(row[2], row[3])
        if raw is not None and any(variant in raw for variant in variants):
            yield row[0], row[1], raw


def _store(connection: apsw.Connection, data: bytes) -> int:
    values = (sha256(data).digest(), len(data), RAW, 1, 1, data)
    connection.execute(
        "INSERT INTO content(hash, size, packing, rules, masked, data) VALUES(?,?,?,?,?,?) ON CONFLICT(hash) DO NOTHING",
        values,
    )
    return int(connection.execute("SELECT id FROM content WHERE hash = ?", values[:1]).get)


def _variants(text: str) -> list[bytes]:
    """Return the bytes of a text as it is, and as JSON writes it."""
    forms = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return list(dict.fromkeys(form.encode("utf-8", "surrogateescape") for form in forms))


def _remember(connection: apsw.Connection, kind: str, value: str) -> None:
    connection.execute("INSERT OR IGNORE INTO erased VALUES(?, ?, ?)", (kind, value, time.time_ns()))


def read_erased(connection: apsw.Connection, kind: str) -> frozenset[str]:
    """Return what was erased of a kind: `session`, `project`, or `line` by its hash."""
    return frozenset(str(value) for (value,) in connection.execute("SELECT value FROM erased WHERE kind = ?", (kind,)))
