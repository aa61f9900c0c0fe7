"""Read the lines of a lake: only the files that were added to its table since the last time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute
import pyarrow.dataset
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from clew.collect.mirror.store_reader import (
    KEY_COLUMNS,
    NAME_COLUMNS,
    FilePart,
    FileState,
    HostState,
    Inventory,
    StoredLine,
    columns_of_line,
)
from clew.collect.sinks.lake.delta_tables import Lake
from clew.collect.sql.fact_tables import FILE
from clew.collect.sql.line_rows import LINE
from clew.errors import StoreError

_OWNER = ("host", "developer", "machine", "team", "seq")
_COUNTED = ("seq", "start", "length", "day", "time_ms", "masked")
_BATCH_ROWS = 1 << 16
Fragments = list[pyarrow.dataset.Fragment]


class LakeReader:
    """Reads the table `line`. Everybody who may read a lake reads all of it."""

    def __init__(self, lake: Lake, secret: str) -> None:
        self.lake = lake
        self.name = lake.name
        self.user = secret.partition(":")[0] or lake.options.get("AWS_ACCESS_KEY_ID", "")
        self._open: dict[str, pyarrow.dataset.FileSystemDataset] = {}

    def hosts(self) -> dict[str, HostState]:
        """Return the owners of hosts. How far each is follows from the lines."""
        self._open.clear()
        self._dataset(LINE.name)
        hosts: dict[str, HostState] = {}
        if self.lake.existing(FILE.name) is None:
            return hosts
        owners = self._dataset(FILE.name)
        present = [name for name in _OWNER if name in owners.schema.names]
        for batch in self._batches(owners, present):
            for row in batch.to_pylist():
                seq, host = row.get("seq") or 0, row["host"]
                if host and row.get("developer") and seq >= hosts.get(host, HostState()).seq:
                    hosts[host] = HostState(seq, *(str(row.get(name) or "") for name in _OWNER[1:4]))
        return hosts

    def inventory(self, hosts: Mapping[str, HostState], known: Mapping[str, int], position: Any) -> Inventory:
        """Read the files that are new. If some are gone (they were merged, or rows erased), everything is counted."""
        dataset = self._dataset(LINE.name)
        fragments = {fragment.path: fragment for fragment in dataset.get_fragments()}
        before = set(position) if isinstance(position, list) else None
        is_full = before is None or not before <= fragments.keys()
        new = [fragment for path, fragment in fragments.items() if is_full or path not in (before or ())]
        states: dict[tuple[str, int, int], FileState] = {}
        for state in self._count(dataset, new):
            key = state[:3]
            states[key] = states[key].merge(state) if key in states else state
        return Inventory(states.values(), is_full, sorted(fragments))

    def _count(self, dataset: pyarrow.dataset.FileSystemDataset, fragments: Fragments) -> Iterator[FileState]:
        columns = [*KEY_COLUMNS, *NAME_COLUMNS, *_COUNTED]
        for batch in self._batches(_subset(dataset, fragments), columns):
            table = pyarrow.Table.from_batches([batch])
            end = pyarrow.compute.add(table["start"], table["length"])
            dated = pyarrow.compute.if_else(pyarrow.compute.equal(table["day"], ""), None, table["day"])
            table = table.append_column("end", end).append_column("dated", dated)
            totals = [("seq", "max"), ("seq", "count"), ("end", "max"), ("dated", "min"), ("dated", "max")]
            totals += [("time_ms", "max"), ("masked", "sum")]
            names = [(name, "last") for name in NAME_COLUMNS]
            grouped = table.group_by(list(KEY_COLUMNS), use_threads=False).aggregate([*names, *totals])
            for row in grouped.to_pylist():
                if all(row[name] is not None for name in KEY_COLUMNS):
                    texts = [str(row[f"{name}_last"] or "") for name in NAME_COLUMNS]
                    days = [row[f"dated_{which}"] or "" for which in ("min", "max")]
                    numbers = [row[name] or 0 for name in ("seq_max", "seq_count", "end_max")]
                    last = [row[name] or 0 for name in ("time_ms_max", "masked_sum")]
                    yield FileState._make((*(row[name] for name in KEY_COLUMNS), *texts, *numbers, *days, *last))

    def lines(self, parts: Sequence[FilePart]) -> Iterator[StoredLine]:
        dataset = self._dataset(LINE.name)
        field = pyarrow.compute.field
        first = min((part.first_day for part in parts if part.first_day), default="")
        last = max(part.last_day for part in parts)
        is_near = (field("day") == "") | ((field("day") >= first) & (field("day") <= last))
        wanted = field("host").isin({part.host for part in parts}) & field("file").isin({part.file for part in parts})
        ranges = {part[:3]: (part.start, part.stop) for part in parts}
        found: list[StoredLine] = []
        for batch in self._batches(dataset, columns_of_line(), is_near & wanted):
            for row in zip(*(batch.column(name).to_pylist() for name in columns_of_line()), strict=True):
                start, stop = ranges.get(row[:3], (0, 0))
                if row[3] is not None and start <= row[3] < stop:
                    found.append(StoredLine._make(row))
        yield from sorted(found, key=lambda line: line[:4])

    def _batches(
        self,
        dataset: pyarrow.dataset.FileSystemDataset,
        columns: Iterable[str],
        filter: pyarrow.compute.Expression | None = None,
    ) -> Iterator[pyarrow.RecordBatch]:
        with self.lake.translate_errors():
            yield from dataset.to_batches(
                columns=list(columns), filter=filter, batch_size=_BATCH_ROWS, batch_readahead=2, fragment_readahead=2
            )

    def _dataset(self, name: str) -> pyarrow.dataset.FileSystemDataset:
        """Return a table as it was when the hosts were read: a reading sees one version of it."""
        if name not in self._open:
            table = self.lake.existing(name)
            if table is None:
                if not self.lake.options and not Path(self.lake.root).exists():
                    raise StoreError(f"The folder {self.lake.root} is not there.", "unavailable", True)
                hint = "Correct the address, or fill it with: clew collect --to …"
                raise StoreError(f"{self.lake.name} has no lines of clew.", "missing", False, hint=hint)
            local = None if self.lake.options else SubTreeFileSystem(self.lake.uri(name), LocalFileSystem())
            with self.lake.translate_errors():
                self._open[name] = table.to_pyarrow_dataset(filesystem=local)
            if name == LINE.name:
                self._check_columns(self._open[name].schema.names)
        return self._open[name]

    def _check_columns(self, present: Iterable[str]) -> None:
        if missing := {*KEY_COLUMNS, *NAME_COLUMNS, *_COUNTED, *columns_of_line()} - set(present):
            message = f"{self.name} has tables of another version of clew: {', '.join(sorted(missing))} is missing."
            raise StoreError(message, "version", False, hint="Update clew here, or on the hosts that fill the store.")

    def close(self) -> None:
        self._open.clear()


def _subset(dataset: pyarrow.dataset.FileSystemDataset, fragments: Fragments) -> pyarrow.dataset.FileSystemDataset:
    return pyarrow.dataset.FileSystemDataset(fragments, dataset.schema, dataset.format, dataset.filesystem)
