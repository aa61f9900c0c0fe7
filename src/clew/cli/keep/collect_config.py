"""`clew collect init` and `test`: write a commented configuration, and try each sink of it."""

from __future__ import annotations

from argparse import Namespace

from clew.cli.output import clean_name, print_json, print_message
from clew.errors import Refused, StoreError


def init(options: Namespace) -> int:
    """Write the template, which configures nothing until it is edited."""
    from clew.collect.config import TEMPLATE, config_path
    from clew.wire.session_writer import create_exactly

    path = config_path(options.config)
    if options.dry_run:
        print(TEMPLATE, end="")
        return 0
    if path.exists():
        raise Refused([f"{path} exists and was not changed"], hint="Check it with: clew collect test")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    create_exactly(path, (TEMPLATE.encode(),))
    if options.json:
        print_json([{"kind": "config", "path": str(path)}])
    else:
        print(clean_name(f"{path} is written. Edit it, then: clew collect test"))
    return 0


def test(options: Namespace) -> int:
    """Try each sink: whether it can be reached, may be written to, and has the version of this clew."""
    from clew.cli.keep.collect_delivery import chosen_sinks
    from clew.collect.sinks.probe import probe_sink

    sinks = chosen_sinks(options)
    if not sinks:
        raise Refused(["no sink is configured"], hint="Write a configuration: clew collect init")
    failures = 0
    for sink in sinks:
        problem, hint = "", ""
        try:
            said = probe_sink(sink)
        except (StoreError, Refused) as error:
            said, problem, hint = "", str(error), error.hint
            failures += 1
        if options.json:
            result = {"sink": sink.label, "ok": not problem, "checked": said, "error": problem or None}
            print_json([{"kind": "sink test", **result}])
        else:
            print(clean_name(f"{'FAILED' if problem else 'ok'}  {sink.label}: {problem or said}"))
            if hint and not options.quiet:
                print_message(hint)
    return 2 if failures else 0
