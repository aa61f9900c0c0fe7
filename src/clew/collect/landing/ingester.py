"""Take the objects of a landing zone to a store: exactly once, and those of a host in their order.

The store says which object of each host it has last, so the ingester keeps nothing and can be killed at any moment. Of
two that do the same work one is refused by the store and looks again. An object that is damaged is put aside and named,
and the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from itertools import count

from msgspec import Struct, field

from clew.collect.landing.chain_plan import ChainPlan, NextObject, plan_chain, stray_chain
from clew.collect.landing.folder_zone import Zone
from clew.collect.landing.ingest_store import IngestStore, StreamObject, last_states
from clew.collect.landing.object_codec import MAX_BYTES, DamagedObject, LandedObject, decode_object
from clew.collect.landing.object_name import PROBE, ObjectName, mark_number, parse_key, stream_host
from clew.collect.sinks.outbox import EPOCH, POISON
from clew.collect.sinks.store_check import StoreState
from clew.errors import StoreError

COMMIT_BYTES = 64 << 20  # of unpacked objects in one commit
_READERS = 8  # concurrent requests
_MAX_STREAMS = 50  # copies of one archive
_ATTEMPTS = 20  # commits that other ingesters may come before
_KnownEpoch = tuple[str, str]


class IngestReport(Struct):
    """What a run did. `aside` has the damaged objects with the reason; `remarks` are sentences about hosts."""

    objects: int = 0
    bytes: int = 0
    lines: int = 0
    files: int = 0
    commits: int = 0
    aside: list[tuple[str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class Part:
    """The hosts of one of several ingesters, chosen by the hash of their names."""

    def __init__(self, number: int = 1, of: int = 1) -> None:
        self.number = number
        self.of = of

    def has(self, host: str) -> bool:
        return int.from_bytes(sha256(host.encode()).digest()[:4], "big") % self.of == self.number - 1


class Ingester:
    """Commits what waits in a zone. Hosts put more meanwhile, and other ingesters may run."""

    def __init__(
        self, zone: Zone, store: IngestStore, part: Part | None = None, *, keep: bool = False, size: int = COMMIT_BYTES
    ) -> None:
        self.zone = zone
        self.store = store
        self.part = part or Part()
        self.keep = keep
        self.size = size
        self.report = IngestReport()
        self._settled: set[str] = set()

    def run(self, is_enough: Callable[[], bool] = lambda: False) -> IngestReport:
        """Commit until nothing waits. Raises StoreError; what was committed stays."""
        self.report = IngestReport()
        failures = 0
        while not is_enough():
            epochs = self._list()
            streams = self._streams(epochs)
            plans = {epoch: plan_chain(names, streams[epoch]) for epoch, names in epochs.items()}
            self._delete([name for plan in plans.values() for name in plan.done])
            waiting = [(epoch, each) for epoch, plan in plans.items() for each in plan.next]
            try:
                if waiting:
                    self._commit_all(waiting, streams, is_enough)
                elif not self._resolve_strays(plans, streams):
                    break
                failures = 0
            except StoreError as error:
                failures += 1
                if not (error.kind in (EPOCH, "busy", "missing") and error.retryable) or failures == _ATTEMPTS:
                    raise
        if self.report.commits:
            self.store.tidy()
        return self.report

    def _list(self) -> dict[_KnownEpoch, list[ObjectName]]:
        """List the objects of this part by host and epoch."""
        found: dict[_KnownEpoch, list[ObjectName]] = {}
        for key, size in self.zone.list_objects():
            name = parse_key(key)
            if key in self._settled or key.endswith(f"/{PROBE}"):
                continue
            if name is None:
                if self.part.has(key):
                    self._set_aside(key, "its name is not that of an object")
            elif self.part.has(name.host):
                if size > MAX_BYTES:
                    self._set_aside(key, f"it has more than {MAX_BYTES} bytes")
                else:
                    found.setdefault((name.host, name.epoch), []).append(name)
        return found

    def _streams(self, epochs: dict[_KnownEpoch, list[ObjectName]]) -> dict[_KnownEpoch, list[StoreState]]:
        """Return the state of every stream of each epoch. Nearly all have one."""
        streams: dict[_KnownEpoch, list[StoreState]] = {epoch: [] for epoch in epochs}
        asked = list(epochs)
        for number in count():
            if not asked:
                return streams
            hosts = {epoch: stream_host(*epoch, number) for epoch in asked}
            states = self.store.states(hosts.values())
            asked = [epoch for epoch in asked if hosts[epoch] in states]
            for epoch in asked:
                streams[epoch].append(states[hosts[epoch]])
        return streams

    def _commit_all(
        self,
        waiting: Sequence[tuple[_KnownEpoch, NextObject]],
        streams: dict[_KnownEpoch, list[StoreState]],
        is_enough: Callable[[], bool],
    ) -> None:
        """Commit the objects in as few transactions as their size allows."""
        states = {stream_host(*epoch, n): state for epoch, found in streams.items() for n, state in enumerate(found)}
        batch: list[StreamObject] = []
        size = 0
        for (epoch, planned), content in self._read(waiting):
            if planned.missing:
                self.report.remarks.append(_missing_sentence(planned))
            if isinstance(content, DamagedObject):
                self._set_aside(planned.name.key, content.reason)
            landed = content if isinstance(content, LandedObject) else None
            batch.append(StreamObject(planned.name, stream_host(*epoch, planned.stream), landed))
            size += landed.size if landed else 0
            if size >= self.size:
                self._commit(batch, states)
                batch, size = [], 0
                if is_enough():
                    return
        if batch:
            self._commit(batch, states)

    def _read(
        self, waiting: Sequence[tuple[_KnownEpoch, NextObject]]
    ) -> Iterator[tuple[tuple[_KnownEpoch, NextObject], LandedObject | DamagedObject]]:
        """Yield the objects with their content, a few read ahead."""
        with ThreadPoolExecutor(_READERS) as pool:
            for at in range(0, len(waiting), _READERS):
                part = waiting[at : at + _READERS]
                bodies = pool.map(self.zone.get, [planned.name.key for _, planned in part])
                for each, body in zip(part, bodies, strict=True):
                    yield each, decode_object(each[1].name, body)

    def _commit(self, batch: list[StreamObject], states: dict[str, StoreState]) -> None:
        """Commit a batch. An object that the store cannot take is found by bisection and put aside."""
        try:
            self.store.commit(batch, states)
        except StoreError as error:
            if error.kind != POISON:
                raise
            if len(batch) > 1:
                middle = len(batch) // 2
                self._commit(batch[:middle], states)
                self._commit(batch[middle:], states)
                return
            self._set_aside(batch[0].name.key, str(error))
            self._commit([batch[0]._replace(content=None)], states)
            return
        states.update(last_states(batch, states))
        contents = [each.content for each in batch if each.content]
        self.report.commits += 1
        self.report.objects += len(contents)
        self.report.bytes += sum(content.size for content in contents)
        self.report.lines += sum(len(content.records) for content in contents)
        self.report.files += sum(len(content.facts) for content in contents)
        self._delete([each.name for each in batch if each.content])

    def _resolve_strays(
        self, plans: dict[_KnownEpoch, ChainPlan], streams: dict[_KnownEpoch, list[StoreState]]
    ) -> bool:
        """Find the place of objects that do not follow the last one of a stream. Return whether there were any.

        Nothing else waits when this is called, so the zone was listed after everything before them was put.
        """
        waiting: list[tuple[_KnownEpoch, NextObject]] = []
        is_changed = False
        for epoch, plan in plans.items():
            if not plan.strays:
                continue
            is_changed = True
            chain, known = stray_chain(plan.strays), streams[epoch]
            first = decode_object(chain[0], self.zone.get(chain[0].key))
            if isinstance(first, DamagedObject):
                self._set_aside(chain[0].key, first.reason)
                continue
            newest = max(range(len(known)), key=lambda n: known[n].mark, default=0)
            last = mark_number(known[newest].mark) if known else 0
            if chain[0].number > last:
                waiting += [(epoch, NextObject(chain[0], newest, chain[0].number - last - 1))]
            elif self._is_stored(chain, epoch, len(known)):
                self._delete(chain)
                self._settled |= {name.key for name in chain}
            elif len(known) >= _MAX_STREAMS:
                self._set_aside(chain[0].key, f"its archive has {_MAX_STREAMS} copies already")
            else:
                self.report.remarks.append(
                    f"The archive of {epoch[0]} was copied, or put back from a backup: its rows have a second host."
                )
                waiting += [(epoch, NextObject(name, len(known))) for name in chain]
        if waiting:
            self._commit_all(waiting, streams, lambda: False)
        return is_changed

    def _is_stored(self, chain: Sequence[ObjectName], epoch: _KnownEpoch, streams: int) -> bool:
        """Return whether a stream has all lines of a chain already. Facts follow their lines."""
        left = {stream_host(*epoch, number) for number in range(streams)}
        for name in chain:
            content = decode_object(name, self.zone.get(name.key)) if name.kind == "lines" else None
            if isinstance(content, LandedObject) and content.records:
                left = {host for host in left if self.store.has_records(host, content.records)}
        return bool(left)

    def _delete(self, names: Sequence[ObjectName]) -> None:
        if names and not self.keep:
            self.zone.delete([name.key for name in names])

    def _set_aside(self, key: str, reason: str) -> None:
        self.report.aside.append((key, reason))
        self._settled.add(key)
        self.zone.set_aside(key)


def _missing_sentence(planned: NextObject) -> str:
    gone = "1 object" if planned.missing == 1 else f"{planned.missing} objects"
    return (
        f"{gone} of {planned.name.host} before number {planned.name.number} never arrived: clew collect resend there."
    )
