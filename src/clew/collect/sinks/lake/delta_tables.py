"""A lake: a folder of Delta tables, on this disk or in an object store, that many hosts add to at once.

`delta:FOLDER` or `s3://bucket/folder?endpoint=…&region=…` is an address. Who may use an object store is told by the `AWS_`
variables of the environment, or by a file with `KEY:SECRET`. The store has to keep two writers from making one object
(`If-None-Match`), as Amazon's does: that is what a commit stands on.

All rows are only ever added. The facts of a file carry `seq` and `made`, and its newest telling is the one that counts, so
hosts never wait for each other and nothing is there twice. The rows lie in a folder for each day (`on_day`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from clew.collect.sql.fact_tables import TABLES
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError

try:
    import pyarrow
    from deltalake import CommitProperties, DeltaTable, Transaction, WriterProperties, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
except ImportError:
    raise StoreError(
        "deltalake and pyarrow are needed for this and not installed.",
        "extra",
        False,
        hint="Install them: pip install 'clew[lake]'",
    ) from None

ON_DAY, UNDATED = "on_day", "undated"
VERSION: dict[str, str] = {"seq": "number", "made": "number"}  # which telling of a file a row is of
NAMES = (LINE.name, *(table.name for table in TABLES))
PACKED = WriterProperties(compression="ZSTD")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 300  # letters of what the library says
_TRIES = 60  # to commit, when other hosts were faster
_NEAR = ("localhost", "127.0.0.1", "::1")
_ARROW = {"text": pyarrow.string(), "number": pyarrow.int64(), "number or nothing": pyarrow.int64()}
_LATER = ("429", "500", "502", "503", "504", "timed out", "timeout", "connect", "Generic S3 error: Error performing")
_DENIED = ("403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "PermissionDenied", "Unauthenticated")
_ABSENT = ("NoSuchBucket", "bucket does not exist", "404")


def columns(name: str) -> dict[str, str]:
    """The columns of a table in a lake, with their types."""
    if name == LINE.name:
        return {**LINE.columns}
    table = next(table for table in TABLES if table.name == name)
    return {**table.columns, **VERSION}


def schema(name: str) -> pyarrow.Schema:
    fields = [pyarrow.field(column, _ARROW[type]) for column, type in columns(name).items()]
    raw = [pyarrow.field("raw", pyarrow.binary())] if name == LINE.name else []
    return pyarrow.schema([*fields, *raw, pyarrow.field(ON_DAY, pyarrow.string())])


class Lake:
    """`name` tells the place without telling who comes."""

    def __init__(self, address: str, secret: str, environment: Mapping[str, str]) -> None:
        parts = urlsplit(address)
        if parts.scheme == "delta":
            folder = address.removeprefix("delta:").removeprefix("//")
            self.root = str(Path(folder).expanduser().absolute())
            self.name = f"delta:{self.root}"
            self.options: dict[str, str] = {}
        else:
            self.root = f"s3://{parts.netloc}{parts.path.rstrip('/')}"
            self.name = self.root
            self.options = _options(dict(parse_qsl(parts.query)), secret, environment)
        self._tables: dict[str, DeltaTable] = {}

    def uri(self, name: str) -> str:
        return f"{self.root}/{name}"

    def table(self, name: str) -> DeltaTable:
        """A table as it is now, made if it is not there."""
        with self.explained():
            known = self._tables.get(name)
            if known is not None:
                known.update_incremental()
                return known
            try:
                made = DeltaTable(self.uri(name), storage_options=self.options)
            except TableNotFoundError:
                made = self._create(name)
            self._tables[name] = made
            return made

    def existing(self, name: str) -> DeltaTable | None:
        """A table as it is now; None if nobody wrote to it yet."""
        with self.explained():
            try:
                return DeltaTable(self.uri(name), storage_options=self.options)
            except TableNotFoundError:
                return None

    def _create(self, name: str) -> DeltaTable:
        if not self.options:
            Path(self.uri(name)).mkdir(mode=0o700, parents=True, exist_ok=True)
        configuration = {"delta.checkpointInterval": "20", "delta.logRetentionDuration": "interval 7 days"}
        try:
            return DeltaTable.create(
                self.uri(name),
                schema(name),
                mode="ignore",
                partition_by=[ON_DAY],
                storage_options=self.options,
                configuration=configuration,
            )
        except DeltaError:  # another host made it at the same moment
            return DeltaTable(self.uri(name), storage_options=self.options)

    def add(self, name: str, rows: pyarrow.Table, transaction: tuple[str, int] | None = None) -> None:
        """Commit rows to a table. Raises StoreError; whether they are in it is then unknown."""
        table = self.table(name)
        done = [Transaction(*transaction)] if transaction else None
        with self.explained():
            write_deltalake(
                table,
                rows,
                mode="append",
                schema_mode="merge",
                storage_options=self.options,
                writer_properties=PACKED,
                commit_properties=CommitProperties(max_commit_retries=_TRIES, app_transactions=done),
            )

    @contextmanager
    def explained(self) -> Iterator[None]:
        """What delta-rs says when it fails, as errors of ours."""
        try:
            yield
        except (DeltaError, OSError, ValueError) as error:
            raise _failure(self.name, error) from error


def table_of(name: str, rows: Sequence[tuple[Any, ...]], days: Sequence[str], raw: Sequence[bytes | None] | None = None
) -> pyarrow.Table:  # fmt: skip
    """Rows in the columns of a table, each with the day that it lies under."""
    shape = schema(name)
    values = [list(column) for column in zip(*rows, strict=True)]
    if raw is not None:
        values.append(list(raw))
    values.append([day or UNDATED for day in days])
    arrays = [pyarrow.array(value, field.type) for value, field in zip(values, shape, strict=True)]
    return pyarrow.Table.from_arrays(arrays, schema=shape)


def _options(asked: Mapping[str, str], secret: str, environment: Mapping[str, str]) -> dict[str, str]:
    found = dict(environment)
    key, mark, hidden = secret.partition(":")
    if mark:
        found |= {"AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": hidden}
    if "region" in asked:
        found["AWS_REGION"] = asked["region"]
    found.setdefault("AWS_REGION", found.get("AWS_DEFAULT_REGION", "us-east-1"))
    if "endpoint" in asked:
        found["AWS_ENDPOINT_URL"] = asked["endpoint"]
    if urlsplit(found.get("AWS_ENDPOINT_URL", "")).hostname in _NEAR:
        found["AWS_ALLOW_HTTP"] = "true"
    return found


def _failure(name: str, error: Exception) -> StoreError:
    said = " ".join(_COLOUR.sub("", str(error)).split())
    if any(word in said for word in _DENIED):
        return StoreError(
            f"{name} does not allow this.",
            "denied",
            False,
            hint="Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a file with KEY:SECRET by --token-file.",
        )
    if any(word in said for word in _ABSENT):
        return StoreError(
            f"{name} has no such bucket.", "missing", False, hint="Make the bucket, or look at the address."
        )
    if isinstance(error, CommitFailedError):
        return StoreError(f"{name} is written to by too many hosts at once.", "busy", True)
    if isinstance(error, OSError) or any(word in said for word in _LATER):
        return StoreError(f"{name} does not answer: {said[:_LONGEST]}.", "unavailable", True)
    return StoreError(f"{name} failed: {said[:_LONGEST]}.", "other", False)
