"""SQL that selects the current facts of a lake from all rows that were ever appended, for DuckDB and Spark.

The facts of a file are a *chain*: complete rows, and later changes to them. A row names its chain and its version
(`seq`, then `made`), and a deleted row is written as one with `deleted` = 1. The newest row of `fact_file` decides
which chain counts and up to which version, so that no half-written change is seen. Of the rows with the same key and
day the newest counts. Rows of clew 0.1.0 have no chain: there each version is complete, and its chain is its `made`.
"""

from __future__ import annotations

from collections.abc import Collection

from clew.collect.sql.fact_tables import FILE, FactTable

NEWEST = "newest_fact_file"  # the view of the version that counts of each file
_RANK = "version_rank"
_DEFAULTS = {"text": "''", "number": "0", "number or nothing": "NULL"}  # for columns that older rows lack


def newest_versions_sql(present: Collection[str]) -> str:
    """Return the SQL of the view NEWEST, over the table `told_fact_file` with these columns."""
    newest = "row_number() OVER (PARTITION BY host, file ORDER BY seq DESC, made DESC)"
    inner = f"SELECT host, file, seq, made, {_chain('', present)} AS chain, {newest} AS {_RANK} FROM told_{FILE.name}"
    return f"SELECT host, file, seq, made, chain FROM ({inner}) AS v WHERE {_RANK} = 1"


def newest_facts_sql(table: FactTable, present: Collection[str]) -> str:
    """Return the SQL of a view with the current facts, over the table `told_…`; missing columns get defaults."""
    selected = ", ".join(f"{_column(table, name, present)} AS {name}" for name in table.columns)
    inner = ", ".join(f"t.{name}" for name in sorted(present))
    if table is FILE:
        newest = "row_number() OVER (PARTITION BY host, file ORDER BY seq DESC, made DESC)"
        rows = f"SELECT {inner}, {newest} AS {_RANK} FROM told_{table.name} AS t"
        return f"SELECT {selected} FROM ({rows}) AS t WHERE {_RANK} = 1"
    counts = f"{_chain('t.', present)} = n.chain AND {_is_complete('t', 'n')}"
    rows = (
        f"SELECT {inner}, {_rank_in_day(table)} AS {_RANK} FROM told_{table.name} AS t "
        f"JOIN {NEWEST} AS n ON t.host = n.host AND t.file = n.file AND {counts}"
    )
    return f"SELECT {selected} FROM ({rows}) AS t WHERE {_RANK} = 1 AND {_deleted('t.', present)} = 0"


def superseded_sql(table: FactTable, present: Collection[str], before: int) -> str:
    """Return the SQL of the keys and versions of rows that no longer count, of files unchanged since a time in ms."""
    names = ", ".join(f"t.{name}" for name in superseded_columns(table))
    if table is FILE:
        newest = "row_number() OVER (PARTITION BY t.host, t.file ORDER BY t.seq DESC, t.made DESC)"
        is_superseded = f"{_RANK} > 1"
    else:
        chain = _chain("t.", present)
        newest = _rank_in_day(table, chain)
        is_superseded = f"({_RANK} > 1 OR chain <> live_chain OR is_deleted = 1)"
        newest += f" AS {_RANK}, {chain} AS chain, n.chain AS live_chain, {_deleted('t.', present)} AS is_deleted"
    rank = newest if " AS " in newest else f"{newest} AS {_RANK}"
    rows = (
        f"SELECT {names}, {rank} FROM told_{table.name} AS t JOIN {NEWEST} AS n "
        f"ON t.host = n.host AND t.file = n.file AND n.made <= {before} AND {_is_complete('t', 'n')}"
    )
    return f"SELECT {names} FROM ({rows}) AS t WHERE {is_superseded}"


def superseded_columns(table: FactTable) -> list[str]:
    """Return the columns that identify one version of a row; none of them is ever NULL."""
    return list(dict.fromkeys((*table.key, "day", "seq", "made")))


def _rank_in_day(table: FactTable, *more: str) -> str:
    """Return the rank of a row among its versions. The day belongs to its key, so that a query of one day reads
    nothing else.
    """
    key = ", ".join((*(f"t.{name}" for name in (*table.key, "day")), *more))
    return f"row_number() OVER (PARTITION BY {key} ORDER BY t.seq DESC, t.made DESC)"


def _is_complete(row: str, newest: str) -> str:
    return f"({row}.seq < {newest}.seq OR ({row}.seq = {newest}.seq AND {row}.made <= {newest}.made))"


def _chain(prefix: str, present: Collection[str]) -> str:
    return f"coalesce({prefix}chain, {prefix}made)" if "chain" in present else f"{prefix}made"


def _deleted(prefix: str, present: Collection[str]) -> str:
    return f"coalesce({prefix}deleted, 0)" if "deleted" in present else "0"


def _column(table: FactTable, name: str, present: Collection[str]) -> str:
    default = _DEFAULTS[table.columns[name]]
    if name not in present:
        return default
    is_complete = name in table.key or name == "day"  # as it is, so that engines can skip files by it
    return f"t.{name}" if is_complete or default == "NULL" else f"coalesce(t.{name}, {default})"
