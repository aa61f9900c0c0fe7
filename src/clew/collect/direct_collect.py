"""Collect without an archive: send new lines directly to a sink and keep the offsets in a state file.

A batch is the complete lines of one file between two offsets. Before it is sent, the state names it as pending;
after the sink accepted it, the offset moves. After a crash the pending batch is sent again with the same names and
numbers, so that a sink can keep one of each. Only conversations, the session index, the prompt history and the
statistics are read: no long outputs, file backups or shell snapshots.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct, field, structs

from clew.collect.discovery import SourceFile, in_reading_order, scan
from clew.collect.ingest import is_warmup, read_session_id
from clew.collect.line_reader import LongLine, UnfinishedLine, read_lines
from clew.collect.masking import Policy
from clew.collect.read_limits import ReadLimits
from clew.collect.safe_open import File, open_source, read_at, state_now
from clew.collect.sinks.outbox import Sink
from clew.collect.sinks.record import Record
from clew.collect.sinks.state_file import state_name
from clew.errors import Stale, StoreError
from clew.system.environment import state_home
from clew.wire.json_codec import Json, decode, encode
from clew.wire.session_writer import create_exactly, replace

_TAIL_BYTES = 64  # bytes before the offset; their hash shows whether the file has only grown
_STATE_KEY = "claude_code"


def default_state_path() -> str:
    """Return the path of the state file that is used if none is given."""
    return os.path.join(state_home(), "collect-state.json")


class DirectReport(Struct):
    """Counts and problems of one run."""

    files: int = 0
    sent: int = 0
    bytes: int = 0
    withheld: int = 0
    too_large: list[str] = field(default_factory=list)
    restarted: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    error: StoreError | None = None


class StateFile:
    """The state on disk. Keys that other programs keep in the same file are preserved."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()
        self.document = self._read()
        section = self.document.get(_STATE_KEY)
        self.section: Json = section if isinstance(section, dict) else {}
        files = self.section.get("files")
        self.files: Json = files if isinstance(files, dict) else {}
        if not isinstance(self.section.get("host"), str):
            self.section["host"] = os.urandom(16).hex()

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
        return non_negative_int(self.section.get("sequence"))

    def save(self) -> None:
        self.section["files"] = self.files
        data = encode({**self.document, _STATE_KEY: self.section}) + b"\n"
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.path.exists():
            replace(self.path, data)
        else:
            create_exactly(self.path, (data,))


def non_negative_int(value: Any) -> int:
    """Return a count from a file that others may have written; 0 for anything but a non-negative integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


class _LineBatch(Struct, frozen=True):
    """The lines of a file between two offsets; `line` is the number of the first."""

    source: SourceFile
    start: int
    end: int
    line: int
    generation: int
    is_long: bool = False  # a single line that is too long to hold in memory


class DirectCollector:
    """Delivers everything new below a root to one sink."""

    def __init__(
        self, root: str, sink: Sink[Record], state: StateFile, policy: Policy, max_line: int, max_file: int
    ) -> None:
        self.root = os.path.realpath(root)
        self.sink, self.state, self.policy = sink, state, policy
        self.max_line, self.max_file = max_line, max_file
        self.limits = ReadLimits()
        self.report = DirectReport()

    def run(self) -> DirectReport:
        """Send the pending batch, then everything new. A failing sink ends the run; the remaining lines stay in the
        files.
        """
        listing = scan(self.root, extras=False)
        self.report.failures += listing.missed
        self.report.files = len(listing.sources)
        names = {state_name(self.root, source.path): source for source in listing.sources}
        try:
            self._send_pending(names)
            for source in in_reading_order(listing.sources, 0):
                self._deliver_file(source)
        except StoreError as error:
            self.report.error = error
        if not listing.missed:
            self.state.files = {name: point for name, point in self.state.files.items() if name in names}
        self.state.save()
        return self.report

    # -- one file

    def _deliver_file(self, source: SourceFile) -> None:
        if not source.state.size:
            return
        name = state_name(self.root, source.path)
        point = self.state.files.get(name)
        point = point if isinstance(point, dict) else {}
        offset, mtime = non_negative_int(point.get("offset")), non_negative_int(point.get("mtime"))
        if offset == source.state.size and mtime == source.state.mtime // 1_000_000:
            return
        if self.max_file and source.state.size > self.max_file:
            self.report.too_large.append(source.path)
            return
        try:
            with open_source(self.root, source) as file:
                if source.is_whole:
                    self._send_whole(file, source, point)
                elif not (source.kind == "agent" and is_warmup(file, source.state.size)):
                    self._send_lines(file, source, point)
        except (FileNotFoundError, Stale):
            return  # deleted or replaced since the scan; the next run handles it
        except OSError as error:
            self.report.failures.append(f"{source.path}: {error.strerror or error}")

    def _send_whole(self, file: File, source: SourceFile, point: Json) -> None:
        state = state_now(file)
        if state != source.state or not state.size:
            return
        generation = non_negative_int(point.get("generation")) + 1
        self._send_batch(file, _LineBatch(source, 0, state.size, 1, generation))

    def _send_lines(self, file: File, source: SourceFile, point: Json) -> None:
        offset, line, generation = self._resume_position(file, source, point)
        for part in read_lines(file, offset, self.limits):
            if isinstance(part, UnfinishedLine):
                break
            size = part.length if isinstance(part, LongLine) else len(part.data)
            lines = 1 if isinstance(part, LongLine) else part.data.count(b"\n")
            self._send_batch(
                file, _LineBatch(source, offset, offset + size, line, generation, isinstance(part, LongLine))
            )
            offset, line = offset + size, line + lines

    def _resume_position(self, file: File, source: SourceFile, point: Json) -> tuple[int, int, int]:
        """Return (offset, number of the next line, generation) to continue at.

        The position of the state is used if the file has only grown since; otherwise the file is read from its
        beginning.
        """
        offset, generation = non_negative_int(point.get("offset")), non_negative_int(point.get("generation")) or 1
        if not offset:
            return 0, 1, generation
        is_same = offset <= state_now(file).size and read_at(file, 1, offset - 1) == b"\n"
        if is_same and isinstance(point.get("tail"), str):
            is_same = point["tail"] == _tail_hash(file, offset)
        if not is_same:
            self.report.restarted.append(source.path)
            return 0, 1, generation + 1
        return offset, non_negative_int(point.get("line")) or _count_lines(file, offset) + 1, generation

    # -- sending

    def _send_pending(self, names: dict[str, SourceFile]) -> None:
        """Send again the batch for which it is unknown whether the sink accepted it."""
        pending = self.state.section.get("pending")
        if not isinstance(pending, dict):
            return
        source = names.get(str(pending.get("file")))
        start, end = non_negative_int(pending.get("start")), non_negative_int(pending.get("end"))
        if source is not None and end <= source.state.size:
            line, generation = non_negative_int(pending.get("line")), non_negative_int(pending.get("generation"))
            batch = _LineBatch(source, start, end, line, generation, pending.get("is_long") is True)
            try:
                with open_source(self.root, source) as file:
                    self._send_batch(file, batch)
            except (OSError, Stale):
                return
        self.state.section.pop("pending", None)

    def _send_batch(self, file: File, batch: _LineBatch) -> None:
        name = state_name(self.root, batch.source.path)
        bounds = {"start": batch.start, "end": batch.end, "line": batch.line, "generation": batch.generation}
        self.state.section["pending"] = {"file": name, **bounds, "is_long": batch.is_long}
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
            "mtime": batch.source.state.mtime // 1_000_000,
            "line": batch.line + len(records),
            "generation": batch.generation,
            "tail": _tail_hash(file, batch.end),
        }
        self.state.save()

    def _records(self, file: File, batch: _LineBatch) -> Iterator[Record]:
        if (
            batch.source.kind == "agent" and not batch.source.session
        ):  # an agent file next to the sessions names its session in its first line
            session = read_session_id(read_at(file, self.limits.block, 0))
            batch = structs.replace(batch, source=batch.source._replace(session=session))
        if batch.source.is_whole:
            data = read_at(file, batch.end, 0)
            yield self._build_record(batch, (1, 0, len(data)), data, 1)
            return
        if batch.is_long:
            yield self._build_record(batch, (batch.line, batch.start, batch.end - batch.start), None, 1)
            return
        offset = batch.start
        for at, line in enumerate(read_at(file, batch.end - batch.start, batch.start).split(b"\n")[:-1]):
            yield self._build_record(batch, (batch.line + at, offset, len(line) + 1), line, at + 1)
            offset += len(line) + 1

    def _build_record(
        self, batch: _LineBatch, position: tuple[int, int, int], raw: bytes | None, ordinal: int
    ) -> Record:
        source = batch.source
        is_long = raw is None or bool(self.max_line and len(raw) > self.max_line)
        masked = (
            None
            if is_long or raw is None
            else self.policy.mask_document(raw)
            if source.is_whole
            else self.policy.mask_line(raw)
        )
        names = (source.path, source.kind, source.project, source.session, source.agent, file_number(source.path))
        return Record(
            self.state.sequence + ordinal,
            self.state.host,
            *names,
            batch.generation,
            *position,
            source.state.mtime,
            sha256(raw or b"").hexdigest() if raw is not None else "",
            masked.data if masked else None,
            masked.masked if masked else 0,
            masked.withheld if masked else "it is longer than the limit",
        )


def file_number(path: str) -> int:
    """Return a stable number for a file path; without an archive there is no row id."""
    return int.from_bytes(sha256(path.encode()).digest()[:6], "big")


def _tail_hash(file: File, offset: int) -> str:
    begin = max(0, offset - _TAIL_BYTES)
    return sha256(read_at(file, offset - begin, begin)).hexdigest()[:16]


def _count_lines(file: File, offset: int) -> int:
    lines = at = 0
    while at < offset and (data := read_at(file, min(1 << 20, offset - at), at)):
        lines += data.count(b"\n")
        at += len(data)
    return lines


class LimitedSink:
    """A sink wrapper that removes the content of lines longer than a limit; the record itself is still sent."""

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
