"""A sink that is a file of JSON lines, for whatever reads those."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from io import FileIO

from clew.collect.archive.archive_schema import make_private
from clew.collect.sinks.record import Record
from clew.errors import StoreError
from clew.wire.json_codec import encode

_STEP = 1 << 16
_RECORD = b'{"seq":'  # how each begins


class JsonLines:
    """Appends to one file, which is opened for each batch and may be moved away between them.

    A crash may have left the beginning of a batch in it, and a torn line: the line is taken back, and when the batch
    comes again it goes on behind the last record that is there.
    """

    leaves = True

    def __init__(self, path: str) -> None:
        self.name = f"file:{path}"
        self.path = path

    def write(self, records: Sequence[Record]) -> None:
        try:
            make_private(self.path)
            with open(self.path, "r+b", buffering=0) as file:
                self._append(file, records)
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}.", "io", True) from error

    def _append(self, file: FileIO, records: Sequence[Record]) -> None:
        last = self._mend(file)
        names = [(each.host, each.seq) for each in records]
        start = names.index(last) + 1 if last in names else 0
        data = memoryview(b"".join(encode(each.to_json()) + b"\n" for each in records[start:]))
        file.seek(0, os.SEEK_END)
        while data:
            data = data[file.write(data) :]
        os.fsync(file.fileno())

    def close(self) -> None:
        """Nothing stays open."""

    def _mend(self, file: FileIO) -> tuple[str, int] | None:
        """Take back a line that a crash left unfinished; the name of the last whole one."""
        size = end = file.seek(0, os.SEEK_END)
        held = b""
        while end > 0 and held.count(b"\n") < 2:
            start = max(0, end - _STEP)
            file.seek(start)
            held, end = file.read(end - start) + held, start
        whole = held.rfind(b"\n") + 1
        last = held[:whole].removesuffix(b"\n").rpartition(b"\n")[2]
        name = self._name(last) if last else None
        if not _RECORD.startswith(held[whole:][: len(_RECORD)]):
            raise self._stranger()
        if end + whole < size:
            file.truncate(end + whole)
        return name

    def _name(self, line: bytes) -> tuple[str, int]:
        try:
            value = json.loads(line)
            return str(value["host"]), int(value["seq"])
        except (ValueError, KeyError, TypeError):
            raise self._stranger() from None

    def _stranger(self) -> StoreError:
        stranger = StoreError(f"{self.path} holds other things than records.", "refused", False)
        stranger.hint = "Name another file."
        return stranger
