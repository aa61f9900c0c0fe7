"""Predictions that the real CLI has confirmed, so that a test run asks it only about what is new.

A published version never changes. Once it sent what clew had predicted for a file, it does so again as long as file and
prediction are the same. `agreed.tsv` has a hash of both for each case. A case that is not there, or whose prediction
changed, is asked in the test run itself, and so is one in `ONE_IN` of the others; `make soak` asks all.

    CLEW_RECORD_AGREED=1 python -m pytest -n0 tests/oracle/test_resume.py     # ask about new cases, and record them
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from clew.conversation.resume_request import Request, build_request
from clew.conversation.session import Session
from clew.wire.entry import Entry, entries, read
from tests.oracle.verbatim import comparable

PROMPT = "NEXT"
TABLE = Path(__file__).with_suffix(".tsv")
ONE_IN = 8
ASKS_ALL = os.environ.get("CLEW_SOAK") == "1"
RECORDS = os.environ.get("CLEW_RECORD_AGREED") == "1"

Key = tuple[str, str]  # version and name of a case


def _attachment(number: int, text: str, role: str) -> bytes:
    message = {"role": "user", "content": f"<system-reminder>\n{text}\n</system-reminder>"}
    inside = {"type": "critical_system_reminder", "content": text}
    line = {"type": "attachment", "uuid": f"00000000-0000-4000-8000-{number:012d}", "attachment": inside}
    return json.dumps({**line, "rendered": [message], "renderedRole": role}).encode() + b"\n"


# What a version adds for the new prompt: of that, a prediction only has the place.
CONTEXT: tuple[Entry, ...] = tuple(
    entries(read(_attachment(1, "The date is known.", "user") + _attachment(2, "The tools are known.", "system")))
)


def predict(version: str, data: bytes, context: tuple[Entry, ...] = ()) -> Request:
    return build_request(Session(data).items, version, PROMPT, context)


def fingerprint(version: str, data: bytes) -> str:
    """Return a hash of a session file and of everything that a verdict compares of clew's prediction for it."""
    found = hashlib.sha256(canonical(data))
    for context in ((), CONTEXT):
        request = predict(version, data, context)
        facts = (comparable(request.messages), request.model, bool(request.refusal), request.left_out)
        found.update(canonical(json.dumps(facts, sort_keys=True).encode()))
    return found.hexdigest()[:16]


def canonical(data: bytes) -> bytes:
    """Return data in which what differs from run to run is replaced: ids by their order, times of today, temporary folders.

    To the CLI an id is only a name, and it does not compare times with its own.
    """
    ids: dict[bytes, int] = {}
    data = _UUID.sub(lambda match: b"#%d" % ids.setdefault(match[0], len(ids)), data)
    today = datetime.now(UTC).strftime("%Y-%m-%dT").encode()
    data = re.sub(re.escape(today) + rb"[0-9:.]+Z", b"<now>", data)
    return _FOLDER.sub(b"<temporary>", data)


_UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FOLDER = re.compile(rb'/[^"]*?pytest-of-[^/"]+/pytest-\d+')


@cache
def confirmed() -> dict[Key, str]:
    """Return the table: the fingerprint by version and name."""
    lines = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    return {(version, name): mark for version, name, mark in (line.split("\t") for line in lines)}


def must_ask(version: str, name: str, data: bytes) -> bool:
    """Return whether the CLI has to be asked about a case in this run."""
    mark = confirmed().get((version, name))
    is_sample = mark is not None and not RECORDS and int(mark, 16) % ONE_IN == 0
    return ASKS_ALL or mark is None or is_sample or mark != fingerprint(version, data)


def record(version: str, name: str, data: bytes) -> None:
    """Write a case that the CLI confirmed to the table."""
    table = confirmed()
    table[version, name] = fingerprint(version, data)
    rows = sorted((*key, mark) for key, mark in table.items())
    TABLE.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
