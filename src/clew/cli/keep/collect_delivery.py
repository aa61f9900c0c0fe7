"""Deliver what was archived to the sinks of the command line or of the configuration, in turns."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from clew.cli.output import clean_name, print_json, print_message
from clew.system.plural import plural

if TYPE_CHECKING:
    from clew.collect.collector import Collector
    from clew.collect.config import SinkConfig
    from clew.collect.job import CollectJob
    from clew.collect.sinks.outbox import Delivery, DeliveryOutcome
    from clew.errors import ClewError

_TURN = 2.0  # seconds that one delivery may take before the next has its turn
_QUIET = 60.0  # seconds between two notes while nothing is sent
_FACTS = "#facts"  # facts follow their lines without a message


def chosen_sinks(options: Namespace) -> tuple[SinkConfig, ...]:
    """Return the sinks given with --to, else those of the configuration. Raises Refused."""
    from clew.collect.config import SinkConfig, check_secrets, load_config

    if not options.to:
        return load_config(options.config).sinks
    token = options.token_file or ""
    sinks = tuple(
        SinkConfig(to, token_file=token, reveal=options.reveal, max_line=options.max_line) for to in options.to
    )
    check_secrets(sinks)
    return sinks


class DeliveryRounds:
    """The deliveries of a collector, run in turns so that a slow sink or a long backlog does not stop the others."""

    def __init__(
        self,
        collector: Collector,
        archive: str,
        waiting: Sequence[Delivery[Any]],
        failed: Sequence[DeliveryOutcome],
        options: Namespace,
    ) -> None:
        self.collector = collector
        self.archive = archive
        self.waiting = waiting
        self.failed = failed
        self.options = options
        self.has_backlog = False
        self._noted = 0.0

    def run(self, *, once: bool) -> bool:
        """Give each delivery a turn, and with `once` more until nothing waits. Return whether all was accepted."""
        outcomes: dict[str, DeliveryOutcome] = {outcome.sink: outcome for outcome in self.failed}
        pending = list(self.waiting)
        while pending:
            unfinished = [delivery for delivery in pending if self._turn(delivery, outcomes)]
            self.has_backlog = bool(unfinished)
            pending = unfinished if once else []
        for outcome in outcomes.values():
            _print_outcome(outcome, self.options)
        for error in dict.fromkeys(str(outcome.error) for outcome in outcomes.values() if outcome.error):
            print_message(f"clew: {error} What is waiting stays in the archive.")
        if self.options.state and not self.waiting:
            from clew.collect.sinks.state_file import save_archived_positions

            save_archived_positions(self.collector.connection, self.collector.root, self.options.state)
        self._note(outcomes.values())
        return not any(outcome.error or outcome.rejected for outcome in outcomes.values())

    def _note(self, outcomes: Collection[DeliveryOutcome]) -> None:
        """Note the run and its outcomes for `clew collect status`; while nothing is sent, once a minute."""
        is_news = any(outcome.sent or outcome.rejected or outcome.error for outcome in outcomes)
        if is_news or not self._noted or time.monotonic() - self._noted > _QUIET:
            from clew.collect.sink_health import note_outcomes

            note_outcomes(self.archive, outcomes, int(time.time()))
            self._noted = time.monotonic()

    def _turn(self, delivery: Delivery[Any], outcomes: dict[str, DeliveryOutcome]) -> bool:
        """Run one turn of a delivery and add its outcome. Return whether more can be sent now."""
        end = time.monotonic() + _TURN
        outcome = delivery.run(time.monotonic(), lambda: time.monotonic() > end)
        if outcome is None:
            return False
        before = outcomes.get(outcome.sink)
        if before is not None:
            note = f"{before.note} {outcome.note}".strip()
            sent, rejected = before.sent + outcome.sent, before.rejected + outcome.rejected
            outcome = outcome._replace(sent=sent, rejected=rejected, note=note)
        outcomes[outcome.sink] = outcome
        return not outcome.is_complete


@contextmanager
def open_deliveries(collector: Collector, job: CollectJob, options: Namespace) -> Iterator[DeliveryRounds]:
    """Open the sinks. One of the configuration that cannot be opened is reported with the outcomes of the others."""
    from clew.collect.config import load_config
    from clew.collect.identity import resolve_owner, save_owner
    from clew.collect.sinks.address import deliveries, sink_name
    from clew.collect.sinks.outbox import DeliveryOutcome
    from clew.errors import StoreError

    failed: list[DeliveryOutcome] = []

    def note(sink: SinkConfig, error: ClewError) -> None:
        cause = error if isinstance(error, StoreError) else StoreError(str(error), "refused", False, hint=error.hint)
        failed.append(DeliveryOutcome(sink_name(sink), 0, 0, cause))

    save_owner(collector.connection, resolve_owner(load_config(options.config).identity))
    sinks = chosen_sinks(options)
    isolate = None if options.to else note
    with deliveries(collector, sinks, state=options.state, failed=isolate) as waiting:
        yield DeliveryRounds(collector, job.archive, waiting, failed, options)


def _print_outcome(outcome: DeliveryOutcome, options: Namespace) -> None:
    if options.json:
        error = str(outcome.error) if outcome.error else None
        print_json([{"kind": "delivered", "time": int(time.time()), **outcome._asdict(), "error": error}])
    elif outcome.sent and not outcome.sink.endswith(_FACTS):
        print(clean_name(f"{plural(outcome.sent, 'record')} went to {outcome.sink}"), flush=True)
    if outcome.note:
        print_message(clean_name(outcome.note))
    if outcome.rejected:
        print_message(f"{outcome.sink} cannot take {plural(outcome.rejected, 'record')}: see clew collect rejected.")
