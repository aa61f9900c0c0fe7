"""Open the store at an address for reading."""

from __future__ import annotations

from clew.collect.mirror.store_reader import StoreReader
from clew.collect.sinks.address import LAKE, POSTGRES, open_lake
from clew.errors import StoreError


def open_reader(address: str, secret: str = "") -> StoreReader:
    """Open the store at an address. Raises StoreError if it is none that can be read."""
    if address.startswith(POSTGRES):
        from clew.collect.mirror.postgres_reader import PostgresReader

        return PostgresReader(address, secret)
    if address.startswith(LAKE):
        lake = open_lake(address, secret)  # first: it says which extra is missing
        from clew.collect.mirror.lake_reader import LakeReader

        return LakeReader(lake, secret)
    raise StoreError(
        f"{address.partition('://')[0]} is not a store that sessions can be read from.",
        "unknown",
        False,
        hint="Write postgresql://…, s3://… or delta:FOLDER, or the name of such a sink in collect.toml.",
    )
