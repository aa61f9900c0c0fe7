"""Print text, JSON, CSV and messages: data to stdout, messages to stderr.

Each form has one writer, and none of them passes on a control character of a transcript: text is cleaned, JSON is
escaped (equal in value), CSV is cleaned on a terminal and unchanged in a pipe or a file.
"""

from __future__ import annotations

import os
import sys

from clew.system.control_characters import clean_name, escape_json_bytes
from clew.system.plural import plural
from clew.version import JSON_SCHEMA
from clew.view.sanitize import clean, format_age, format_size, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any, TextIO

__all__ = [
    "clean",
    "clean_name",
    "format_age",
    "format_size",
    "is_terminal",
    "one_line",
    "print_csv",
    "print_data",
    "print_json",
    "print_message",
    "write_new_file",
]


def print_message(text: str) -> None:
    """Print one line on stderr."""
    print(clean_name(text), file=sys.stderr)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_json(values: Iterable[Mapping[str, Any]]) -> int:
    """Print JSON lines, each with the schema version. Return how many."""
    count = 0
    for value in values:
        sys.stdout.buffer.write(json_line(value))
        count += 1
    sys.stdout.buffer.flush()
    return count


def json_line(value: Mapping[str, Any]) -> bytes:
    """Encode one JSON line with the schema version."""
    from clew.wire.json_codec import encode  # imports msgspec, which text needs not

    return escape_json_bytes(encode({"clew": JSON_SCHEMA, **value})) + b"\n"


def print_data(parts: Iterable[bytes], *, is_json: bool = False) -> None:
    """Write the bytes of a document to stdout: unchanged in a pipe; on a terminal JSON is escaped and text is
    cleaned.
    """
    is_shown = is_terminal()
    for part in parts:
        if is_json and is_shown:
            part = escape_json_bytes(part)
        elif is_shown:
            part = clean(part.decode("utf-8", "replace")).encode("utf-8", "replace")
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()


def print_csv(columns: Sequence[str], rows: Iterable[Iterable[Any]], file: TextIO | None = None) -> int:
    """Print rows as CSV, on stdout or to a file. Return how many.

    A text that a spreadsheet would run gets an apostrophe in front. On a terminal each cell is cleaned and stays on
    its line; in a pipe or a file values are unchanged.
    """
    import csv

    from clew.system.spreadsheet import safe_cell

    target = file if file is not None else sys.stdout
    if not target.isatty():
        target = getattr(target, "stream", target)  # lossless: not through the guard

    def cell(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        safe = safe_cell(value)
        return clean_name(safe) if target.isatty() else safe.encode("utf-8", "replace").decode()

    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(map(cell, columns))
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - the number is returned
        writer.writerow(map(cell, row))
    return count


def describe_left_out(count: int) -> str:
    """Describe attachments that Claude Code sends in its own words, which are not in the file."""
    return f"; and {plural(count, 'attachment')} in its own words" if count else ""


def write_new_file(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file that only its owner can read. It must not exist; one that was not written completely is removed."""
    is_done = False
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        try:
            file.writelines(parts)
            file.flush()
            is_done = True
        finally:
            if not is_done:
                path.unlink(missing_ok=True)
