"""`clew collect ingest`: commit the objects of a landing zone to a store."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.errors import Refused, StoreError
from clew.system.plural import plural

if TYPE_CHECKING:
    from clew.collect.landing.ingester import IngestReport, Part

_EVERY = 60.0  # seconds between two looks into the zone
_MAX_WAIT = 600.0  # seconds after repeated failures


def ingest(options: Namespace) -> int:
    """Commit what waits, once or again and again. Ends with 1 if something was put aside, and with 2 after a failure."""
    from clew.collect.landing.ingester import Ingester
    from clew.collect.landing.open_ingest import open_ingest_store, open_landing_zone

    if len(options.to) != 1 or not options.source:
        raise Refused(
            ["name one landing zone and one store"],
            hint="clew collect ingest --from landing+s3://… --to postgresql://…",
        )
    part = _part(options.part)
    zone = open_landing_zone(options.source, _secret(options.from_token_file))
    store = open_ingest_store(options.to[0], _secret(options.token_file))
    try:
        ingester = Ingester(zone, store, part, keep=options.keep)
        if options.watch:
            _watch(ingester.run, options)
        report = ingester.run()
    finally:
        store.close()
        zone.close()
    _print(report, store.name, options)
    return 1 if report.aside else 0


def _watch(run: Callable[[], IngestReport], options: Namespace) -> None:
    every = options.every or _EVERY
    wait = every
    while True:
        try:
            report = run()
            wait = every
            if report.objects or report.aside or report.remarks:
                _print(report, options.to[0], options)
        except StoreError as error:
            if not error.retryable:
                raise
            wait = min(2 * wait, max(every, _MAX_WAIT))
            print_message(f"clew: {error} It is tried again.")
        time.sleep(wait)


def _part(text: str) -> Part:
    from clew.collect.landing.ingester import Part

    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise Refused([f"{text!r} is not a part; write 3/8 for the third of eight"])
    return Part(number, of)


def _secret(path: str | None) -> str:
    return Path(path).expanduser().read_text().strip() if path else ""


def _print(report: IngestReport, store: str, options: Namespace) -> None:
    if options.json:
        print_json([{"kind": "ingested", "time": int(time.time()), "store": store, **asdict(report)}])
        return
    what = f"{plural(report.objects, 'object')} ({plural(report.lines, 'line')}, {format_size(report.bytes)})"
    print(clean_name(f"{what} went to {store} in {plural(report.commits, 'commit')}"), flush=True)
    for key, reason in report.aside:
        print_message(clean_name(f"clew: {key} is put aside: {reason}."))
    for remark in report.remarks:
        print_message(clean_name(remark))
