"""What an ingester asks of a store, and the objects of one commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from clew.collect.landing.object_codec import LandedObject
from clew.collect.landing.object_name import ObjectName
from clew.collect.sinks.record import Record
from clew.collect.sinks.store_check import StoreState
from clew.collect.sql.fact_tables import TABLES, FileFacts


class StreamObject(NamedTuple):
    """An object with the stream that it belongs to. One without content was put aside, and the stream goes on."""

    name: ObjectName
    host: str
    content: LandedObject | None

    @property
    def records(self) -> list[Record]:
        """The records, with the host of the stream."""
        return [record._replace(host=self.host) for record in self.content.records] if self.content else []

    @property
    def facts(self) -> list[FileFacts]:
        """The facts, with the host of the stream."""
        if self.content is None:
            return []
        return [
            facts._replace(
                host=self.host,
                rows={table.name: [(self.host, *row[1:]) for row in facts.rows[table.name]] for table in TABLES},
            )
            for facts in self.content.facts
        ]


class IngestStore(Protocol):
    """A store that keeps, for each stream, the number of the last line and the mark of the last object, in the transaction
    of the rows themselves.
    """

    name: str

    def states(self, hosts: Iterable[str]) -> dict[str, StoreState]:
        """Return what the store has of each stream that it knows."""

    def has_records(self, host: str, records: Sequence[Record]) -> bool:
        """Return whether the store has all of these lines of a host."""

    def commit(self, batch: Sequence[StreamObject], before: dict[str, StoreState]) -> None:
        """Commit objects, in order. Raises StoreError; of the kind EPOCH if the streams are not as `before` says."""

    def tidy(self) -> None:
        """Compact what was written, if that is due."""

    def close(self) -> None: ...


def last_states(batch: Sequence[StreamObject], before: dict[str, StoreState]) -> dict[str, StoreState]:
    """Return the state of each stream after a batch: the number of its last line, and the mark of its last object."""
    after: dict[str, StoreState] = {}
    for each in batch:
        known = after.get(each.host) or before.get(each.host) or StoreState(0, 0)
        numbers = [record.seq for record in each.content.records] if each.content else []
        after[each.host] = StoreState(max(known.seq, *numbers, 0), each.name.mark)
    return after
