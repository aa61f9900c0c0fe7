"""The record that a sink receives: a line, its position, and the session it belongs to."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from clew.collect.archive.content_reader import CONTENT, ContentReader
from clew.collect.archive.packing import ABSENT
from clew.collect.discovery import is_replaced_kind
from clew.collect.masking import Policy

DAMAGED = "it is damaged in the archive"
_BATCH_BYTES = 128 << 10  # bytes of lines


class Record(NamedTuple):
    """A line. (host, file, generation, offset) identify it for ever; `seq` is its number in this archive and only
    grows.
    """

    seq: int
    host: str
    path: str
    kind: str
    project: str
    session: str
    agent: str
    file: int
    generation: int
    line: int
    offset: int
    length: int
    mtime: int
    hash: str
    raw: bytes | None
    """Without its newline; None if it was too long to be kept."""
    masked: int = 0
    withheld: str = ""
    mark: int | None = None
    """The mark of everything that the sink was sent, up to this record; None for one that is sent again."""

    @property
    def end(self) -> int:
        return self.offset + self.length

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form for sinks; bytes that are not UTF-8 are in base64."""
        fields: dict[str, Any] = {
            "seq": self.seq,
            "host": self.host,
            "file": self.path,
            "kind": self.kind,
            "project": self.project,
            "session": self.session or None,
            "agent": self.agent or None,
            "generation": self.generation,
            "line": self.line,
            "offset": self.offset,
            "length": self.length,
            "hash": self.hash,
        }
        if self.masked:
            fields["masked"] = self.masked
        if self.withheld:
            fields["withheld"] = self.withheld
        try:
            fields["raw"] = self.raw.decode() if self.raw is not None else None
        except UnicodeDecodeError:
            fields["raw_base64"] = b64encode(self.raw or b"").decode()
        return fields


COLUMNS = f"""
o.seq, f.path, f.kind, f.project, f.session, f.agent, f.id, g.number, o.number, o.offset, o.length, f.mtime,
c.hash, g.id, o.sum, {CONTENT}
FROM occurrence o JOIN generation g ON g.id = o.generation JOIN file f ON f.id = g.file
JOIN content c ON c.id = o.content
"""


def read_records(
    connection: apsw.Connection, host: str, rows: Iterable[Sequence[Any]], policy: Policy
) -> Iterator[Record]:
    """Yield the records of rows with these columns, masked by the policy in batches."""
    reader = ContentReader(connection)
    batch: list[Sequence[Any]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += row[19]
        if size >= _BATCH_BYTES:
            yield from _mask_batch(reader, host, batch, policy)
            batch, size = [], 0
    yield from _mask_batch(reader, host, batch, policy)


def _mask_batch(reader: ContentReader, host: str, rows: Sequence[Sequence[Any]], policy: Policy) -> Iterator[Record]:
    sources = [(row, is_replaced_kind(row[2]), *_read(reader, row)) for row in rows]
    lines = policy.mask_lines([raw for _, is_file, raw, _ in sources if raw is not None and not is_file])
    for row, is_file, raw, withheld in sources:
        names = (row[0], host, *row[1:12], row[12].hex())
        if raw is None:
            yield Record._make((*names, None, 0, withheld, None))
        else:
            masked = policy.mask_document(raw) if is_file else next(lines)
            yield Record._make((*names, masked.data, masked.masked, masked.withheld, None))


def _read(reader: ContentReader, row: Sequence[Any]) -> tuple[bytes | None, str]:
    """Return the verified bytes of a line; else None and why."""
    (number, offset, length), generation, sum, content = row[8:11], row[13], row[14], row[15:]
    raw, is_sound = reader.read_line((generation, offset, number, length, sum), content)
    is_absent = is_sound and content[0] == ABSENT
    return raw, "" if raw is not None else "it is too long to be kept" if is_absent else DAMAGED
