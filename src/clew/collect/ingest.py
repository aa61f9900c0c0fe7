"""Read what is new in one file and pass it to the archive writer together with the new position."""

from __future__ import annotations

from hashlib import sha256

from clew.collect.archive.archive_writer import CHANGED, RACY, SETTLED, ArchiveWriter
from clew.collect.archive.known_files import KnownFile
from clew.collect.discovery import SourceFile, SourceState
from clew.collect.fingerprint import ReadPosition, ReadVerdict, extend_chain, verify_prefix
from clew.collect.line_reader import LongLine, UnfinishedLine
from clew.collect.poll_report import FileFailed, PollReport, Reset
from clew.collect.prepared_lines import Precursor, PreparedLines
from clew.collect.read_ahead import ReadAhead
from clew.collect.repair_archive import repair_generation
from clew.collect.safe_open import File, open_source, read_at, state_now
from clew.wire.entry import Entry, parse_line, read_piece
from clew.wire.json_codec import decode
from clew.wire.line import Line

_MAX_STUB_BYTES = 1 << 16  # larger files are not warm-up stubs


class FileIngester:
    """Ingests files below a root, one after the other."""

    def __init__(
        self, root: str, number: int, writer: ArchiveWriter, reader: ReadAhead, report: PollReport, now: int
    ) -> None:
        self.root = root
        self.number = number
        self.writer = writer
        self.reader = reader
        self.limits = writer.limits
        self.report = report
        self.now = now
        self.reserved = 0
        """The number that a new generation of the next file gets, unless it is taken."""

    def ingest(self, source: SourceFile, known: KnownFile | None, *, must_verify: bool = False) -> None:
        """Add everything new in a file. `must_verify` first compares everything that was read of it before."""
        id = known.id if known else self.writer.add_file(self.number, source, self.now)
        if source.state.size == 0 and not (known and known.generation):
            self.writer.save_state(id, source.state, SETTLED)
            return
        self.report.opened += 1
        with open_source(self.root, source) as file:
            if source.is_whole:
                self._ingest_document(file, source, id, known, must_verify)
            else:
                self._ingest_lines(file, source, id, known, must_verify)

    # -- whole files

    def _ingest_document(
        self, file: File, source: SourceFile, id: int, known: KnownFile | None, must_verify: bool
    ) -> None:
        """Add a side file as one document, if it did not change during the read and, for `.json`, is complete."""
        state = state_now(file)
        if state.size > self.limits.max_stored:
            self.report.failures.append(FileFailed(source.path, "it is too long to be kept"))
            self.writer.save_state(id, state, SETTLED)
            return
        data = read_at(file, state.size, 0)
        after = state_now(file)
        if after != state or len(data) != state.size:
            self.report.unsettled.append(source.path)
            return
        hash = sha256(self.writer.key + data).digest()
        is_new = known is None or known.generation is None or known.mark.chain != hash
        if is_new and (not source.path.endswith(".json") or _is_json(data)):
            number = known.number + 1 if known else 1
            reason = "changed" if number > 1 else "new"
            generation = self.writer.begin_generation(id, number, reason, self.now, self.reserved)
            self.writer.add_document(generation, data)
            self.writer.save_position(generation, ReadPosition(len(data), 1, hash))
            self.writer.save_unfinished(generation, b"", state.mtime)
            self.report.lines += 1
            self.report.bytes += len(data)
        elif known and known.generation and must_verify and not is_new:
            self._repair_document(known.generation, file, source, data)
        self.writer.save_state(id, state, self._trust(state, after))
        self.writer.settle()

    def _repair_document(self, generation: int, file: File, source: SourceFile, data: bytes) -> None:
        if not self._repair(generation, file, source, b""):
            self.writer.add_document(generation, data)

    # -- files that grow by lines

    def _ingest_lines(
        self, file: File, source: SourceFile, id: int, known: KnownFile | None, must_verify: bool
    ) -> None:
        state = state_now(file)
        verdict = self._verdict(file, state, known, must_verify)
        generation = known.generation if known and not verdict.reason else None
        if generation is None:
            number = known.number + 1 if known else 1
            generation = self.writer.begin_generation(id, number, verdict.reason or "new", self.now, self.reserved)
            if verdict.reason:
                self.report.resets.append(Reset(source.path, verdict.reason, number))
        is_stub = bool(known and known.is_stub and not verdict.reason)
        position = verdict.position
        if must_verify and known and not verdict.reason and not self._repair(generation, file, source, b"\n"):
            position = ReadPosition(0, 0, self.writer.key)
        remainder = UnfinishedLine(b"", 0)
        for chunk in self.reader.chunks(file, source.path, state, position.offset):
            if is_stub and (chunk.lines or chunk.long):
                self.writer.unmark_stub(generation)
                is_stub = False
            if chunk.lines:
                if not position.offset and not source.session:
                    self._save_owner(source, id, read_at(file, chunk.lines.lengths[0], 0))
                position = self._add_lines(generation, position, chunk.lines)
            if chunk.long:
                position = self._add_long_line(file, source, generation, position, chunk.long)
            remainder = chunk.unfinished or remainder
        if source.kind == "agent" and position.lines == 1 and not remainder.size and is_warmup(file, position.offset):
            self.writer.mark_stub(generation)
        self.writer.save_unfinished(generation, remainder.data, state.mtime)
        self.writer.save_state(id, state, self._trust(state, state_now(file)))
        self.report.pending += remainder.size
        self.writer.settle()

    def _verdict(self, file: File, state: SourceState, known: KnownFile | None, must_verify: bool) -> ReadVerdict:
        key = self.writer.key
        if known is None or known.generation is None:
            return ReadVerdict(ReadPosition(0, 0, key))
        if must_verify:
            self.report.scrubbed += 1
            self.writer.save_scrub(known.id, self.now)
        return verify_prefix(
            file, state, known.state, known.mark, key, self.limits, must_verify=must_verify or known.trust == CHANGED
        )

    def _repair(self, generation: int, file: File, source: SourceFile, end: bytes) -> bool:
        """Repair what the archive has of a file. Return False if its lines were removed and must be read again."""
        before = self.writer.repaired
        is_whole = repair_generation(self.writer, generation, file, end)
        if not is_whole:
            self.writer.clear_generation(generation)
        if self.writer.repaired > before:
            self.report.repaired.append(source.path)
        return is_whole

    def _add_lines(self, generation: int, position: ReadPosition, lines: PreparedLines) -> ReadPosition:
        self.report.damaged += lines.damaged
        sums = lines.compute_sums(Precursor(generation, *position[:3]))
        self.writer.add_lines(generation, position, lines, sums.sums)
        ends = lines.first, lines.last
        new = position.advance(lines.size, len(lines.lengths), sums.chain, ends, self.limits.window)
        return self._move(generation, position, new)

    def _add_long_line(
        self, file: File, source: SourceFile, generation: int, position: ReadPosition, line: LongLine
    ) -> ReadPosition:
        if line.length - 1 > self.limits.max_stored:
            self.report.too_long.append(f"{source.path}:{position.lines + 1}")
        end = min(self.limits.window, line.length)
        first = read_at(file, end, line.offset)
        last = read_at(file, end, line.offset + line.length - end)
        self.writer.add_long_line(generation, position.lines + 1, line, file)
        chain = extend_chain(position.chain, [line.hash])
        new = position.advance(line.length, 1, chain, (first, last), self.limits.window)
        return self._move(generation, position, new)

    def _move(self, generation: int, position: ReadPosition, new: ReadPosition) -> ReadPosition:
        """Save a position together with the lines before it."""
        self.report.lines += new.lines - position.lines
        self.report.bytes += new.offset - position.offset
        self.writer.save_position(generation, new)
        self.writer.settle()
        return new

    def _save_owner(self, source: SourceFile, id: int, data: bytes) -> None:
        """Save the session that an agent file next to the sessions names in its first line."""
        if source.kind == "agent" and (session := read_session_id(data)):
            self.writer.save_owner(id, session)

    def _trust(self, before: SourceState, after: SourceState) -> int:
        """Return how far the metadata can be trusted to show the next change.

        A change within the same tick of the file system's clock leaves the metadata equal, and so may one during the
        read.
        """
        if before != after:
            return CHANGED
        return RACY if abs(self.now - before.ctime) < self.limits.racy else SETTLED


def read_session_id(data: bytes) -> str:
    """Return the session id in the first line; empty if there is none."""
    items = read_piece(data[: data.find(b"\n") + 1], 0, 1)
    return next((item.session_id for item in items if isinstance(item, Entry) and item.session_id), "")


def _is_json(data: bytes) -> bool:
    try:
        decode(data)
    except ValueError:
        return False
    return bool(data.strip())


def is_warmup(file: File, size: int) -> bool:
    """Return whether a file is a stub that Claude Code left: one line with the text "Warmup"."""
    if size > _MAX_STUB_BYTES:
        return False
    data = read_at(file, size, 0)
    item = parse_line(Line(1, 0, data, 0, len(data)))
    return isinstance(item, Entry) and item.text == "Warmup"
