"""Read the transactions of all hosts from the log of a lake table at once.

delta-rs reads the log again for each of them, which takes a second for a thousand hosts.
"""

from __future__ import annotations

import re

import pyarrow
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, PyFileSystem, SubTreeFileSystem

from clew.collect.sinks.lake.delta_tables import Lake
from clew.wire.json_codec import decode

_LOG = "_delta_log"
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.\d{10}\.\d{10})?\.parquet")


class TransactionLog:
    """The transactions of one table. What was read is remembered, and only newer commits are read."""

    def __init__(self, lake: Lake, name: str) -> None:
        self.lake = lake
        self.name = name
        self._version = -1
        self._known: dict[str, int] = {}

    def read(self, table: DeltaTable) -> dict[str, int]:
        """Return the number of each transaction, as of the version of `table`. Raises StoreError."""
        with self.lake.translate_errors():
            version = table.version()
            if version < self._version:  # the table was created again
                self._version, self._known = -1, {}
            if version > self._version:
                files = self._open()
                begin = self._read_checkpoint(files, version) if self._version < 0 else self._version
                for number in range(begin + 1, version + 1):
                    self._read_commit(files, number)
                self._version = version
        return self._known

    def _open(self) -> FileSystem:
        if self.lake.options:
            return PyFileSystem(DeltaStorageHandler(self.lake.uri(self.name), self.lake.options))
        return SubTreeFileSystem(self.lake.uri(self.name), LocalFileSystem())

    def _read_checkpoint(self, files: FileSystem, version: int) -> int:
        """Read the newest checkpoint that is not after a version; return its version, -1 if there is none."""
        names = [entry.base_name for entry in files.get_file_info(FileSelector(_LOG))]
        found = [(int(match[1]), name) for name in names if (match := _CHECKPOINT.fullmatch(name))]
        newest = max((number for number, _ in found if number <= version), default=-1)
        for number, name in found:
            if number == newest:
                with files.open_input_file(f"{_LOG}/{name}") as source:
                    column: pyarrow.ChunkedArray = parquet.read_table(source, columns=["txn"]).column("txn")
                for entry in column.drop_null().to_pylist():
                    if entry["appId"] is not None:
                        self._known[entry["appId"]] = int(entry["version"])
        return newest

    def _read_commit(self, files: FileSystem, number: int) -> None:
        with files.open_input_stream(f"{_LOG}/{number:020}.json") as source:
            lines = source.read().split(b"\n")
        for line in lines:
            if line.startswith(b'{"txn"'):
                entry = decode(line)["txn"]
                self._known[entry["appId"]] = int(entry["version"])
