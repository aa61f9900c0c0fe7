"""The journal: what clew wrote and where, so that any of it can be taken back.

It is a file of JSON lines among the data of the user. A record is begun before the first file is made and ended when the
last one is there; one that was never ended names what an interrupted writing left behind.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from clew.errors import NotFound, Refused
from clew.wire.encode import decode, encode
from clew.wire.home import data_home
from clew.wire.line import lines
from clew.wire.time import stamp
from clew.wire.write import append, create

NAME = "journal.jsonl"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that clew wrote."""

    number: str
    time: str
    what: str
    source: str
    made: str
    files: Mapping[str, str]  # their paths with a digest of what was written; empty until all of it was
    state: str = "begun"


class Journal:
    """The records in a folder, oldest first."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(folder or data_home()) / NAME

    def begin(self, what: str, source: str, made: str, files: Sequence[Path]) -> str:
        """Say what is about to be written. The number of the record."""
        number = uuid4().hex[:8]
        paths = dict.fromkeys(map(str, files), "")
        self._add({"number": number, "what": what, "source": source, "made": made, "files": paths, "state": "begun"})
        return number

    def end(self, number: str, files: Sequence[Path]) -> None:
        self._add({"number": number, "files": {str(path): digest(path) for path in files}, "state": "done"})

    def undone(self, number: str) -> None:
        self._add({"number": number, "state": "undone"})

    def records(self) -> tuple[Record, ...]:
        """Each record as its last line left it."""
        found: dict[str, dict[str, Any]] = {}
        if self.path.exists():
            for line in lines(self.path):
                try:
                    row = decode(line.json)
                except ValueError:
                    continue  # a line that was cut off
                if isinstance(row, dict) and isinstance(row.get("number"), str):
                    found.setdefault(row["number"], {"time": row.get("time", "")}).update(
                        {key: value for key, value in row.items() if key != "time"}
                    )
        return tuple(_record(row) for row in found.values())

    def find(self, asked: str | None) -> Record:
        """A record by its number, or by the session that was made; without either the last that was not undone."""
        standing = [r for r in self.records() if r.state != "undone"]
        if asked is None:
            matches = standing[-1:]
        else:
            matches = [r for r in standing if r.number == asked or r.made.startswith(asked.lower())][-1:]
        if not matches:
            missing = NotFound(asked or "the last edit", kind="edit of clew's")
            missing.hint = "List what clew wrote with: clew undo --list"
            raise missing
        return matches[0]

    def _add(self, row: Mapping[str, Any]) -> None:
        line = encode({"time": stamp(datetime.now(UTC)), **row})
        if not self.path.exists():
            with suppress(FileExistsError):  # another clew was faster
                create(self.path, [])
        append(self.path, [line])


def take_back(record: Record, journal: Journal) -> tuple[Path, ...]:
    """Remove the files of a record. Refused if one of them was changed since: somebody works with it."""
    present = [Path(path) for path in record.files if os.path.lexists(path)]
    changed = [path.name for path in present if record.files[str(path)] not in ("", digest(path))]
    if changed:
        refused = Refused([f"{name} was changed since clew wrote it" for name in changed])
        refused.hint = "It may hold new turns. If it is to go all the same, remove it yourself."
        raise refused
    for path in present:
        path.unlink()
    for folder in sorted({parent for path in present for parent in path.parents}, key=lambda p: -len(p.parts)):
        if record.made and record.made in folder.parts and not any(folder.iterdir()):
            folder.rmdir()
    journal.undone(record.number)
    return tuple(present)


def digest(path: Path) -> str:
    total = sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total.update(chunk)
    return total.hexdigest()


def _record(row: Mapping[str, Any]) -> Record:
    files = row.get("files")
    return Record(
        number=str(row["number"]),
        time=str(row.get("time", "")),
        what=str(row.get("what", "")),
        source=str(row.get("source", "")),
        made=str(row.get("made", "")),
        files=files if isinstance(files, dict) else {},
        state=str(row.get("state", "")),
    )
