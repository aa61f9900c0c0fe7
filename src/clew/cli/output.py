"""Output: data on stdout, remarks on stderr, and no control codes out of a transcript on either."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from clew.view.plain import ago, clean, one_line, size
from clew.wire.encode import encode
from clew.wire.time import moment

__all__ = [
    "ago",
    "clean",
    "common",
    "count",
    "is_terminal",
    "number",
    "one_line",
    "print_json",
    "remark",
    "size",
    "when",
]

SCHEMA = 1  # of the JSON lines; raised when a field changes its meaning or goes


def remark(text: str) -> None:
    print(clean(text), file=sys.stderr)


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_json(values: Iterable[Mapping[str, Any]]) -> int:
    """JSON lines, each with the version of its form; returns how many."""
    count = 0
    for value in values:
        sys.stdout.buffer.write(encode({"clew": SCHEMA, **value}) + b"\n")
        count += 1
    sys.stdout.buffer.flush()
    return count


def common(command: argparse.ArgumentParser, *, lists: bool = False) -> None:
    """The options that mean the same in every command."""
    if lists:
        command.add_argument(
            "--project", "-p", metavar="PATH", help="only this project: a path, its name or a part of it"
        )
        command.add_argument("--since", metavar="WHEN", type=when, help="only from then on: 7d, yesterday, 2026-01-31")
        command.add_argument("--until", metavar="WHEN", type=when, help="only before then")
        command.add_argument("--limit", "-n", metavar="N", type=count, help="at most so many")
    command.add_argument("--json", action="store_true", help="print versioned JSON lines")
    command.add_argument("--quiet", "-q", action="store_true", help="no remarks on stderr")
    command.add_argument("--claude-dir", metavar="DIR", help="the folder of Claude Code (default ~/.claude)")


def when(text: str) -> datetime:
    try:
        return moment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of things")
    return int(text)


def number(text: str, of: str = "seconds") -> float:
    """A number of seconds, or of something else, that is not less than none."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of {of}")
    return found
