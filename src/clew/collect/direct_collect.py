"""Collecting without an archive: new lines go straight to a sink, and a state file says how far each file was delivered.

A batch is the whole lines of one file between two offsets. Before it is sent the state names it as pending; after the sink
has taken it the offset moves. After a crash the pending batch is sent again with the same names and numbers, so that a sink
keeps one of each. Only conversations, the session index, the prompt history and the statistics are read: no long outputs,
file backups or shell snapshots.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from clew.collect.discovery import SourceFile, in_order, scan
from clew.collect.ingest import is_warmup, session_in
from clew.collect.line_reader import Long, Rest, cut
from clew.collect.masking import Policy
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, open_found, read_at, state_now
from clew.collect.sinks.outbox import Sink
from clew.collect.sinks.record import Record
from clew.collect.sinks.state_file import name_of
from clew.errors import Stale, StoreError
from clew.system.environment import state_home
from clew.wire.json_codec import decode, encode
from clew.wire.session_writer import create_exactly, replace

Json = dict[str, Any]
_TAIL = 64  # bytes before the offset whose hash tells whether the file has only grown
_SECTION = "claude_code"


def default_state_path() -> str:
    """Where the state lies if no other place is named."""
    return os.path.join(state_home(), "collect-state.json")


@dataclass
class DirectReport:
    """What a run did."""

    files: int = 0
    sent: int = 0
    bytes: int = 0
    withheld: int = 0
    too_large: list[str] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    error: StoreError | None = None


class StateFile:
    """The state on disk; what other programs keep in the same file stays."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()
        self.whole = self._read()
        section = self.whole.get(_SECTION)
        self.section: Json = section if isinstance(section, dict) else {}
        files = self.section.get("files")
        self.files: Json = files if isinstance(files, dict) else {}
        if not isinstance(self.section.get("host"), str):
            self.section["host"] = secrets.token_hex(16)

    def _read(self) -> Json:
        try:
            value = decode(self.path.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def host(self) -> str:
        return str(self.section["host"])

    @property
    def sequence(self) -> int:
        return number(self.section.get("sequence"))

    def save(self) -> None:
        self.section["files"] = self.files
        data = encode({**self.whole, _SECTION: self.section}) + b"\n"
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.path.exists():
            replace(self.path, data)
        else:
            create_exactly(self.path, (data,))


def number(value: Any) -> int:
    """A count from a file that others may have written; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


@dataclass(frozen=True, slots=True)
class _Batch:
    """The lines of a file between two offsets; `line` is the number of the first."""

    found: SourceFile
    start: int
    end: int
    line: int
    generation: int
    is_long: bool = False  # one line that is not held in memory


class DirectCollector:
    """Delivers what is new below a root to one sink."""

    def __init__(
        self, root: str, sink: Sink[Record], state: StateFile, policy: Policy, max_line: int, max_file: int
    ) -> None:
        self.root = os.path.realpath(root)
        self.sink, self.state, self.policy = sink, state, policy
        self.max_line, self.max_file = max_line, max_file
        self.limits = ReadLimits()
        self.report = DirectReport()

    def run(self) -> DirectReport:
        """Send what is pending and what is new. A sink that fails ends the run, and the rest waits in the files."""
        seen = scan(self.root, extras=False)
        self.report.failures += seen.missed
        self.report.files = len(seen.found)
        names = {name_of(self.root, found.path): found for found in seen.found}
        try:
            self._send_pending(names)
            for found in in_order(seen.found, 0):
                self._deliver(found)
        except StoreError as error:
            self.report.error = error
        if not seen.missed:
            self.state.files = {name: point for name, point in self.state.files.items() if name in names}
        self.state.save()
        return self.report

    # -- one file

    def _deliver(self, found: SourceFile) -> None:
        if not found.state.size:
            return
        name = name_of(self.root, found.path)
        point = self.state.files.get(name)
        point = point if isinstance(point, dict) else {}
        offset, mtime = number(point.get("offset")), number(point.get("mtime"))
        if offset == found.state.size and mtime == found.state.mtime // 1_000_000:
            return
        if self.max_file and found.state.size > self.max_file:
            self.report.too_large.append(found.path)
            return
        try:
            with open_found(self.root, found) as file:
                if found.is_whole:
                    self._send_whole(file, found, point)
                elif not (found.kind == "agent" and is_warmup(file, found.state.size)):
                    self._send_lines(file, found, point)
        except (FileNotFoundError, Stale):
            return  # gone or replaced since the scan; the next run sees it
        except OSError as error:
            self.report.failures.append(f"{found.path}: {error.strerror or error}")

    def _send_whole(self, file: File, found: SourceFile, point: Json) -> None:
        state = state_now(file)
        if state != found.state or not state.size:
            return
        generation = number(point.get("generation")) + 1
        self._send(file, _Batch(found, 0, state.size, 1, generation))

    def _send_lines(self, file: File, found: SourceFile, point: Json) -> None:
        offset, line, generation = self._start(file, found, point)
        for part in cut(file, offset, self.limits):
            if isinstance(part, Rest):
                break
            size = part.length if isinstance(part, Long) else len(part.data)
            lines = 1 if isinstance(part, Long) else part.data.count(b"\n")
            self._send(file, _Batch(found, offset, offset + size, line, generation, isinstance(part, Long)))
            offset, line = offset + size, line + lines

    def _start(self, file: File, found: SourceFile, point: Json) -> tuple[int, int, int]:
        """(offset, number of the next line, generation): where the state says, if the file has only grown since."""
        offset, generation = number(point.get("offset")), number(point.get("generation")) or 1
        if not offset:
            return 0, 1, generation
        is_same = offset <= state_now(file).size and read_at(file, 1, offset - 1) == b"\n"
        if is_same and isinstance(point.get("tail"), str):
            is_same = point["tail"] == _tail(file, offset)
        if not is_same:
            self.report.restarted.append(found.path)
            return 0, 1, generation + 1
        return offset, number(point.get("line")) or _count_lines(file, offset) + 1, generation

    # -- sending

    def _send_pending(self, names: dict[str, SourceFile]) -> None:
        """Send the batch again of which it is not known whether the sink has taken it."""
        pending = self.state.section.get("pending")
        if not isinstance(pending, dict):
            return
        found = names.get(str(pending.get("file")))
        start, end = number(pending.get("start")), number(pending.get("end"))
        if found is not None and end <= found.state.size:
            line, generation = number(pending.get("line")), number(pending.get("generation"))
            batch = _Batch(found, start, end, line, generation, pending.get("is_long") is True)
            try:
                with open_found(self.root, found) as file:
                    self._send(file, batch)
            except (OSError, Stale):
                return
        self.state.section.pop("pending", None)

    def _send(self, file: File, batch: _Batch) -> None:
        name = name_of(self.root, batch.found.path)
        about = {"start": batch.start, "end": batch.end, "line": batch.line, "generation": batch.generation}
        self.state.section["pending"] = {"file": name, **about, "is_long": batch.is_long}
        self.state.save()
        records = list(self._records(file, batch))
        self.sink.write(records)
        self.report.sent += len(records)
        self.report.bytes += batch.end - batch.start
        self.report.withheld += sum(record.raw is None for record in records)
        self.state.section.pop("pending")
        self.state.section["sequence"] = self.state.sequence + len(records)
        self.state.files[name] = {
            "offset": batch.end,
            "mtime": batch.found.state.mtime // 1_000_000,
            "line": batch.line + len(records),
            "generation": batch.generation,
            "tail": _tail(file, batch.end),
        }
        self.state.save()

    def _records(self, file: File, batch: _Batch) -> Iterator[Record]:
        if batch.found.kind == "agent" and not batch.found.session:  # beside the sessions: it names its session inside
            session = session_in(read_at(file, self.limits.block, 0))
            batch = dataclasses.replace(batch, found=batch.found._replace(session=session))
        if batch.found.is_whole:
            data = read_at(file, batch.end, 0)
            yield self._record(batch, (1, 0, len(data)), data, 1)
            return
        if batch.is_long:
            yield self._record(batch, (batch.line, batch.start, batch.end - batch.start), None, 1)
            return
        offset = batch.start
        for at, line in enumerate(read_at(file, batch.end - batch.start, batch.start).split(b"\n")[:-1]):
            yield self._record(batch, (batch.line + at, offset, len(line) + 1), line, at + 1)
            offset += len(line) + 1

    def _record(self, batch: _Batch, place: tuple[int, int, int], raw: bytes | None, turn: int) -> Record:
        found = batch.found
        is_long = raw is None or bool(self.max_line and len(raw) > self.max_line)
        kept = None if is_long or raw is None else self.policy.text(raw) if found.is_whole else self.policy.line(raw)
        names = (found.path, found.kind, found.project, found.session, found.agent, file_number(found.path))
        return Record(
            self.state.sequence + turn,
            self.state.host,
            *names,
            batch.generation,
            *place,
            found.state.mtime,
            sha256(raw or b"").hexdigest() if raw is not None else "",
            kept.data if kept else None,
            kept.masked if kept else 0,
            kept.withheld if kept else "it is longer than the limit",
        )


def file_number(path: str) -> int:
    """A number for a file that stays the same: there is no archive to give one."""
    return int.from_bytes(sha256(path.encode()).digest()[:6], "big")


def _tail(file: File, offset: int) -> str:
    start = max(0, offset - _TAIL)
    return sha256(read_at(file, offset - start, start)).hexdigest()[:16]


def _count_lines(file: File, offset: int) -> int:
    lines = at = 0
    while at < offset and (data := read_at(file, min(1 << 20, offset - at), at)):
        lines += data.count(b"\n")
        at += len(data)
    return lines


class LimitedSink:
    """A sink that is given no line longer than a limit: a record without its bytes takes the place of such a line."""

    def __init__(self, sink: Sink[Record], max_line: int) -> None:
        self.sink, self.max_line = sink, max_line
        self.name, self.leaves = sink.name, sink.leaves

    def write(self, batch: Sequence[Record]) -> None:
        self.sink.write([self._limited(record) for record in batch])

    def close(self) -> None:
        self.sink.close()

    def _limited(self, record: Record) -> Record:
        if record.raw is None or len(record.raw) <= self.max_line:
            return record
        return record._replace(raw=None, withheld="it is longer than the limit")
