"""A sink that is a folder of Parquet files, one for each batch, for whatever reads those.

A file is named by the host and the first line in it. A batch that comes again begins with the same line, holds as much or
more, and takes the place of the file: nothing is there twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from clew.collect.archive.archive_schema import make_private
from clew.collect.sinks.lake.delta_tables import table_of
from clew.collect.sinks.record import Record
from clew.collect.sql.line_rows import LINE, line_row
from clew.errors import StoreError

try:
    from pyarrow import parquet
except ImportError:
    missing = StoreError("pyarrow is needed for this and not installed.", "extra", False)
    missing.hint = "Install it: pip install 'clew[lake]'"
    raise missing from None


class ParquetFiles:
    """Writes each file whole, under a name that no reader looks at, and gives it its own name then."""

    leaves = True

    def __init__(self, folder: str) -> None:
        self.name = f"parquet:{folder}"
        self.folder = folder

    def write(self, records: Sequence[Record]) -> None:
        rows = [line_row(each) for each in records]
        days = [str(row[list(LINE.columns).index("day")]) for row in rows]
        path = str(Path(self.folder) / f"{records[0].host}-{records[0].seq:012}.parquet")
        half = f"{path}.half"
        try:
            Path(half).unlink(missing_ok=True)
            make_private(half)
            parquet.write_table(
                table_of(LINE.name, rows, days, [each.raw for each in records]), half, compression="zstd"
            )
            with open(half, "rb") as file:
                os.fsync(file.fileno())
            Path(half).replace(path)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}.", "io", True) from error

    def close(self) -> None:
        """Nothing stays open."""
