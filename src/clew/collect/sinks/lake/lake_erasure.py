"""Erase people, projects, sessions and texts from a lake, and drop what is older than its retention.

The rules come first, so that writers add nothing that is about to be deleted. Deleting commits new files; the old ones are
deleted by `compact` after a week, or immediately on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import Any, TypeVar

import pyarrow
import pyarrow.compute
from deltalake import CommitProperties, DeltaTable, write_deltalake

from clew.collect.archive.erase import owns_prompt, text_variants
from clew.collect.retention import RetainedRows, Retention
from clew.collect.sinks.erasure import (
    LABEL_COLUMNS,
    ROW_NAMES,
    ErasedRows,
    Erasure,
    ErasureResult,
    choose_names,
    erase_bytes,
    erase_text,
    remembered_hash,
)
from clew.collect.sinks.lake.delta_tables import COMPRESSION, TABLE_NAMES, Lake
from clew.collect.sinks.lake.lake_rules import VERSIONS, LakeRules, blocked_rows, blocked_values
from clew.collect.sql.content_columns import CONTENT_COLUMNS
from clew.collect.sql.fact_tables import FILE, TABLES
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError

_ATTEMPTS = 5
_COMMIT = CommitProperties(max_commit_retries=60)
_LOG_RETENTION = "delta.logRetentionDuration"
_NUMBERS = ("file", "generation", "start", "turn")
_PLACE = ("host", "file", "generation", "start")
Result = TypeVar("Result")


class LakeMaintenance:
    """Erases from one lake, and applies its retention."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.name = lake.name
        if not lake.has_tables():
            hint = "Correct the address, or fill it with: clew collect --to …"
            raise StoreError(f"{lake.name} has no tables of clew.", "missing", False, hint=hint)

    # -- erasure

    def find(self, developer: str, host: str, project: str, session: str, text: str) -> Erasure:
        developers = choose_names(developer, self._names("developer"), "developer", exact=True)
        hosts = choose_names(host, self._names("host"), "archive", exact=True)
        sessions = choose_names(session, self._names("session"), "session", prefix=True)
        if developers:
            owned, others = self._owned_by(developers)
            hosts, sessions = (*hosts, *owned), (*sessions, *others)
        return Erasure(developers, hosts, choose_names(project, self._names("project"), "project"), sessions, text)

    def _names(self, column: str) -> set[str]:
        names: set[str] = set()
        for table in (FILE.name, LINE.name):
            for batch in self._scan(table, [column]):
                names |= {name for name in batch.column(column).unique().to_pylist() if name}
        return names

    def _owned_by(self, developers: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the hosts whose newest facts name a developer, and the developer's sessions on other hosts."""
        newest: dict[str, tuple[int, str]] = {}
        sessions: set[tuple[str, str]] = set()
        for batch in self._scan(FILE.name, ["host", "seq", "developer", "session"]):
            for row in batch.to_pylist():
                newest[row["host"]] = max(newest.get(row["host"], (0, "")), (row["seq"], row["developer"] or ""))
                if row["developer"] in developers:
                    sessions.add((row["host"], row["session"]))
        hosts = [host for host, (_, name) in newest.items() if name in developers]
        return hosts, sorted(session for host, session in sessions if host not in hosts)

    def erase(self, erasure: Erasure, *, dry_run: bool) -> ErasureResult:
        """Erase in one commit for each table."""
        hashes = [("name", hashed) for hashed in erasure.hashes]
        prompts = list(self._find_prompts(erasure)) if erasure.projects or erasure.sessions else []
        texts = self._find_texts(erasure.text) if erasure.text else {}
        hashes += [("line", remembered_hash("line", hashed)) for hashed in prompts]
        hashes += [
            ("text", remembered_hash("line", *each)) if name == LINE.name else ("row", remembered_hash(name, *each))
            for name, found in texts.items()
            for each in found
        ]
        rules = self.lake.add_rules(VERSIONS, hashes, dry_run=dry_run)
        changed = {
            name: self._retry(lambda: self._replace_text(name, found, erasure.text, dry_run=dry_run))  # noqa: B023
            for name, found in texts.items()
        }
        deleted = {name: self._delete_blocked(name, rules, dry_run=dry_run) for name in TABLE_NAMES}
        rows = [ErasedRows(name, deleted[name], changed.get(name, 0)) for name in TABLE_NAMES]
        labels = self._count_labels(erasure.text) if erasure.text else 0
        return ErasureResult([each for each in rows if each.deleted or each.changed], labels)

    def _find_prompts(self, erasure: Erasure) -> Iterator[str]:
        """Yield the hashes of the lines of the history of prompts that belong to sessions or projects."""
        for batch in self._scan(LINE.name, ["hash", "raw"], pyarrow.compute.field("kind") == "history"):
            for row in batch.to_pylist():
                if owns_prompt(row["raw"], erasure.sessions, erasure.projects):
                    yield row["hash"]

    def _find_texts(self, text: str) -> dict[str, set[tuple[Any, ...]]]:
        """Return the names of the rows with a text, by table; of lines their hash."""
        variants = text_variants(text)
        found: dict[str, set[tuple[Any, ...]]] = {}
        for name in TABLE_NAMES:
            contents = _contents(name)
            for batch in self._scan(name, [*_names(name), *contents]):
                for row in batch.to_pylist():
                    if any(_contains(row[column], variants) for column in contents):
                        found.setdefault(name, set()).add(tuple(row[column] for column in _names(name)))
        return found

    def _replace_text(self, name: str, found: set[tuple[Any, ...]], text: str, *, dry_run: bool) -> int:
        """Replace a text in rows with these names, in one commit. Return the number of rows that had it."""
        parts = []
        variants = text_variants(text)
        for batch in self._scan(name):
            names = zip(*(batch.column(column).to_pylist() for column in _names(name)), strict=True)
            part = batch.filter(pyarrow.array([each in found for each in names], pyarrow.bool_()))
            for column in _contents(name):
                field = part.schema.field(column)
                values = [_erase_value(value, text, variants) for value in part.column(column).to_pylist()]
                part = part.set_column(part.column_names.index(column), field, pyarrow.array(values, field.type))
            parts.append(part)
        rows = pyarrow.concat_tables(parts)
        count = int(rows.num_rows)
        if not dry_run:
            self._overwrite(name, _any_of(_names(name), found), rows)
        return count

    def _count_labels(self, text: str) -> int:
        count = 0
        for name in TABLE_NAMES:
            for batch in self._scan(name, list(LABEL_COLUMNS)):
                count += sum(any(text in (value or "") for value in row.values()) for row in batch.to_pylist())
        return count

    def scrub(self, *, now: bool) -> str:
        """With `now` delete the files that are no longer needed, and the log that describes them."""
        if not now:
            return "Old files keep the bytes until `clew collect compact` deletes them, a week from now; --now does it now."
        for name in TABLE_NAMES:
            if (table := self.lake.existing(name)) is not None:
                self._retry(lambda: _forget_versions(table))
        return "The old files were deleted. Versions and backups of the object store keep their copies."

    # -- retention

    def read(self) -> Retention:
        return self.lake.rules().retention

    def apply(self, rule: Retention, today: date, *, dry_run: bool) -> list[RetainedRows]:
        """Remember the rule and drop what is older. With `dry_run` nothing is changed."""
        first = rule.first_days(today)
        hashes: list[tuple[str, str]] = []
        if first["lines"] and (ended := self._ended_before(first["lines"])):
            undated = pyarrow.compute.field("day") == ""
            for batch in self._scan(LINE.name, list(_PLACE), undated):
                places = [tuple(row.values()) for row in batch.select(list(_PLACE)).to_pylist()]
                hashes += [("place", remembered_hash("place", *place)) for place in places if place[:2] in ended]
        rules = self.lake.add_rules({**VERSIONS, **rule.values(today)}, hashes, dry_run=dry_run)
        rows = [RetainedRows(name, self._delete_blocked(name, rules, dry_run=dry_run)) for name in TABLE_NAMES]
        return [each for each in rows if each.dropped]

    def _ended_before(self, first: str) -> set[tuple[str, int]]:
        """Return the files whose newest facts say that they ended before a day."""
        ended: dict[tuple[str, int], str] = {}
        for batch in self._scan(FILE.name, ["host", "file", "ended"]):
            for row in batch.to_pylist():
                place = (row["host"], row["file"])
                ended[place] = max(ended.get(place, ""), row["ended"] or "")
        return {place for place, time in ended.items() if time and time < first}

    # -- both

    def delete_blocked(self, rules: LakeRules) -> int:
        """Delete the rows of all tables that the rules block."""
        return sum(self._delete_blocked(name, rules, dry_run=False) for name in TABLE_NAMES)

    def _delete_blocked(self, name: str, rules: LakeRules, *, dry_run: bool) -> int:
        """Delete the rows that the rules block, in one commit, and return their number."""
        return self._retry(lambda: self._delete_once(name, rules, dry_run))

    def _delete_once(self, name: str, rules: LakeRules, dry_run: bool) -> int:
        columns = [*_PLACE, "hash", "day"] if name == LINE.name else ["host", "developer", "day"]
        count = 0
        conditions: dict[str, set[tuple[Any, ...]]] = {}
        for batch in self._scan(name, [*columns, "project", "session", *(["ended"] if name == FILE.name else [])]):
            mask = blocked_rows(name, batch, rules)
            if mask is None:
                return 0
            rows = batch.filter(mask)
            count += rows.num_rows
            for column, values in blocked_values(name, rows, rules).items():
                conditions.setdefault(column, set()).update(values)
        if count and not dry_run:
            time = "ended" if name == FILE.name else "day"
            first = rules.first_day(name)
            old = [f"(coalesce({time}, '') <> '' AND coalesce({time}, '') < '{first}')"] if first else []
            named = [_any_of(columns.split(), values) for columns, values in conditions.items() if values]
            self._overwrite(name, " OR ".join((*old, *named)), None)
        return count

    def _overwrite(self, name: str, predicate: str, rows: pyarrow.Table | None) -> None:
        """Replace the rows that match a predicate, in one commit.

        `merge` and `delete` of delta-rs write another type of strings, which pyarrow cannot filter.
        """
        table = self.lake.table(name)
        write_deltalake(
            table,
            table.to_pyarrow_dataset().schema.empty_table() if rows is None else rows,
            mode="overwrite",
            predicate=predicate,
            storage_options=self.lake.options,
            writer_properties=COMPRESSION,
            commit_properties=_COMMIT,
        )

    def _scan(self, name: str, columns: Sequence[str] = (), condition: Any = None) -> Iterator[pyarrow.Table]:
        """Yield the rows of a table in parts, with all columns or some; those that it lacks are empty."""
        table = self.lake.existing(name)
        if table is None:
            return
        with self.lake.translate_errors():
            dataset = table.to_pyarrow_dataset()
            columns = columns or dataset.schema.names
            present = [column for column in columns if column in dataset.schema.names]
            for batch in dataset.to_batches(columns=present, filter=condition):
                part = pyarrow.Table.from_batches([batch])
                for column in columns:
                    if column not in present:
                        part = part.append_column(column, pyarrow.array([""] * part.num_rows))
                yield part.select(list(columns))

    def _retry(self, work: Callable[[], Result]) -> Result:
        """Commit; try again if a host wrote at the same time."""
        for attempt in range(_ATTEMPTS):
            try:
                with self.lake.translate_errors():
                    return work()
            except StoreError as error:
                if not error.retryable or attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError

    def close(self) -> None:
        """Nothing stays open."""


def _forget_versions(table: DeltaTable) -> None:
    """Delete the files that only earlier versions need, and the log of these versions, which has values of rows."""
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    kept = table.metadata().configuration.get(_LOG_RETENTION, "interval 7 days")
    table.alter.set_table_properties({_LOG_RETENTION: "interval 0 days"})
    table.create_checkpoint()
    table.cleanup_metadata()
    table.alter.set_table_properties({_LOG_RETENTION: kept})


def _names(name: str) -> list[str]:
    """Return the columns by which rows are remembered from which a text was erased."""
    return ["hash"] if name == LINE.name else list(ROW_NAMES[name])


def _contents(name: str) -> list[str]:
    if name == LINE.name:
        return ["raw"]
    [table] = [table for table in TABLES if table.name == name]
    return [column for column in table.columns if column in CONTENT_COLUMNS]


def _contains(value: str | bytes | None, variants: Sequence[bytes]) -> bool:
    raw = value.encode() if isinstance(value, str) else value or b""
    return any(variant in raw for variant in variants)


def _erase_value(value: str | bytes | None, text: str, variants: Sequence[bytes]) -> str | bytes | None:
    if isinstance(value, bytes):
        return erase_bytes(value, variants)
    return erase_text(value, text) if value else value


def _any_of(columns: Sequence[str], values: Iterable[tuple[Any, ...]]) -> str:
    """Return the predicate of rows with one of these values. It is never NULL: such rows would be lost."""
    if len(columns) == 1:
        return f"{_column(columns[0])} IN ({', '.join(_literal(value) for (value,) in sorted(values))})"
    rows = (zip(columns, each, strict=True) for each in sorted(values))
    return " OR ".join(
        f"({' AND '.join(f'{_column(name)} = {_literal(value)}' for name, value in row)})" for row in rows
    )


def _column(name: str) -> str:
    return f"coalesce({name}, {0 if name in _NUMBERS else repr('')})"


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def delete_blocked(lake: Lake) -> int:
    """Delete rows that the rules of a lake block, and that a writer that does not know them has added."""
    rules = lake.rules()
    return LakeMaintenance(lake).delete_blocked(rules) if rules.erased or rules.retention.describe() else 0
