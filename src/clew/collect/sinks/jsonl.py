"""Append records to a file of JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from io import FileIO

from clew.collect.archive.archive_schema import create_private
from clew.collect.sinks.record import Record
from clew.errors import StoreError
from clew.wire.json_codec import encode

_BLOCK_BYTES = 1 << 16
_RECORD_START = b'{"seq":'  # every record begins with it


class JsonLines:
    """Appends to one file, which is opened for each batch and may be moved away in between.

    After a crash the file may end with part of a batch and a torn line. The torn line is removed, and when the batch
    is sent again, only the records that are not at the end of the file are appended.
    """

    leaves = True

    def __init__(self, path: str) -> None:
        self.name = f"file:{path}"
        self.path = path

    def write(self, records: Sequence[Record]) -> None:
        try:
            create_private(self.path)
            with open(self.path, "r+b", buffering=0) as file:
                self._append(file, records)
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror}.", "io", True) from error

    def _append(self, file: FileIO, records: Sequence[Record]) -> None:
        last = self._remove_torn_line(file)
        names = [(record.host, record.seq, record.hash) for record in records]
        known = set(names[: names.index(last) + 1]) if last in names else set()
        if last and last[1] >= records[0].seq and records[-1].mark is not None:
            known = self._known_names(file, records)
        new = [record for record, name in zip(records, names, strict=True) if name not in known]
        data = memoryview(b"".join(encode(record.to_json()) + b"\n" for record in new))
        file.seek(0, os.SEEK_END)
        while data:
            data = data[file.write(data) :]
        os.fsync(file.fileno())

    def _known_names(self, file: FileIO, records: Sequence[Record]) -> set[tuple[str, int, str]]:
        """Return the names of the records at the end of the file that may be those of a batch that is sent again."""
        known: set[tuple[str, int, str]] = set()
        end, rest = file.seek(0, os.SEEK_END), b""
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            file.seek(start)
            lines = (file.read(end - start) + rest).split(b"\n")
            rest, end = lines[0] if start else b"", start
            names = [self._parse_record_name(line) for line in lines[1 if start else 0 :] if line]
            known.update(names)
            if any(name[1] < records[0].seq for name in names):
                break
        return known

    def close(self) -> None:
        """Nothing stays open."""

    def _remove_torn_line(self, file: FileIO) -> tuple[str, int, str] | None:
        """Remove an unfinished last line; return host, number and hash of the last complete record."""
        size = end = file.seek(0, os.SEEK_END)
        buffer = b""
        while end > 0 and buffer.count(b"\n") < 2:
            start = max(0, end - _BLOCK_BYTES)
            file.seek(start)
            buffer, end = file.read(end - start) + buffer, start
        complete = buffer.rfind(b"\n") + 1
        last = buffer[:complete].removesuffix(b"\n").rpartition(b"\n")[2]
        name = self._parse_record_name(last) if last else None
        if not _RECORD_START.startswith(buffer[complete:][: len(_RECORD_START)]):
            raise self._foreign_content_error()
        if end + complete < size:
            file.truncate(end + complete)
        return name

    def _parse_record_name(self, line: bytes) -> tuple[str, int, str]:
        try:
            value = json.loads(line)
            return str(value["host"]), int(value["seq"]), str(value["hash"])
        except (ValueError, KeyError, TypeError):
            raise self._foreign_content_error() from None

    def _foreign_content_error(self) -> StoreError:
        return StoreError(
            f"{self.path} contains lines that are not records.", "refused", False, hint="Use another file."
        )
