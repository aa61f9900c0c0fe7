"""`clew collect compact`: compact the files of a lake."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from clew.cli.output import print_json, print_message
from clew.errors import Refused
from clew.system.plural import plural


def compact(options: Namespace) -> int:
    from clew.collect.sinks.address import LAKE, open_lake

    if not options.to or not all(address.startswith(LAKE) for address in options.to):
        raise Refused(["only a lake is tidied up; name it with --to s3://… or --to delta:FOLDER"])
    from clew.collect.sinks.lake.maintenance import compact

    secret = Path(options.token_file).expanduser().read_text().strip() if options.token_file else ""
    count = 0
    for address in options.to:
        lake = open_lake(address, secret)
        for cared in compact(lake):
            count += 1
            if options.json:
                print_json([{"kind": "compacted", "store": lake.name, **cared._asdict()}])
            else:
                print(
                    f"{cared.table}: {plural(cared.files_before, 'file')} became {cared.files_after}, "
                    f"{plural(cared.superseded, 'old row')} and {plural(cared.deleted, 'old file')} are gone"
                )
    if not count and not options.quiet:
        print_message("Nothing has been sent there yet.")
    return 0 if count else 1
