"""Deliver lines and facts to a landing zone, from which an ingester takes them to a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl, urlsplit

from clew.collect.landing.folder_zone import FolderZone, Zone
from clew.collect.landing.object_chain import AcceptedUpTo, ObjectChain
from clew.collect.landing.object_name import HOST_NAME, PROBE
from clew.collect.landing.s3_zone import S3Zone
from clew.collect.sinks.outbox import FACTS, SequenceCursor
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_tables import FileFacts
from clew.errors import StoreError

LANDING = ("landing:", "landing+s3://")


def open_zone(address: str, secret: str, environment: Mapping[str, str]) -> Zone:
    """Open the zone at `landing:FOLDER` or `landing+s3://bucket/prefix?endpoint=…&region=…&host=…`."""
    if address.startswith(LANDING[1]):
        return S3Zone(address, secret, environment)
    return FolderZone(address.removeprefix(LANDING[0]).partition("?")[0])


def prefix_name(address: str) -> str:
    """Return the name of the host's prefix that an address asks for; empty if none. Raises StoreError."""
    name = dict(parse_qsl(urlsplit(address).query)).get("host", "")
    if name and not HOST_NAME.fullmatch(name):
        hint = "Use letters, digits and . _ @ -, at most 80."
        raise StoreError(f"{name!r} cannot be the name of a host in a landing zone.", "refused", False, hint=hint)
    return name


class LandingLines:
    """Accepts records. Without an archive there is no chain, and nothing can be put."""

    leaves = True

    def __init__(self, zone: Zone, host: str = "") -> None:
        self.name = zone.name
        self.zone = zone
        self.host = host
        self.chain: ObjectChain | None = None

    def write(self, records: Sequence[Record]) -> None:
        if self.chain is None:
            raise StoreError(f"{self.name} is sent to from an archive only.", "refused", False)
        self.chain.recover()
        last, is_again = records[-1], records[-1].mark is None
        position = SequenceCursor(self.chain.connection, self.name).position
        if new := [record for record in records if is_again or record.seq > position]:
            end = AcceptedUpTo(self.name, position, last.seq, last.host, last.mark)
            self.chain.put("lines", new, end, is_again=is_again)

    def probe(self) -> None:
        """Put an empty object that no ingester reads, to see whether this host may write. Raises StoreError."""
        self.zone.put(f"host={self.host or PROBE}/{PROBE}", b"")

    def close(self) -> None:
        self.zone.close()


class LandingFacts:
    """Accepts facts of files, into the chain of the lines."""

    leaves = True

    def __init__(self, chain: ObjectChain) -> None:
        self.name = f"{chain.zone.name}{FACTS}"
        self.chain = chain

    def write(self, batch: Sequence[FileFacts]) -> None:
        self.chain.recover()
        position = SequenceCursor(self.chain.connection, self.name).position
        self.chain.put("facts", batch, AcceptedUpTo(self.name, position, batch[-1].seq, batch[-1].host, None))

    def close(self) -> None:
        """The zone is closed with the lines."""
