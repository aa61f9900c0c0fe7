"""Frames: the answer to a query as a table of polars, pandas or DuckDB."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from clew.collect.sql.open_store import engine_at
from clew.collect.sql.query_result import QueryResult
from clew.errors import StoreError

Kind = Literal["polars", "pandas", "duckdb"]


def frame(query: str, *, store: str | None = None, archive: str | None = None, kind: Kind = "polars") -> Any:
    """The answer to a query over the archive, or over the store at an address.

    A `polars.DataFrame`, a `pandas.DataFrame` or a `duckdb.DuckDBPyRelation`. Raises BadQuery, or StoreError.
    """
    _need(kind)
    with engine_at(store, archive=archive) as engine, engine.run(query) as found:
        return framed(found, kind)


def framed(found: QueryResult, kind: Kind) -> Any:
    """A result as a frame of a kind."""
    if kind == "pandas":
        import pandas

        return pandas.DataFrame.from_records(list(found.rows), columns=found.columns)
    import polars

    made = polars.DataFrame(list(found.rows), schema=found.columns, orient="row", infer_schema_length=None)
    if kind == "polars":
        return made
    import duckdb

    return duckdb.connect().from_arrow(made.to_arrow())


def write_parquet(found: QueryResult, path: str | Path) -> int:
    """A result as a Parquet file; how many rows it has. The file is there already, empty, and its owner's alone."""
    _need("polars")
    made = framed(found, "polars")
    made.write_parquet(path, compression="zstd")
    return int(made.height)


def _need(kind: Kind) -> None:
    wanted = {"polars": ("polars",), "pandas": ("pandas",), "duckdb": ("polars", "duckdb", "pyarrow")}[kind]
    if not all(map(find_spec, wanted)):
        raise StoreError(
            f"{' and '.join(wanted)} is needed for this and not installed.",
            "extra",
            False,
            hint="Install it: pip install " + ("pandas" if kind == "pandas" else "'clew[frame]'"),
        )
