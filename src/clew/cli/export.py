"""`clew export`: a session in another form."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from clew.cli.choose import session as chosen
from clew.cli.output import SCHEMA, clean, common, print_json, remark
from clew.view.export import document
from clew.wire.encode import encode


def arguments(command: ArgumentParser) -> None:
    command.add_argument(
        "id", nargs="?", help="a session: its id, the beginning of it, or a path (default: the newest here)"
    )
    command.add_argument(
        "--format",
        choices=("json", "jsonl"),
        default="json",
        help="json: versioned JSON lines, a turn each; jsonl: the file as it is",
    )
    command.add_argument("--output", "-o", metavar="FILE", help="write there (a new file, 0600) and not to stdout")
    command.add_argument("--reveal", action="store_true", help="do not mask secrets")
    common(command)


def call(options: Namespace) -> int:
    session = chosen(options, options.id, archived=True)
    if options.format == "jsonl" and not options.reveal:
        remark("clew: the file as it is holds its secrets too. Add --reveal to export it all the same.")
        return 2
    data = (
        (item.raw for item in session.items)
        if options.format == "jsonl"
        else (encode({"clew": SCHEMA, **value}) + b"\n" for value in document(session, not options.reveal))
    )
    if options.output is None:
        for part in data:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return 0
    with open(os.open(options.output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.writelines(data)
    if options.json:
        print_json([{"kind": "exported", "session": session.id, "path": str(Path(options.output).resolve())}])
    else:
        print(clean(str(Path(options.output).resolve())))
    return 0
