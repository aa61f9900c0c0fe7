"""Taking one file: what is new in it goes to the writer, with the place behind it."""

from __future__ import annotations

import json
from hashlib import sha256

import msgspec

from clew.collect.archive.archive_writer import CHANGED, RACY, SETTLED, ArchiveWriter, KnownFile, Trouble
from clew.collect.discovery import FileState, SourceFile
from clew.collect.fingerprint import ReadPosition, ReadVerdict, judge
from clew.collect.line_reader import Long, Rest, Some, cut
from clew.collect.poll_report import FileFailed, PollReport, Reset
from clew.collect.safe_open import File, open_found, read_at, state_now
from clew.wire.entry import DECODE_ERRORS, Damaged, Entry, find_line_starts, parse_line, read_piece
from clew.wire.json_codec import decode
from clew.wire.line import Line


class _Object(msgspec.Struct):
    """Any JSON object: all that a line has to be."""


_DECODER = msgspec.json.Decoder(_Object)
_WARMUP = 1 << 16  # a stub is no longer than this


class Taker:
    """Takes files below a root, one after the other."""

    def __init__(self, root: str, number: int, writer: ArchiveWriter, report: PollReport, now: int) -> None:
        self.root = root
        self.number = number
        self.writer = writer
        self.limits = writer.limits
        self.report = report
        self.now = now

    def take(self, found: SourceFile, known: KnownFile | None, *, doubted: bool = False) -> None:
        """Everything that is new in a file. `doubted` asks for all that was read of it to be compared first."""
        id = known.id if known else self.writer.add_file(self.number, found, self.now)
        if found.state.size == 0 and not (known and known.generation):
            self.writer.save_state(id, found.state, SETTLED)
            return
        self.report.opened += 1
        with open_found(self.root, found) as file:
            if found.is_whole:
                self._whole(file, found, id, known)
            else:
                self._lines(file, found, id, known, doubted)

    # -- whole files

    def _whole(self, file: File, found: SourceFile, id: int, known: KnownFile | None) -> None:
        """A side file in one piece, if it stood still and, where it is JSON, is whole."""
        state = state_now(file)
        if state.size > self.limits.longest:
            self.report.failures.append(FileFailed(found.path, "it is too long to be kept"))
            self.writer.save_state(id, state, SETTLED)
            return
        data = read_at(file, state.size, 0)
        after = state_now(file)
        if after != state or len(data) != state.size:
            self.report.unsettled.append(found.path)
            return
        hash = sha256(self.writer.key + data).digest()
        is_new = known is None or known.generation is None or known.mark.chain != hash
        if is_new and (not found.path.endswith(".json") or _is_json(data)):
            number = known.number + 1 if known else 1
            generation = self.writer.begin_generation(id, number, "changed" if number > 1 else "new", self.now)
            self.writer.add_whole(generation, data)
            self.writer.save_place(generation, ReadPosition(len(data), 1, hash))
            self.writer.save_rest(generation, b"", state.mtime)
            self.report.lines += 1
            self.report.bytes += len(data)
        self.writer.save_state(id, state, self._trust(state, after))
        self.writer.settle()

    # -- files that grow by lines

    def _lines(self, file: File, found: SourceFile, id: int, known: KnownFile | None, doubted: bool) -> None:
        state = state_now(file)
        verdict = self._verdict(file, state, known, doubted)
        generation = known.generation if known and not verdict.reason else None
        if generation is None:
            number = known.number + 1 if known else 1
            generation = self.writer.begin_generation(id, number, verdict.reason or "new", self.now)
            if verdict.reason:
                self.report.resets.append(Reset(found.path, verdict.reason, number))
        is_stub = bool(known and known.is_stub and not verdict.reason)
        place = verdict.place
        rest = Rest(b"", 0)
        for part in cut(file, place.offset, self.limits):
            if isinstance(part, Rest):
                rest = part
                break
            if is_stub:
                self.writer.wake_stub(generation)
                is_stub = False
            if place.offset == 0 and isinstance(part, Some) and not found.session:
                self._own(found, id, part.data)
            place = self._add(file, generation, place, part)
            self.writer.save_place(generation, place)
            self.writer.settle()
        if found.kind == "agent" and place.lines == 1 and not rest.size and is_warmup(file, place.offset):
            self.writer.make_stub(generation)
        self.writer.save_rest(generation, rest.data, state.mtime)
        self.writer.save_state(id, state, self._trust(state, state_now(file)))
        self.report.pending += rest.size
        self.writer.settle()

    def _verdict(self, file: File, state: FileState, known: KnownFile | None, doubted: bool) -> ReadVerdict:
        key = self.writer.key
        if known is None or known.generation is None:
            return ReadVerdict(ReadPosition(0, 0, key))
        if doubted:
            self.report.scrubbed += 1
            self.writer.save_scrub(known.id, self.now)
        return judge(file, state, known.state, known.mark, key, self.limits, doubted=doubted or known.trust == CHANGED)

    def _add(self, file: File, generation: int, place: ReadPosition, part: Some | Long) -> ReadPosition:
        window = self.limits.window
        if isinstance(part, Long):
            end = min(window, part.length)
            first = read_at(file, end, part.offset)
            last = read_at(file, end, part.offset + part.length - end)
            self.writer.add_long(generation, place.lines + 1, part, file)
            self.report.lines += 1
            self.report.bytes += part.length
            return place.skip(first, last, part.length, part.hash, window)
        lines = part.data.split(b"\n")[:-1]
        hashes = [sha256(line).digest() for line in lines]
        bad = troubles(part.data, place)
        self.report.damaged += len(bad)
        self.writer.add_lines(generation, place, lines, hashes, bad)
        self.report.lines += len(lines)
        self.report.bytes += len(part.data)
        return place.after(part.data, hashes, len(lines), window)

    def _own(self, found: SourceFile, id: int, data: bytes) -> None:
        """An agent beside the sessions names its session inside."""
        if found.kind == "agent" and (session := session_in(data)):
            self.writer.save_owner(id, session)

    def _trust(self, before: FileState, after: FileState) -> int:
        """A change within the same tick of the file system's clock does not show; nor does one during the read."""
        if before != after:
            return CHANGED
        return RACY if abs(self.now - before.ctime) < self.limits.racy else SETTLED


def session_in(data: bytes) -> str:
    """The session that the first line names; an empty string if it names none."""
    items = read_piece(data[: data.find(b"\n") + 1], 0, 1)
    return next((item.session_id for item in items if isinstance(item, Entry) and item.session_id), "")


def troubles(data: bytes, place: ReadPosition) -> list[Trouble]:
    """The lines that are not one JSON object each, with what could be saved from them; white space is none."""
    try:
        found = _DECODER.decode_lines(data)
    except DECODE_ERRORS:
        found = []
    if found and find_line_starts(data, len(found)):
        return []
    items = read_piece(data, place.offset, place.lines + 1)
    return [_trouble(item) for item in items if isinstance(item, Damaged)]


def _trouble(item: Damaged) -> Trouble:
    saved = [[entry.line.offset, entry.line.end - entry.line.offset] for entry in item.salvaged]
    line = item.line
    return Trouble(line.offset, line.end - line.offset, item.kind, item.reason[:200], json.dumps(saved))


def _is_json(data: bytes) -> bool:
    try:
        decode(data)
    except ValueError:
        return False
    return bool(data.strip())


def is_warmup(file: File, size: int) -> bool:
    """A stub that the program left: the word Warmup and no second line."""
    if size > _WARMUP:
        return False
    data = read_at(file, size, 0)
    item = parse_line(Line(1, 0, data, 0, len(data)))
    return isinstance(item, Entry) and item.text == "Warmup"
