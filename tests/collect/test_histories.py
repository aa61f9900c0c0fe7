"""Histories of archives, backups, stores, networks and clocks: some in each test run, thousands in `make soak`.

`CLEW_HISTORIES=N` sets how many of each kind are run, and `CLEW_FIRST_HISTORY` the number of the first: a number is
always the same history. Those below were found so, or thought of while looking.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clew.collect.config import SinkConfig
from clew.collect.sinks.address import deliveries
from tests.collect.history_machine import DAYS, PATHS, HistoryMachine, run_histories, shorten
from tests.collect.postgres import SHM
from tests.collect.store_kinds import DeltaFolder, JsonLinesFile, PostgresDatabase, StoreKind

SAMPLE = {"jsonl": 30, "postgres": 20, "delta": 3}
MANY = {"jsonl": 2000, "postgres": 3000, "delta": 500}


@contextmanager
def opened(kind: str) -> Iterator[StoreKind]:
    with tempfile.TemporaryDirectory(dir=SHM if SHM.is_dir() else None) as folder:
        if kind == "postgres":
            store: StoreKind = PostgresDatabase.start()
        else:
            store = DeltaFolder(Path(folder)) if kind == "delta" else JsonLinesFile(Path(folder))
        try:
            yield store
        finally:
            store.close()


@pytest.fixture(scope="module")
def stores() -> Iterator[dict[str, StoreKind]]:
    with opened("postgres") as postgres, opened("delta") as delta, opened("jsonl") as jsonl:
        yield {"postgres": postgres, "delta": delta, "jsonl": jsonl}


@pytest.mark.parametrize("kind", SAMPLE)
def test_no_line_is_lost_or_changed_in_any_history(kind: str, stores: dict[str, StoreKind]) -> None:
    run_histories(stores[kind], range(SAMPLE[kind]), 16)


@pytest.mark.soak
@pytest.mark.skipif(os.environ.get("CLEW_SOAK") != "1", reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("kind", MANY)
def test_no_line_is_lost_or_changed_in_thousands_of_histories(kind: str) -> None:
    with opened(kind) as store:
        first = int(os.environ.get("CLEW_FIRST_HISTORY", 1000))
        run_histories(store, range(first, first + int(os.environ.get("CLEW_HISTORIES", MANY[kind]))), 30)


# -- histories that once lost something


def put_back_store_whose_facts_came_later(machine: HistoryMachine) -> None:
    """The backup of the store has the lines, and none of the facts that were built from them."""
    machine.append(0, PATHS[0], 2, False)
    machine.poll(0, False)
    life = machine.life(0)
    with deliveries(machine.collector(life), [SinkConfig(machine.store.address, reveal=True)]) as waiting:
        machine.send(life, waiting[:1], "", 0)
    machine.copy_store()
    machine.deliver(0, "", 0)
    machine.restore_store(0)


def resend_after_a_lost_acknowledgement(machine: HistoryMachine) -> None:
    """The store has a batch of which the archive does not know; then a day is dropped, and all is sent again."""
    machine.work(0, PATHS[0], 3, "", 0)
    machine.append(0, PATHS[0], 2, False)
    machine.poll(0, False)
    with deliveries(machine.collector(machine.life(0)), [SinkConfig(machine.store.address, reveal=True)]) as waiting:
        lines = waiting[0]
        shorten(lines)
        assert lines.check
        lines.check.run(0.0)
        lines.sink.write(next(iter(lines.cursor.batches(lines.policy))))
    machine.drop_day(DAYS[0])
    machine.resend(0)
    machine.deliver(0, "", 0)
    machine.needs_resend = False


def send_facts_of_a_restored_archive(machine: HistoryMachine) -> None:
    """The check of the lines cannot be done now, and the facts have their turn."""
    machine.work(0, PATHS[0], 2, "", 0)
    machine.back_up(0)
    machine.work(0, PATHS[1], 2, "", 0)
    machine.restore(0, 0, False)
    machine.delete(0, PATHS[1])
    machine.append(0, PATHS[2], 3, False)
    machine.poll(0, False)
    life = machine.life(0)
    with deliveries(machine.collector(life), [SinkConfig(machine.store.address, reveal=True)]) as waiting:
        machine.send(life, waiting[1:], "", 0)
    machine.deliver(0, "", 0)
    assert len(machine.store.replies()) == 7


def restore_after_facts_of_a_damaged_line(machine: HistoryMachine) -> None:
    """The facts in the store lack a damaged line; the repaired archive is put back before it can send them again."""
    machine.work(0, PATHS[0], 4, "", 0)
    machine.back_up(0)
    machine.append(0, PATHS[0], 2, False)
    machine.damage(0, 2)
    machine.restore(0, 0, True)


def erase_the_newest_session(machine: HistoryMachine) -> None:
    """The number of an erased file is not given to another one, whose lines would be taken for known."""
    machine.work(0, PATHS[0], 2, "", 0)
    machine.work(0, PATHS[1], 2, "", 0)
    machine.erase(0, PATHS[1])
    machine.work(0, PATHS[2], 2, "", 0)


def erase_everything(machine: HistoryMachine) -> None:
    machine.work(0, PATHS[0], 1, "", 0)
    machine.erase(0, PATHS[0])
    machine.work(0, PATHS[0], 1, "", 0)


def send_after_the_store_was_filled_by_a_copy(machine: HistoryMachine) -> None:
    """The store was put back, and a copy of the archive sent more than this one under the same name."""
    machine.copy_store()
    machine.clone(0, False)
    machine.work(1, PATHS[1], 1, "", 0)
    machine.restore_store(0)
    machine.work(0, PATHS[0], 4, "", 0)


def send_to_a_new_store_after_a_copy_that_erased(machine: HistoryMachine) -> None:
    """A copy of the archive has filled the new store with all but what it erased."""
    machine.work(0, PATHS[1], 1, "", 0)
    machine.work(0, PATHS[0], 4, "", 0)
    machine.lose_store()
    machine.clone(0, False)
    machine.erase(0, PATHS[1])


def lose_the_store_under_a_watching_collector(machine: HistoryMachine) -> None:
    """Within the interval of the checks, and with connections and tables that were opened before."""
    machine.watch_work(0, PATHS[0], 2, "", 0)
    if machine.store.knows_itself:
        machine.lose_store()
    machine.watch_work(0, PATHS[1], 2, "", 0)


def repair_a_row(machine: HistoryMachine) -> None:
    """Lines that are read again because a row was damaged keep their numbers, and are not sent as new ones."""
    machine.work(0, PATHS[0], 2, "", 0)
    machine.work(0, PATHS[1], 2, "", 0)
    connection = machine.life(0).connection
    connection.execute("UPDATE occurrence SET length = length + 1 WHERE seq = 1")
    machine.poll(0, True)
    assert connection.execute("SELECT group_concat(seq) FROM occurrence").get == "1,2,3,4"


def repair_a_line_that_facts_lack(machine: HistoryMachine) -> None:
    """Facts that were built while a line was damaged are built again after its repair."""
    machine.append(0, PATHS[0], 2, False)
    machine.damage(0, 0)


def move_a_session_under_a_watching_collector(machine: HistoryMachine) -> None:
    """Facts contain the path of a session, and are sent again after it was moved."""
    machine.append(0, PATHS[0], 1, False)
    machine.poll(0, False)
    machine.watch(0, "", 0, 1.0)
    machine.rename(0, PATHS[0], PATHS[1])
    machine.poll(0, False)
    machine.watch(0, "", 0, 400.0)


OF_FACTS = [
    move_a_session_under_a_watching_collector,
    put_back_store_whose_facts_came_later,
    send_facts_of_a_restored_archive,
    restore_after_facts_of_a_damaged_line,
    repair_a_line_that_facts_lack,
]
OF_LINES = [
    lose_the_store_under_a_watching_collector,
    send_to_a_new_store_after_a_copy_that_erased,
    send_after_the_store_was_filled_by_a_copy,
    erase_the_newest_session,
    erase_everything,
    repair_a_row,
]
CASES = [
    *((kind, history) for kind in SAMPLE for history in OF_LINES),
    *(
        (kind, history)
        for kind in ("postgres", "delta")
        for history in (*OF_FACTS, resend_after_a_lost_acknowledgement)
    ),
]


@pytest.mark.parametrize(("kind", "history"), CASES)
def test_history(kind: str, history: Callable[[HistoryMachine], None], stores: dict[str, StoreKind]) -> None:
    machine = HistoryMachine(stores[kind])
    history(machine)
    machine.finish()
    machine.close()


@pytest.mark.parametrize("kind", ["postgres", "delta"])
def test_facts_alone_of_a_restored_archive_replace_no_others(kind: str, stores: dict[str, StoreKind]) -> None:
    """A sink that is sent no lines compares its facts."""
    machine = HistoryMachine(stores[kind])

    def send() -> None:
        config = SinkConfig(machine.store.address, reveal=True, send="facts")
        with deliveries(machine.collector(machine.life(0)), [config]) as waiting:
            [outcome] = [delivery.run(0.0) for delivery in waiting]
            assert outcome and not outcome.error

    machine.append(0, PATHS[0], 2, False)
    machine.poll(0, False)
    send()
    machine.back_up(0)
    machine.append(0, PATHS[1], 2, False)
    machine.poll(0, False)
    send()
    machine.restore(0, 0, False)
    machine.delete(0, PATHS[1])
    machine.append(0, PATHS[2], 3, False)
    machine.poll(0, False)
    send()
    assert len(machine.store.replies()) == 7
    machine.close()
