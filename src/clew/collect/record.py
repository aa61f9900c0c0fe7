"""Records: what a sink is given: a line, where it stood, and to whom it belongs."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Any, NamedTuple

from clew.collect.policy import Policy
from clew.collect.schema import ABSENT, DEFLATED
from clew.collect.source import is_whole


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


def record(host: str, row: Sequence[Any], policy: Policy) -> Record:
    """A row of these columns, with what the policy of its sink lets through."""
    hash, packing, data = row[12:]
    names = (row[0], host, *row[1:12], hash.hex())
    if packing == ABSENT:
        return Record._make((*names, None, 0, "it is too long to be kept"))
    raw = zlib.decompress(data) if packing == DEFLATED else data
    kept = policy.text(raw) if is_whole(row[2]) else policy.line(raw)
    return Record._make((*names, kept.data, kept.masked, kept.withheld))
