"""What can be read of a store: its hosts, what it has of each file, and the lines of some files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from clew.collect.sql.line_rows import LINE

KEY_COLUMNS = ("host", "file", "generation")
NAME_COLUMNS = ("path", "kind", "project", "session", "agent")


class HostState(NamedTuple):
    """A host as the store describes it: the last record that it sent, and who it belongs to."""

    seq: int = 0
    developer: str = ""
    machine: str = ""
    team: str = ""


class FileState(NamedTuple):
    """What a store has of one generation of a file. Days are empty if no line has a time."""

    host: str
    file: int
    generation: int
    path: str
    kind: str
    project: str
    session: str
    agent: str
    seq: int
    rows: int
    end: int
    first_day: str
    last_day: str
    last_ms: int
    masked: int

    def merge(self, other: FileState) -> FileState:
        """Return the state of both parts. The names are those of the later one: a file can be moved."""
        later = max(self, other, key=lambda part: part.seq)
        days = [day for day in (self.first_day, other.first_day) if day]
        return later._replace(
            rows=self.rows + other.rows,
            end=max(self.end, other.end),
            first_day=min(days, default=""),
            last_day=max(self.last_day, other.last_day),
            last_ms=max(self.last_ms, other.last_ms),
            masked=self.masked + other.masked,
        )


class FilePart(NamedTuple):
    """A part of a file to fetch: the lines that start in a range of bytes, and the days on which they can be."""

    host: str
    file: int
    generation: int
    start: int
    stop: int
    first_day: str
    last_day: str


class StoredLine(NamedTuple):
    """A line of a store; `raw` is None if it was too long to be stored."""

    host: str
    file: int
    generation: int
    start: int
    length: int
    time_ms: int
    masked: int
    withheld: str
    hash: str
    raw: bytes | None


class Inventory(NamedTuple):
    """What is new in a store. `is_full` if `files` describes all of it; `position` is passed to the next reading.

    `is_altered` if texts were erased within lines that stayed.
    """

    files: Iterable[FileState]
    is_full: bool
    position: Any
    is_altered: bool = False


class StoreReader(Protocol):
    """A store that sessions can be read from. `name` has no credentials; `user` is whose rights apply."""

    name: str
    user: str

    def hosts(self) -> dict[str, HostState]:
        """Return the hosts whose lines may be read."""

    def inventory(self, hosts: Mapping[str, HostState], known: Mapping[str, int], position: Any) -> Inventory:
        """Return what changed since `position`; everything if that is None. `known` has the last record of each host."""

    def lines(self, parts: Sequence[FilePart]) -> Iterator[StoredLine]:
        """Yield the lines of some parts, those of each file in order."""

    def close(self) -> None: ...


def columns_of_line() -> tuple[str, ...]:
    """Return the columns of a stored line, as the table has them."""
    return (*(name for name in StoredLine._fields if name in LINE.columns), "raw")
