"""A host of the first release writes to a lake (version 1). This code is frozen: of the package it uses nothing but the
rows, of which it writes the columns that it knew. It reads no rules, and creates the tables that are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow
from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
from deltalake.exceptions import TableNotFoundError

from tests.collect.postgres_writer_3 import COLUMNS, is_number

Rows = Sequence[Mapping[str, Any]]


def schema(table: str) -> pyarrow.Schema:
    fields = [
        (name, pyarrow.int64() if is_number(table, name) else pyarrow.string()) for name in COLUMNS[table].split()
    ]
    fields = [(name, pyarrow.binary() if name == "raw" else type) for name, type in fields]
    if table != "line":
        fields += [(name, pyarrow.int64()) for name in ("seq", "made") if name not in dict(fields)]
    return pyarrow.schema([*fields, ("on_day", pyarrow.string())])


def write(folder: str, host: str, lines: Rows, facts: Sequence[Mapping[str, Rows]], made: int) -> None:
    """Write lines, and the facts of files; the row of the file last."""
    _append(folder, "line", lines, [Transaction(f"clew-{host}", lines[-1]["seq"])])
    for table in ("fact_turn", "fact_reply", "fact_call", "fact_file"):
        rows = [{**row, "seq": file["fact_file"][0]["seq"], "made": made} for file in facts for row in file[table]]
        if rows:
            _append(folder, table, rows, None)


def _append(folder: str, table: str, rows: Rows, transactions: list[Transaction] | None) -> None:
    uri, layout = f"{folder}/{table}", schema(table)
    values = [{**row, "on_day": row["day"] or "undated"} for row in rows]
    arrays = [pyarrow.array([row[field.name] for row in values], field.type) for field in layout]
    try:
        target = DeltaTable(uri)
    except TableNotFoundError:
        settings = {"delta.checkpointInterval": "20", "delta.logRetentionDuration": "interval 7 days"}
        target = DeltaTable.create(uri, layout, mode="ignore", partition_by=["on_day"], configuration=settings)
    write_deltalake(
        target,
        pyarrow.Table.from_arrays(arrays, schema=layout),
        mode="append",
        schema_mode="merge",
        writer_properties=WriterProperties(compression="ZSTD"),
        commit_properties=CommitProperties(app_transactions=transactions),
    )
