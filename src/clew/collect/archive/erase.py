"""Erase sessions, projects or a text from an archive, and remember it, so that they are not collected again.

Rows are overwritten (`secure_delete`) and the file is written again (`VACUUM`), so that no page keeps them. Copies that
upgrades left next to the archive are deleted. Transcripts on the disk, backups and stores are not touched.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import apsw

from clew.collect.archive.archive_schema import reserve_numbers
from clew.collect.archive.content_reader import CONTENT, ContentReader
from clew.collect.archive.packing import ABSENT, RAW
from clew.collect.archive.repack import repack
from clew.collect.masking import ERASED
from clew.wire.json_codec import decode
from clew.wire.project_slug import slugs

_DELETED_FILES = """
SELECT f.id, f.path FROM file f WHERE f.gone IS NOT NULL AND f.mtime < ? AND NOT EXISTS (
  SELECT 1 FROM occurrence o JOIN generation g ON g.id = o.generation
  WHERE g.file = f.id AND o.seq > coalesce((SELECT min(seq) FROM sink), o.seq))
"""
_HISTORY = """AND id IN (SELECT o.content FROM occurrence o JOIN generation g ON g.id = o.generation
  JOIN file f ON f.id = g.file WHERE f.kind = 'history')"""


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
    return _run(connection, lambda: _erase(connection, sessions, projects, text), dry_run)


def drop_deleted_files(connection: apsw.Connection, before: int, *, dry_run: bool) -> Erased:
    """Drop files that are gone from the disk and were last changed before a time in nanoseconds.

    Files that still exist stay, or the next poll would read them again. So do files that a sink has not received.
    """
    return _run(connection, lambda: _drop_deleted(connection, before), dry_run)


def _run(connection: apsw.Connection, work: Callable[[], Erased], dry_run: bool) -> Erased:
    connection.execute("PRAGMA secure_delete = 1").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    is_kept = False
    try:
        found = work()
        is_kept = not dry_run
    finally:
        connection.execute("COMMIT" if is_kept else "ROLLBACK")
    return found


def _drop_deleted(connection: apsw.Connection, before: int) -> Erased:
    reserve_numbers(connection)
    rows = connection.execute(_DELETED_FILES, (before,)).fetchall()
    lines = sum(_delete_file(connection, int(str(id))) for id, _ in rows)
    return Erased([str(path) for _, path in rows], lines, _delete_unused(connection))


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
    if sessions or projects:
        lines += _erase_prompts(connection, sessions, projects)
    if text:
        lines += _erase_text(connection, text_variants(text))
    return Erased(files, lines, _delete_unused(connection))


def _delete_unused(connection: apsw.Connection) -> int:
    """Delete contents that nothing refers to, and return their number."""
    unused = "id NOT IN (SELECT content FROM occurrence)"
    contents = int(connection.execute(f"SELECT count(*) FROM content WHERE {unused}").get)
    connection.execute(f"DELETE FROM content WHERE {unused}")
    repack(connection)
    connection.execute("INSERT INTO about VALUES('repairs', '1') ON CONFLICT(name) DO UPDATE SET value = value + 1")
    return contents


def _delete_file(connection: apsw.Connection, file: int) -> int:
    mine = "generation IN (SELECT id FROM generation WHERE file = ?)"
    lines = int(connection.execute(f"SELECT count(*) FROM occurrence WHERE {mine}", (file,)).get)
    for table, where in (("quarantine", mine), ("occurrence", mine), ("generation", "file = ?"), ("alias", "file = ?")):
        connection.execute(f"DELETE FROM {table} WHERE {where}", (file,))
    connection.execute("DELETE FROM file WHERE id = ?", (file,))
    return lines


def _erase_prompts(connection: apsw.Connection, sessions: Sequence[str], projects: Sequence[str]) -> int:
    """Erase the lines of the history of prompts that belong to sessions or projects."""
    replaced = [
        (id, hash, ERASED) for id, hash, raw in _contents(connection, _HISTORY) if owns_prompt(raw, sessions, projects)
    ]
    return _replace_contents(connection, replaced)


def _erase_text(connection: apsw.Connection, variants: Sequence[bytes]) -> int:
    """Replace a text in every content, and in the ends of files that are not whole lines yet."""
    replaced = []
    for id, hash, raw in _contents(connection):
        new = raw
        for variant in variants:
            new = new.replace(variant, ERASED)
        if new != raw:
            replaced.append((id, hash, new))
    for variant in variants:
        connection.execute("UPDATE generation SET rest = x'' WHERE instr(rest, ?) > 0", (variant,))
    return _replace_contents(connection, replaced)


def _replace_contents(connection: apsw.Connection, replaced: Sequence[tuple[int, bytes, bytes]]) -> int:
    connection.execute("CREATE INDEX IF NOT EXISTS occurrence_content ON occurrence(content)")
    count = 0
    for id, hash, new in replaced:
        _remember(connection, "line", hash.hex())
        content = _store(connection, new)
        count += int(connection.execute("SELECT count(*) FROM occurrence WHERE content = ?", (id,)).get)
        connection.execute(
            "UPDATE occurrence SET content = ?1, sum = line_sum(generation, offset, number, length, ?2) WHERE content = ?3",
            (content, sha256(new).digest(), id),
        )
    connection.execute("DROP INDEX occurrence_content")
    connection.execute("UPDATE generation SET sum = generation_sum(id, file, number, offset, lines, rest)")
    return count


def _contents(connection: apsw.Connection, condition: str = "") -> Iterator[tuple[int, bytes, bytes]]:
    query = f"SELECT id, {CONTENT} FROM content c WHERE packing <> {ABSENT} {condition} ORDER BY id"
    reader = ContentReader(connection)
    for id, *content, hash in connection.execute(query):
        raw = reader.read(*content)
        if raw is not None:
            yield id, hash, raw


def _store(connection: apsw.Connection, data: bytes) -> int:
    values = (sha256(data).digest(), len(data), RAW, 1, 1, data)
    connection.execute(
        "INSERT INTO content(hash, size, packing, rules, masked, data) VALUES(?,?,?,?,?,?) ON CONFLICT(hash) DO NOTHING",
        values,
    )
    return int(connection.execute("SELECT id FROM content WHERE hash = ?", values[:1]).get)


def owns_prompt(raw: bytes | None, sessions: Sequence[str], projects: Sequence[str]) -> bool:
    """Return whether a line of the history of prompts belongs to one of the sessions or projects."""
    try:
        value = decode(raw or b"")
    except ValueError:
        return False
    if not isinstance(value, dict):
        return False
    folder = value.get("project")
    names = slugs(folder) if isinstance(folder, str) and folder else []
    return value.get("sessionId") in sessions or any(name in projects for name in names)


def text_variants(text: str) -> list[bytes]:
    """Return the bytes of a text as it is, and as JSON writes it."""
    forms = (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
    return list(dict.fromkeys(form.encode("utf-8", "surrogateescape") for form in forms))


def _remember(connection: apsw.Connection, kind: str, value: str) -> None:
    connection.execute("INSERT OR IGNORE INTO erased VALUES(?, ?, ?)", (kind, value, time.time_ns()))


def read_erased(connection: apsw.Connection, kind: str) -> frozenset[str]:
    """Return what was erased of a kind: `session`, `project`, or `line` by its hash."""
    return frozenset(str(value) for (value,) in connection.execute("SELECT value FROM erased WHERE kind = ?", (kind,)))
