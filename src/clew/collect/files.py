"""A sink that is a file of JSON lines, for whatever reads those."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from clew.collect.record import Record
from clew.collect.schema import make_private
from clew.errors import StoreError
from clew.wire.encode import encode

_STEP = 1 << 16
_RECORD = b'{"seq":'  # how each begins


class JsonLines:
    """Appends to one file.

    A crash may have left the beginning of a batch in it, and a torn line: the line is taken back, and when the batch
    comes again it goes on behind the last record that is there.
    """

    leaves = True

    def __init__(self, path: str) -> None:
        self.name = f"file:{path}"
        self.path = path
        make_private(path)
        self._file = open(path, "r+b")  # noqa: SIM115 - closed by `close`
        try:
            self._last = self._mend()
        except StoreError:
            self._file.close()
            raise

    def write(self, records: Sequence[Record]) -> None:
        names = [(each.host, each.seq) for each in records]
        start = names.index(self._last) + 1 if self._last in names else 0
        try:
            self._file.seek(0, os.SEEK_END)
            self._file.write(b"".join(encode(each.to_json()) + b"\n" for each in records[start:]))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._last = self._mend()
            raise StoreError(f"{self.path}: {error.strerror}.", "io", True) from error
        self._last = None

    def close(self) -> None:
        self._file.close()

    def _mend(self) -> tuple[str, int] | None:
        """Take back a line that a crash left unfinished; the name of the last whole one."""
        end = self._file.seek(0, os.SEEK_END)
        held = b""
        while end > 0 and held.count(b"\n") < 2:
            start = max(0, end - _STEP)
            self._file.seek(start)
            held, end = self._file.read(end - start) + held, start
        whole = held.rfind(b"\n") + 1
        last = held[:whole].removesuffix(b"\n").rpartition(b"\n")[2]
        name = self._name(last) if last else None
        if not _RECORD.startswith(held[whole:][: len(_RECORD)]):
            raise StoreError(f"{self.path} holds other things than records.", "refused", False)
        self._file.truncate(end + whole)
        return name

    def _name(self, line: bytes) -> tuple[str, int]:
        try:
            value = json.loads(line)
            return str(value["host"]), int(value["seq"])
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"{self.path} holds other things than records.", "refused", False) from None
