"""Open a store as its owner, to erase from it or to apply its retention."""

from __future__ import annotations

from datetime import date
from typing import Protocol

from clew.collect.retention import RetainedRows, Retention
from clew.collect.sinks.address import LAKE, POSTGRES, open_lake
from clew.collect.sinks.erasure import StoreEraser
from clew.errors import Refused


class StoreRetention(Protocol):
    """Applies the retention of one store."""

    name: str

    def read(self) -> Retention:
        """Return the rule in force."""

    def apply(self, rule: Retention, today: date, *, dry_run: bool) -> list[RetainedRows]:
        """Remember the rule and drop what is older."""

    def close(self) -> None: ...


def open_eraser(address: str, secret: str) -> StoreEraser:
    """Open the eraser of a store. Raises Refused if it is not one."""
    if address.startswith(POSTGRES):
        from clew.collect.sinks.postgres.connection import PostgresConnection
        from clew.collect.sinks.postgres.postgres_erasure import OWNER_DEADLINE, PostgresEraser

        return PostgresEraser(PostgresConnection(address, secret, OWNER_DEADLINE))
    if address.startswith(LAKE):
        from clew.collect.sinks.lake.lake_erasure import LakeMaintenance

        return LakeMaintenance(open_lake(address, secret))
    raise _not_a_store(address)


def open_retention(address: str, secret: str) -> StoreRetention:
    """Open the retention of a store. Raises Refused if it is not one."""
    if address.startswith(POSTGRES):
        from clew.collect.sinks.postgres.connection import PostgresConnection
        from clew.collect.sinks.postgres.postgres_erasure import OWNER_DEADLINE
        from clew.collect.sinks.postgres.postgres_retention import PostgresRetention

        return PostgresRetention(PostgresConnection(address, secret, OWNER_DEADLINE))
    if address.startswith(LAKE):
        from clew.collect.sinks.lake.lake_erasure import LakeMaintenance

        return LakeMaintenance(open_lake(address, secret))
    raise _not_a_store(address)


def _not_a_store(address: str) -> Refused:
    return Refused([f"{address} is not a store; write postgresql://…, s3://… or delta:FOLDER"])
