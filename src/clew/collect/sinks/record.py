"""Records: what a sink is given: a line, where it stood, and to whom it belongs."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from clew.collect.archive.archive_schema import ABSENT, DEFLATED
from clew.collect.discovery import is_replaced_kind
from clew.collect.masking import Policy

_BATCH = 64 << 10  # bytes of lines as they are kept


class Record(NamedTuple):
    """(host, file, generation, offset) names it for ever; `seq` is its turn in this archive and only grows."""

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

    @property
    def end(self) -> int:
        return self.offset + self.length

    def to_json(self) -> dict[str, Any]:
        """As JSON sinks write it; bytes that are no text are in base64."""
        found: dict[str, Any] = {
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
            found["masked"] = self.masked
        if self.withheld:
            found["withheld"] = self.withheld
        try:
            found["raw"] = self.raw.decode() if self.raw is not None else None
        except UnicodeDecodeError:
            found["raw_base64"] = b64encode(self.raw or b"").decode()
        return found


COLUMNS = """
o.seq, f.path, f.kind, f.project, f.session, f.agent, f.id, g.number, o.number, o.offset, o.length, f.mtime,
c.hash, c.packing, c.data
FROM occurrence o JOIN generation g ON g.id = o.generation JOIN file f ON f.id = g.file
JOIN content c ON c.id = o.content
"""


def records(host: str, rows: Iterable[Sequence[Any]], policy: Policy) -> Iterator[Record]:
    """Rows of these columns, with what the policy of their sink lets through, which many are asked together."""
    several: list[Sequence[Any]] = []
    size = 0
    for row in rows:
        several.append(row)
        size += len(row[14] or b"")
        if size >= _BATCH:
            yield from _records(host, several, policy)
            several, size = [], 0
    yield from _records(host, several, policy)


def _records(host: str, rows: Sequence[Sequence[Any]], policy: Policy) -> Iterator[Record]:
    told = [(row, is_replaced_kind(row[2]), _raw(row[13], row[14])) for row in rows]
    lines = policy.mask_lines([raw for _, is_file, raw in told if raw is not None and not is_file])
    for row, is_file, raw in told:
        names = (row[0], host, *row[1:12], row[12].hex())
        if raw is None:
            yield Record._make((*names, None, 0, "it is too long to be kept"))
        else:
            kept = policy.mask_document(raw) if is_file else next(lines)
            yield Record._make((*names, kept.data, kept.masked, kept.withheld))


def _raw(packing: int, data: bytes) -> bytes | None:
    """What was kept of a line, if anything was."""
    return None if packing == ABSENT else zlib.decompress(data) if packing == DEFLATED else data
