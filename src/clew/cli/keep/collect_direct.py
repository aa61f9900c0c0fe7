"""`clew collect --no-archive`: send new lines directly to a sink."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from clew.cli.output import clean_name, format_size, print_json, print_message
from clew.collect.collector_lock import hold_lock
from clew.collect.direct_collect import DirectCollector, DirectReport, StateFile, default_state_path
from clew.collect.masking import Policy
from clew.collect.sinks.address import open_sink
from clew.errors import NotFound, Refused
from clew.system.plural import plural
from clew.wire.layout import claude_dir

_EVERY = 2.0  # seconds between two looks
_NAMED = 3  # paths that a remark names


def collect_directly(options: Namespace) -> int:
    """Deliver once, or again and again with --watch; exit code 2 if something could not be read or sent."""
    _refuse(options)
    root = claude_dir(options.claude_dir)
    if not root.is_dir():
        raise NotFound(str(root), "session folder")
    state = str(Path(options.state or default_state_path()).expanduser())
    Path(state).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with hold_lock(f"{state}.lock"):
        while True:
            code = _deliver(str(root), state, options)
            if not options.watch:
                return code
            time.sleep(options.every or _EVERY)


def _refuse(options: Namespace) -> None:
    reasons = []
    if len(options.to) != 1:
        reasons.append("--no-archive needs one place to send to: name it with --to")
    elif not options.to[0].startswith(("https://", "http://", "parquet:")) and not options.to[0].endswith(".jsonl"):
        reasons.append("without an archive lines go to https://…, parquet:FOLDER or FILE.jsonl alone")
    given = {"--archive": options.archive, "--scrub": options.scrub, "--dry-run": options.dry_run}
    reasons += [f"{name} is about the archive, and --no-archive keeps none" for name, value in given.items() if value]
    if reasons:
        raise Refused(reasons)


def _deliver(root: str, state: str, options: Namespace) -> int:
    token = Path(options.token_file).expanduser().read_text().strip() if options.token_file else ""
    sink = open_sink(options.to[0], token)
    try:
        policy = Policy() if options.reveal or not sink.leaves else Policy(os.urandom(32))
        collector = DirectCollector(root, sink, StateFile(state), policy, options.max_line, options.max_file)
        report = collector.run()
    finally:
        sink.close()
    _print(report, sink.name, state, options)
    return 2 if report.error or report.failures else 0


def _print(report: DirectReport, name: str, state: str, options: Namespace) -> None:
    if options.json:
        about = {"sink": name, "state": state, "files": report.files, "sent": report.sent, "bytes": report.bytes}
        rest = {"withheld": report.withheld, "too_large": report.too_large, "restarted": report.restarted}
        error = str(report.error) if report.error else None
        print_json([{"kind": "delivered", **about, **rest, "failures": report.failures, "error": error}])
    elif report.sent or not options.watch:
        what = f"{plural(report.sent, 'record')} ({format_size(report.bytes)})"
        print(clean_name(f"{what} of {plural(report.files, 'file')} went to {name}"), flush=True)
    for text in () if options.quiet else _remarks(report):
        print_message(text)
    if report.error:
        print_message(f"clew: {report.error} What is left is sent by the next run.")


def _remarks(report: DirectReport) -> Iterator[str]:
    if report.withheld:
        yield f"{plural(report.withheld, 'line is', 'lines are')} longer than --max-line and sent as records without text."
    if report.too_large:
        names = ", ".join(report.too_large[:_NAMED]) + (" …" if len(report.too_large) > _NAMED else "")
        yield f"Left out, larger than --max-file: {names}."
    for path in report.restarted:
        yield f"{path} was rewritten and is sent again from its beginning."
    for failure in report.failures:
        yield f"Could not be read: {failure}."
