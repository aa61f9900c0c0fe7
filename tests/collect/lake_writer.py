"""A host in a process of its own: collects what it makes up, and commits it to a lake piece by piece.

    python -m tests.collect.lake_writer FOLDER ADDRESS NAME COMMITS

The folder keeps its archive, so that a host that was killed goes on where it was. Each commit is told on stdout when it is
done.
"""

from __future__ import annotations

import sys
from pathlib import Path

from clew.collect.archive.archive_schema import open_archive
from clew.collect.collector import Collector
from clew.collect.masking import Policy
from clew.collect.sinks.address import open_lake
from clew.collect.sinks.lake.sink import LakeFacts, LakeLines
from clew.collect.sinks.outbox import Delivery
from clew.collect.sinks.paced_cursors import PacedFactCursor, PacedLineCursor
from clew.collect.sql.sent_facts import SentFacts
from clew.facts.prices import load
from tests.collect.collect_fixture import session

KEY = bytes(range(32))
LINES = 5


def line(name: str, number: int) -> bytes:
    said = (
        f'"message":{{"role":"user","content":"{name} {number}"}},"timestamp":"2026-01-0{number % 5 + 1}T10:00:00.000Z"'
    )
    uuid = f"{number:08}-0000-4000-8000-00000000000{name[-1]}"
    above = f'"{number - 1:08}-0000-4000-8000-00000000000{name[-1]}"' if number else "null"
    return f'{{"type":"user","uuid":"{uuid}","parentUuid":{above},"isSidechain":false,{said}}}\n'.encode()


def main(folder: str, address: str, name: str, commits: int) -> None:
    root = Path(folder) / "claude"
    path = root / session(int(name[-1]))
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = open_archive(f"{folder}/archive.db")
    lake = open_lake(address)
    lines, facts = LakeLines(lake), LakeFacts(lake, sent=SentFacts.beside(connection, f"{lake.name}#facts"))
    first = path.read_bytes().count(b"\n") // LINES if path.exists() else 0
    for commit in range(first, commits):
        there = path.read_bytes().count(b"\n") if path.exists() else 0
        with open(path, "ab") as file:
            file.write(b"".join(line(name, n) for n in range(there, (commit + 1) * LINES)))
        Collector(str(root), connection, KEY).poll()
        for delivery in (
            Delivery(lines, PacedLineCursor(connection, lines.name), connection, Policy(KEY)),
            Delivery(facts, PacedFactCursor(connection, facts.name, load()), connection, Policy(KEY)),
        ):
            outcome = delivery.run(0.0)
            assert outcome is not None and outcome.error is None, outcome
        print(commit, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
