"""`clew sql`: query the archive or a store with SQL."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from math import inf

from clew.cli.options import add_common_options, parse_number
from clew.cli.output import json_line, one_line, print_csv, print_json, print_message
from clew.errors import Refused
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from clew.collect.sql.query_result import Cell, QueryEngine, QueryResult

    Row = tuple[Cell, ...]

_FORMATS = ("table", "csv", "json", "parquet")
_LAID_OUT = 1000  # rows that decide how wide columns are; the others are printed as they come
_WIDEST = 60  # columns of a cell in a table


def add_arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "query", nargs="?", help="one query; from stdin if it is - or left out; --views lists what it can ask"
    )
    command.add_argument("--store", metavar="URL", help="ask a store: postgresql://…, s3://… or delta:FOLDER")
    command.add_argument(
        "--engine", choices=("duckdb", "spark"), default="duckdb", help="what reads s3://… and delta:FOLDER"
    )
    command.add_argument("--token-file", metavar="FILE", help="the password for the store, in a file")
    command.add_argument("--archive", metavar="FILE", help="another archive (default: in ~/.local/share/clew)")
    command.add_argument("--format", choices=_FORMATS, help="table (the default), csv, json lines, or parquet")
    command.add_argument("--output", "-o", metavar="FILE", help="write there (a new file, 0600) and not to stdout")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    command.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=parse_number,
        default=inf,
        help="end a query that takes longer (default: never)",
    )
    command.add_argument("--views", action="store_true", help="list what can be asked, with its columns")
    add_common_options(command)


def run(options: Namespace) -> int:
    from pathlib import Path

    from clew.cli.progress import ProgressBar
    from clew.collect.sql.open_store import open_engine

    form = "json" if options.json else options.format or "table"
    query = "" if options.views else _query(options.query)
    if form == "parquet" and not options.output:
        raise Refused(["Parquet is not text; name a file with --output"])
    password = Path(options.token_file).expanduser().read_text().strip() if options.token_file else ""
    progress, reader = ProgressBar("Reading new lines", 0.0, quiet=options.quiet).update, options.engine
    with open_engine(
        options.store,
        archive=options.archive,
        password=password,
        progress=progress,
        engine=reader,
        timeout=options.timeout,
    ) as engine:
        if options.views:
            return _list(engine, form)
        _print_damage(engine)
        with engine.run(query) as result:
            return _write(result if options.reveal else _masked(result), form, options)


def _print_damage(engine: QueryEngine) -> None:
    """Name lines of the archive that are damaged and therefore missing from the answer."""
    from clew.collect.sql.archive_engine import SqliteEngine

    damaged = engine.damaged_lines() if isinstance(engine, SqliteEngine) else []
    if damaged:
        path, line = damaged[0]
        others = f" and {plural(len(damaged) - 1, 'other line')}" if len(damaged) > 1 else ""
        print_message(f"Left out: line {line} of {path}{others}, damaged in the archive. See: clew collect verify")


def _list(engine: QueryEngine, form: str) -> int:
    from clew.collect.sql.views import VIEWS

    for name in VIEWS:
        with engine.run(f"SELECT * FROM {name} WHERE 1 = 0") as result:
            if form == "json":
                print_json([{"kind": "view", "name": name, "columns": result.columns}])
            else:
                print(f"{name}: {', '.join(result.columns)}")
    return 0


def _query(given: str | None) -> str:
    query = sys.stdin.read() if given in (None, "-") else str(given)
    if not query.strip():
        raise Refused(["the query is empty; try: clew sql 'SELECT * FROM usage_daily'"])
    return query


def _masked(result: QueryResult) -> QueryResult:
    from clew.collect.sql.query_result import QueryResult
    from clew.facts.secrets.mask_secrets import mask

    def cell(value: Cell) -> Cell:
        return mask(value)[0] if isinstance(value, str) else value

    return QueryResult(result.columns, (tuple(cell(value) for value in row) for row in result.rows))


def _write(result: QueryResult, form: str, options: Namespace) -> int:
    """All of it, in a form; 1 if there is nothing."""
    if options.output is None:
        return 0 if _print(result, form, sys.stdout) else 1
    with _new_file(options.output) as descriptor:
        if form == "parquet":
            from clew.collect.sql.dataframes import write_parquet

            rows = write_parquet(result, options.output)
        else:
            with open(descriptor, "w", encoding="utf-8", newline="", closefd=False) as file:
                rows = _print(result, form, file)
    if not options.quiet:
        print_message(f"{plural(rows, 'row')} written to {options.output}.")
    return 0 if rows else 1


@contextmanager
def _new_file(path: str) -> Iterator[int]:
    """Yield a file for its owner alone, that is gone again if nothing came to be in it."""
    from pathlib import Path

    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    is_whole = False
    try:
        yield descriptor
        is_whole = True
    finally:
        os.close(descriptor)
        if not is_whole:
            Path(path).unlink()


def _print(result: QueryResult, form: str, file: TextIO) -> int:
    if form == "json":
        values = ({"kind": "row", "row": dict(zip(result.columns, row, strict=True))} for row in result.rows)
        return _json(values, file)
    if form == "csv":
        return print_csv(result.columns, result.rows, file)
    return _table(result, file)


def _json(values: Iterable[Mapping[str, object]], file: TextIO) -> int:
    if file is sys.stdout:
        return print_json(values)
    return sum(bool(file.write(json_line(value).decode())) for value in values)


def _table(result: QueryResult, file: TextIO) -> int:
    from clew.system.table_layout import column_widths, join_cells
    from clew.view.sanitize import columns as cell_width

    first = list(islice(result.rows, _LAID_OUT))
    heads = [one_line(name, _WIDEST) for name in result.columns]
    cells = [[_cell(value) for value in row] for row in first]
    widths = column_widths([heads, *cells], cell_width)
    numbers = [any(isinstance(row[index], int | float) for row in first) for index in range(len(heads))]
    count = 0

    def rest() -> Iterator[list[str]]:
        nonlocal count
        for count, row in enumerate(chain(first, result.rows), 1):  # noqa: B007 - the number is returned
            yield [_cell(value) for value in row]

    for line in chain([heads], rest()):
        print(join_cells(line, widths, numbers, cell_width).rstrip(), file=file)
    return count


def _cell(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.1f}"
    return one_line(str(value), _WIDEST)
