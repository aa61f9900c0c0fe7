"""Write each batch of records as one Parquet file in a folder.

A file is named after the host and its first record. A batch that is sent again begins with the same record, contains
as much or more, and replaces the file: nothing is stored twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from clew.collect.archive.archive_schema import create_private
from clew.collect.sinks.lake.delta_tables import build_table
from clew.collect.sinks.record import Record
from clew.collect.sql.line_rows import LINE, build_line_row
from clew.errors import StoreError
from clew.system.extras import install_hint

try:
    from pyarrow import parquet
except ImportError:
    raise StoreError(
        "pyarrow is needed for this and not installed.", "extra", False, hint=install_hint("data")
    ) from None


class ParquetFiles:
    """Writes each file completely under a temporary name, then renames it."""

    leaves = True

    def __init__(self, folder: str) -> None:
        self.name = f"parquet:{folder}"
        self.folder = folder

    def write(self, records: Sequence[Record]) -> None:
        rows = [build_line_row(record) for record in records]
        days = [str(row[list(LINE.columns).index("day")]) for row in rows]
        path = self._choose_path(records)
        temporary = f"{path}.half"
        try:
            Path(temporary).unlink(missing_ok=True)
            create_private(temporary)
            parquet.write_table(
                build_table(LINE.name, rows, days, [record.raw for record in records]), temporary, compression="zstd"
            )
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}.", "io", True) from error

    def _choose_path(self, records: Sequence[Record]) -> str:
        """Return the file to write. One that has other records, of an archive that was put back, is not replaced."""
        name = f"{records[0].host}-{records[0].seq:012}"
        path = Path(self.folder) / f"{name}.parquet"
        if path.exists():
            known = parquet.read_table(path, columns=["hash"]).column("hash").to_pylist()
            hashes = [record.hash for record in records]
            if known != hashes[: len(known)]:
                return str(path.with_name(f"{name}-{sha256(''.join(hashes).encode()).hexdigest()[:12]}.parquet"))
        return str(path)

    def close(self) -> None:
        """Nothing stays open."""
