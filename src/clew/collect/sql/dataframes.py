"""Return the result of a query as a polars, pandas or DuckDB table."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from clew.collect.sql.open_store import open_engine
from clew.collect.sql.query_result import QueryResult
from clew.errors import StoreError
from clew.system.extras import install_hint

Kind = Literal["polars", "pandas", "duckdb"]


def frame(query: str, *, store: str | None = None, archive: str | None = None, kind: Kind = "polars") -> Any:
    """Run a query on the archive, or on the store at an address, and return the result as a table.

    The result is a `polars.DataFrame`, a `pandas.DataFrame` or a `duckdb.DuckDBPyRelation`. Raises BadQuery or
    StoreError.
    """
    _require_libraries(kind)
    with open_engine(store, archive=archive) as engine, engine.run(query) as query_result:
        return to_frame(query_result, kind)


def to_frame(query_result: QueryResult, kind: Kind) -> Any:
    """Convert a query result to a table of a library."""
    if kind == "pandas":
        import pandas

        return pandas.DataFrame.from_records(list(query_result.rows), columns=query_result.columns)
    import polars

    table = polars.DataFrame(
        list(query_result.rows), schema=query_result.columns, orient="row", infer_schema_length=None
    )
    if kind == "polars":
        return table
    import duckdb

    return duckdb.connect().from_arrow(table.to_arrow())


def write_parquet(query_result: QueryResult, path: str | Path) -> int:
    """Write a query result to an existing, empty file as Parquet. Returns the number of rows."""
    _require_libraries("polars")
    table = to_frame(query_result, "polars")
    table.write_parquet(path, compression="zstd")
    return int(table.height)


def _require_libraries(kind: Kind) -> None:
    libraries = {"polars": ("polars",), "pandas": ("pandas",), "duckdb": ("polars", "duckdb", "pyarrow")}[kind]
    if not all(map(find_spec, libraries)):
        raise StoreError(
            f"{' and '.join(libraries)} is needed for this and not installed.",
            "extra",
            False,
            hint="Install it with: pip install pandas" if kind == "pandas" else install_hint("data"),
        )
