"""Open the zone and the store of an ingester by their addresses."""

from __future__ import annotations

from clew.collect.landing.folder_zone import Zone
from clew.collect.landing.ingest_store import IngestStore
from clew.collect.landing.landing_sink import LANDING, open_zone
from clew.collect.sinks.address import LAKE, POSTGRES, open_lake
from clew.errors import Refused
from clew.system.environment import cloud_options


def open_landing_zone(address: str, secret: str = "") -> Zone:
    """Open the zone at an address. Raises Refused if it is none."""
    if not address.startswith(LANDING):
        raise Refused([f"{address or 'nothing'} is not a landing zone"], hint="Write landing+s3://… or landing:FOLDER.")
    return open_zone(address, secret, cloud_options())


def open_ingest_store(address: str, secret: str = "") -> IngestStore:
    """Open the store at an address. Raises Refused if objects cannot be committed to it."""
    if address.startswith(POSTGRES):
        from clew.collect.landing.postgres_ingest import DEADLINE, PostgresIngest
        from clew.collect.sinks.postgres.connection import PostgresConnection

        return PostgresIngest(PostgresConnection(address, secret, DEADLINE))
    if address.startswith(LAKE):
        from clew.collect.landing.lake_ingest import LakeIngest

        return LakeIngest(open_lake(address, secret))
    raise Refused(
        [f"{address} is not a store that objects can be committed to"],
        hint="Write postgresql://…, s3://… or delta:FOLDER.",
    )
