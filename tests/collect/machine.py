"""The state machine: whatever happens to the files, and wherever the collector dies, the promise holds.

The oracle is the disk. After each poll the newest generation of every file is the file, byte for byte; what stood in a file
at any earlier poll is the beginning of some generation; nothing but a change of what was read begins a new one; and a sink
gets every record once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from clew.errors import StoreError
from tests.collect.collect_fixture import World, line, session

PATHS = (session(1), session(2), session(3, "projects/-home-ada-other"))
INDEX = "projects/-home-ada-shop/sessions-index.json"
SMALL = {"block": 64, "stream_above": 200, "commit_bytes": 150}
_paths = st.sampled_from(PATHS)


class Crash(BaseException):
    """The process dies here."""


class Shelf:
    """A sink that takes record by record up to the one that it fails at."""

    name = "shelf"
    leaves = False

    def __init__(self) -> None:
        self.taken: list[tuple[int, int, int]] = []
        self.fails_at: int | None = None

    def write(self, records: Sequence[Any]) -> None:
        if self.fails_at is not None and len(self.taken) + len(records) > self.fails_at:
            raise StoreError("down", "unavailable", True)
        self.taken += [(record.file, record.generation, record.offset) for record in records]

    def close(self) -> None:
        pass


class CollectorMachine(RuleBasedStateMachine):
    @initialize(sure=st.booleans(), window=st.sampled_from([16, 700]))
    def begin(self, sure: bool, window: int) -> None:
        self.sure = sure
        self.world = World(**SMALL, window=window, verify_below=1 << 20 if sure else 0)
        self.number = 0
        self.changes = dict.fromkeys((*PATHS, INDEX), 0)
        self.hidden = False
        self.history: set[tuple[bytes, ...]] = set()
        self.shelf = Shelf()
        self.good = {b""}

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.close()

    # -- what happens to files

    def _file(self, path: str) -> Path:
        return self.world.root / path

    def _data(self, path: str) -> bytes:
        file = self._file(path)
        return file.read_bytes() if file.exists() else b""

    def _next(self, size: int = 0) -> bytes:
        self.number += 1
        return line(self.number, "é" * size)

    def _changed(self, path: str) -> None:
        self.changes[path] += 1

    @rule(path=_paths, sizes=st.lists(st.integers(0, 150), min_size=1, max_size=3))
    def append(self, path: str, sizes: list[int]) -> None:
        self.world.append(path, b"".join(map(self._next, sizes)))

    @rule(path=_paths, cut=st.integers(1, 30))
    def append_partly(self, path: str, cut: int) -> None:
        self.world.append(path, self._next(5)[:-cut])

    @rule(path=_paths)
    def complete(self, path: str) -> None:
        if self._data(path) and not self._data(path).endswith(b"\n"):
            self.world.append(path, b'"}\n')

    @rule(path=_paths)
    def damage(self, path: str) -> None:
        self.world.append(path, b'{"type":"user","cut off{"type":"user","uuid":"x","sessionId":"y"}\n\0\0\0\n\n')

    @precondition(lambda self: self.sure)
    @rule(path=_paths)
    def repeat(self, path: str) -> None:
        """The same lines once more, as files with many equal lines have them."""
        whole = self._data(path)[: self._data(path).rfind(b"\n") + 1]
        self.world.append(path, whole[:600])

    @rule(path=_paths, which=st.integers(0, 5))
    def tombstone(self, path: str, which: int) -> None:
        """One line is removed in place, and what stood behind it moves up."""
        lines = self._data(path).splitlines(keepends=True)
        if len(lines) > which:
            del lines[which]
            self._rewrite(path, b"".join(lines))

    @rule(path=_paths, at=st.integers(0, 400))
    def edit(self, path: str, at: int) -> None:
        """Some bytes are others, and the size is the same."""
        data = self._data(path)
        if len(data) > at + 4 and b"\n" not in data[at : at + 3]:
            self._rewrite(path, data[:at] + b"zzz" + data[at + 3 :])
            self.hidden = True

    @rule(path=_paths, size=st.integers(0, 400))
    def truncate(self, path: str, size: int) -> None:
        if len(self._data(path)) > size:
            os.truncate(self._file(path), size)
            self._changed(path)

    def _rewrite(self, path: str, data: bytes) -> None:
        with open(self._file(path), "r+b") as file:
            file.write(data)
            file.truncate()
        self._changed(path)

    @rule(path=_paths, same=st.booleans())
    def replace(self, path: str, same: bool) -> None:
        """Another file takes the place, atomically; with the same content it is still the same session."""
        if self._data(path):
            draft = self._file(path).with_suffix(".draft")
            draft.write_bytes(self._data(path) if same else self._next(3) + self._next(40))
            draft.replace(self._file(path))
            if not same:
                self._changed(path)

    @rule(path=_paths)
    def delete(self, path: str) -> None:
        self._file(path).unlink(missing_ok=True)
        self._changed(path)

    @rule(old=_paths, new=_paths)
    def move(self, old: str, new: str) -> None:
        if self._file(old).exists() and not self._file(new).exists():
            self._file(new).parent.mkdir(parents=True, exist_ok=True)
            self._file(old).rename(self._file(new))
            self._changed(old)
            self._changed(new)

    @rule(old=_paths, new=_paths)
    def fork(self, old: str, new: str) -> None:
        if self._file(old).exists() and not self._file(new).exists():
            self.world.write(new, self._data(old))
            self._changed(new)

    @rule(whole=st.booleans())
    def write_index(self, whole: bool) -> None:
        """A side file is written anew; a poll may see it half written."""
        self.number += 1
        data = f'{{"version":1,"entries":[{self.number}]}}'.encode()
        self.world.write(INDEX, data if whole else data[:12])
        self._changed(INDEX)
        if whole:
            self.good.add(data)

    # -- what the collector does

    @rule()
    def poll(self) -> None:
        """A change that leaves both ends as they were, in a file that grew, is for the scrub to find."""
        report = self.world.poll(scrub=self.hidden and not self.sure)
        assert not report.failures
        self._holds()

    @rule(after=st.integers(1, 25))
    def die(self, after: int) -> None:
        """The process dies at some statement; another one begins with what was committed."""
        self._at(after, self._die)
        try:
            self.world.poll()
        except Crash:
            pass
        self.world.reopen()

    @staticmethod
    def _die() -> None:
        raise Crash

    @rule(after=st.integers(1, 20), path=_paths, grows=st.booleans())
    def poll_while_written(self, after: int, path: str, grows: bool) -> None:
        """A file changes in the middle of a poll; the next one sees it."""
        happens = self.append if grows else self._new_content
        self._at(after, lambda: happens(path, [20]))
        self.world.poll()
        self.world.connection.exec_trace = None
        self.world.poll(scrub=not self.sure)
        self._holds()

    @rule(fails_at=st.none() | st.integers(0, 8))
    def deliver(self, fails_at: int | None) -> None:
        """A sink takes what is new; if it fails at some record it gets that and the rest later, and nothing twice."""
        outbox = self.world.module("sinks.outbox")
        policy = self.world.module("masking").Policy()
        cursor = outbox.SequenceCursor(self.world.connection, "shelf")
        self.shelf.fails_at = None if fails_at is None else len(self.shelf.taken) + fails_at
        outcome = outbox.Delivery(self.shelf, cursor, self.world.connection, policy).run(0.0)
        assert len(set(self.shelf.taken)) == len(self.shelf.taken), "delivered twice"
        if outcome.error is None:
            joined = "occurrence o JOIN generation g ON g.id = o.generation"
            rows = self.world.connection.execute(f"SELECT g.file, g.number, o.offset FROM {joined}")
            assert set(rows) == set(self.shelf.taken), "not delivered"

    def _new_content(self, path: str, sizes: list[int]) -> None:
        if self._data(path):
            self._rewrite(path, b"".join(map(self._next, [*sizes, 60, 3])))

    def _at(self, after: int, happens: Callable[[], None]) -> None:
        left = [after]

        def trace(cursor: Any, statement: str, bindings: Any) -> bool:
            left[0] -= 1
            if left[0] == 0:
                happens()
            return True

        self.world.connection.exec_trace = trace

    # -- what must hold

    def _holds(self) -> None:
        self.hidden = False
        there, kept = self.world.there(), self.world.kept()
        newest = {file.path: file for file in self.world.archive.files()}
        for path, data in there.items():
            assert kept[path] == _kept_of(data), f"{path} is not what stands on the disk"
            assert not newest[path].is_gone
        for path, file in newest.items():
            assert file.is_gone or self._file(path).exists(), f"{path} is gone, and the archive does not know"
            assert len(self.world.archive.generations(file)) <= 1 + self._total(path), f"{path} began anew without need"
        index = self._data(INDEX)
        possible = {index} if index.endswith(b"}") else self.good
        assert kept.get(INDEX, b"") in possible, "the side file is not what it last was"
        self.good = {kept.get(INDEX, b"")}
        self.history |= {tuple(data.split(b"\n")[:-1]) for data in there.values()}
        generations = [data.split(b"\n") for data in self.world.every_generation()]
        for lines in self.history:
            assert any(tuple(each[: len(lines)]) == lines for each in generations), "what was read is lost"

    def _total(self, path: str) -> int:
        """Changes that this file may have seen, under whatever name."""
        return sum(self.changes.values())


def _kept_of(data: bytes) -> bytes:
    """All of a file but an unfinished line that is too long to be held."""
    end = data.rfind(b"\n") + 1
    return data if len(data) - end <= SMALL["stream_above"] else data[:end]
