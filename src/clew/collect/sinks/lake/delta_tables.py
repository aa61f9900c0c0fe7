"""A folder of Delta tables, on disk or in an object store, that many hosts append to.

An address is `delta:FOLDER` or `s3://bucket/folder?endpoint=…&region=…`. Credentials for an object store come from the
`AWS_` variables of the environment, or from a file with `KEY:SECRET`. The store must prevent two writers from creating
the same object (`If-None-Match`), as Amazon's does: commits depend on it.

Rows are only ever appended. The facts of a file have versions, and readers take the newest of each row, so hosts never
wait for each other and nothing is counted twice. A table has no partitions: its files are few and large, and engines
skip those without the days that a query asks for, by their statistics. Tables of clew 0.1.0 have a folder per day
(`on_day`), and keep it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from clew.collect.sql.fact_tables import TABLES
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError
from clew.system.extras import install_hint

try:
    import pyarrow
    from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

    from clew.collect.sinks.lake.lake_rules import (
        ABOUT,
        ABOUT_SCHEMA,
        NO_RULES,
        VERSIONS,
        LakeRules,
        apply_rules,
        read_rules,
        rule_rows,
    )
except ImportError:
    raise StoreError(
        "deltalake and pyarrow are needed for this and not installed.",
        "extra",
        False,
        hint=install_hint("data"),
    ) from None

ON_DAY, UNDATED = "on_day", "undated"
VERSION_COLUMNS: dict[str, str] = {"seq": "number", "made": "number", "chain": "number", "deleted": "number"}
"""They identify to which facts of a file a row belongs: see `newest_facts`."""
TABLE_NAMES = (LINE.name, *(table.name for table in TABLES))
COMPRESSION = WriterProperties(compression="ZSTD")
_COLOUR_CODE = re.compile(r"\x1b\[[0-9;]*m")
_MAX_MESSAGE = 300  # characters of the library's message
TARGET_BYTES = 128 << 20  # of a file after small ones were merged
_SMALL_BYTES = 32 << 20  # a file that can be merged
_SMALL_FILES = 50  # small files that are merged by themselves
_COMMIT_RETRIES = 60  # commit attempts when other hosts commit first
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_ARROW = {"text": pyarrow.string(), "number": pyarrow.int64(), "number or nothing": pyarrow.int64()}
_RETRYABLE = (
    "429",
    "500",
    "502",
    "503",
    "504",
    "timed out",
    "timeout",
    "connect",
    "Generic S3 error: Error performing",
)
_DENIED = ("403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "PermissionDenied", "Unauthenticated")
_ABSENT = ("NoSuchBucket", "bucket does not exist", "404")


def lake_columns(name: str) -> dict[str, str]:
    """Return the columns of a lake table with their types."""
    if name == LINE.name:
        return {**LINE.columns}
    table = next(table for table in TABLES if table.name == name)
    return {**table.columns, **VERSION_COLUMNS}


def arrow_schema(name: str) -> pyarrow.Schema:
    fields = [pyarrow.field(column, _ARROW[type]) for column, type in lake_columns(name).items()]
    raw = [pyarrow.field("raw", pyarrow.binary())] if name == LINE.name else []
    return pyarrow.schema([*fields, *raw, pyarrow.field(ON_DAY, pyarrow.string())])


class Lake:
    """A lake. `name` identifies it without credentials."""

    def __init__(self, address: str, secret: str, environment: Mapping[str, str]) -> None:
        parts = urlsplit(address)
        if parts.scheme == "delta":
            folder = address.removeprefix("delta:").removeprefix("//")
            self.root = str(Path(folder).expanduser().absolute())
            self.name = f"delta:{self.root}"
            self.options: dict[str, str] = {}
        else:
            self.root = f"s3://{parts.netloc}{parts.path.rstrip('/')}"
            self.options = _storage_options(dict(parse_qsl(parts.query)), secret, environment)
            endpoint = self.options.get("AWS_ENDPOINT_URL", "")
            self.name = f"{self.root}?endpoint={endpoint}" if endpoint else self.root
        self.known_rules = NO_RULES

    def uri(self, name: str) -> str:
        return f"{self.root}/{name}"

    def table(self, name: str) -> DeltaTable:
        """Return the current state of a table, creating it if it does not exist.

        It is read again each time: an object that outlives its table would show what another one of the same name lacks.
        """
        with self.translate_errors():
            return self.existing(name) or self._create(name)

    def existing(self, name: str) -> DeltaTable | None:
        """Return the current state of a table; None if it does not exist."""
        with self.translate_errors():
            try:
                return DeltaTable(self.uri(name), storage_options=self.options)
            except TableNotFoundError:
                return None

    def has_tables(self) -> bool:
        """Return whether this is a lake of clew."""
        return any(self.existing(name) is not None for name in TABLE_NAMES)

    def _create(self, name: str) -> DeltaTable:
        if not self.options:
            Path(self.uri(name)).mkdir(mode=0o700, parents=True, exist_ok=True)
        configuration = {"delta.checkpointInterval": "20", "delta.logRetentionDuration": "interval 7 days"}
        try:
            table = DeltaTable.create(
                self.uri(name),
                ABOUT_SCHEMA
                if name == ABOUT
                else arrow_schema(name).remove(arrow_schema(name).get_field_index(ON_DAY)),
                mode="ignore",
                storage_options=self.options,
                configuration=configuration,
            )
        except DeltaError:  # another host created it meanwhile
            table = DeltaTable(self.uri(name), storage_options=self.options)
        if name == LINE.name:
            self.add_rules(VERSIONS, ())
        return table

    def add(self, name: str, rows: pyarrow.Table, transactions: Sequence[tuple[str, int]] = ()) -> None:
        """Commit rows to a table. Raises StoreError; it is then unknown whether they were added."""
        rows = self._allowed(name, rows)
        self._commit(self.table(name), rows, transactions)

    def append(self, table: DeltaTable, rows: pyarrow.Table, transactions: Sequence[tuple[str, int]] = ()) -> None:
        """Commit rows on top of a state of a table. Raises StoreError, also if one of these transactions came between."""
        self._commit(table, self._allowed(table.table_uri.rstrip("/").rpartition("/")[2], rows), transactions)

    def _allowed(self, name: str, rows: pyarrow.Table) -> pyarrow.Table:
        """Return the rows that the rules of the lake allow. Raises StoreError if this clew may not write."""
        rules = self.rules()
        rules.check_writer(self.name)
        return apply_rules(name, rows, rules)

    def _commit(self, table: DeltaTable, rows: pyarrow.Table, transactions: Sequence[tuple[str, int]]) -> None:
        done = [Transaction(*transaction) for transaction in transactions] or None
        with self.translate_errors():
            if ON_DAY not in table.metadata().partition_columns:
                rows = rows.sort_by("day").drop_columns([ON_DAY])
            write_deltalake(
                table,
                rows,
                mode="append",
                schema_mode="merge",
                storage_options=self.options,
                writer_properties=COMPRESSION,
                commit_properties=CommitProperties(max_commit_retries=_COMMIT_RETRIES, app_transactions=done),
            )

    def merge_small_files(self, name: str, least: int = _SMALL_FILES) -> bool:
        """Merge the small files of a table if there are many; return whether that was done."""
        table = self.table(name)
        with self.translate_errors():
            files = pyarrow.table(table.get_add_actions(flatten=True))
            folders = files[f"partition.{ON_DAY}"].to_pylist() if f"partition.{ON_DAY}" in files.column_names else ()
            small = [size < _SMALL_BYTES for size in files["size_bytes"].to_pylist()]
            kept = len({folder for folder, is_small in zip(folders, small, strict=False) if is_small})
            if sum(small) - kept < least:
                return False
            try:
                table.optimize.compact(
                    target_size=TARGET_BYTES,
                    max_concurrent_tasks=1,
                    writer_properties=COMPRESSION,
                    commit_properties=CommitProperties(max_commit_retries=_COMMIT_RETRIES),
                )
            except CommitFailedError:  # another host merged them
                return False
        return True

    def rules(self) -> LakeRules:
        """Return the rules that every writer follows."""
        about = self.existing(ABOUT)
        with self.translate_errors():
            self.known_rules = read_rules(about.to_pyarrow_table()) if about is not None else NO_RULES
        return self.known_rules

    def add_rules(
        self, values: Mapping[str, str], erased: Iterable[tuple[str, str]], *, dry_run: bool = False
    ) -> LakeRules:
        """Add values by name, and hashes with their kind; return all rules. With `dry_run` nothing is written."""
        rows = rule_rows(values, erased, time.time_ns() // 1_000_000)
        with self.translate_errors():
            about = self.existing(ABOUT)
            before = about.to_pyarrow_table() if about is not None else ABOUT_SCHEMA.empty_table()
            if not dry_run:
                write_deltalake(self.table(ABOUT), rows, mode="append", storage_options=self.options)
        return read_rules(pyarrow.concat_tables([before.cast(ABOUT_SCHEMA), rows]))

    def probe(self) -> None:
        """Commit no rows, to see whether this lake may be written to. Raises StoreError."""
        self.add(LINE.name, arrow_schema(LINE.name).empty_table())

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise errors of delta-rs as StoreError."""
        try:
            yield
        except (DeltaError, OSError, ValueError) as error:
            raise _translate(self.name, error) from error


def build_table(name: str, rows: Sequence[tuple[Any, ...]], days: Sequence[str], raw: Sequence[bytes | None] | None = None
) -> pyarrow.Table:  # fmt: skip
    """Build an Arrow table from rows, each with the day whose folder it belongs to."""
    layout = arrow_schema(name)
    values = [list(column) for column in zip(*rows, strict=True)]
    if raw is not None:
        values.append(list(raw))
    values.append([day or UNDATED for day in days])
    arrays = [pyarrow.array(value, field.type) for value, field in zip(values, layout, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=layout)


def _storage_options(parameters: Mapping[str, str], secret: str, environment: Mapping[str, str]) -> dict[str, str]:
    options = dict(environment)
    key, mark, secret_key = secret.partition(":")
    if mark:
        options |= {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret_key}
    if "region" in parameters:
        options["AWS_REGION"] = parameters["region"]
    options.setdefault("AWS_REGION", options.get("AWS_DEFAULT_REGION", "us-east-1"))
    if "endpoint" in parameters:
        options["AWS_ENDPOINT_URL"] = parameters["endpoint"]
    if urlsplit(options.get("AWS_ENDPOINT_URL", "")).hostname in _LOCAL_HOSTS:
        options["AWS_ALLOW_HTTP"] = "true"
    return options


def _translate(name: str, error: Exception) -> StoreError:
    message = " ".join(_COLOUR_CODE.sub("", str(error)).split())
    if any(word in message for word in _DENIED):
        hint = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or pass a file with KEY:SECRET with --token-file."
        return StoreError(f"{name} does not allow this.", "denied", False, hint=hint)
    if any(word in message for word in _ABSENT):
        hint = "Create the bucket, or correct the address."
        return StoreError(f"{name} has no such bucket.", "missing", False, hint=hint)
    if isinstance(error, CommitFailedError):
        return StoreError(f"{name} is being written to by too many hosts.", "busy", True)
    if isinstance(error, OSError) or any(word in message for word in _RETRYABLE):
        return StoreError(f"{name} does not answer: {message[:_MAX_MESSAGE]}.", "unavailable", True)
    return StoreError(f"{name} failed: {message[:_MAX_MESSAGE]}.", "other", False)
