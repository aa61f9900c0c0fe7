"""Command-line options that several commands share, and the parsers of option values."""

from __future__ import annotations

from argparse import ArgumentTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from datetime import datetime

MAX_JOBS = 256


def add_common_options(command: ArgumentParser, *, lists: bool = False) -> None:
    """Add the options that mean the same in every command; with `lists` also those that select sessions."""
    if lists:
        command.add_argument(
            "--project",
            "-p",
            metavar="PATH",
            type=parse_text,
            help="only this project: its path, its name or a part of it",
        )
        command.add_argument(
            "--since", metavar="WHEN", type=parse_time, help="only from this time on: 7d, yesterday, 2026-01-31"
        )
        command.add_argument("--until", metavar="WHEN", type=parse_time, help="only before this time")
        command.add_argument("--limit", "-n", metavar="N", type=parse_positive, help="show at most N")
    command.add_argument("--json", action="store_true", help="print versioned JSON lines")
    command.add_argument("--quiet", "-q", action="store_true", help="print no messages on stderr")
    add_claude_dir(command)


def add_store_options(command: ArgumentParser, *, scope: bool = False) -> None:
    """Add `--store` and what belongs to it; with `scope` also the options that limit what is fetched."""
    command.add_argument(
        "--store",
        metavar="STORE",
        help="read what was collected there: postgresql://…, s3://…, delta:FOLDER, or a sink of collect.toml",
    )
    command.add_argument("--developer", metavar="NAME", help="with --store: only what this developer collected")
    command.add_argument("--token-file", metavar="FILE", help="with --store: its password or KEY:SECRET, in a file")
    if scope:
        command.add_argument(
            "--project", "-p", metavar="PATH", type=parse_text, help="with --store: fetch only this project"
        )
        command.add_argument(
            "--since", metavar="WHEN", type=parse_time, help="with --store: fetch only sessions used since then"
        )
    command.set_defaults(reads_store=True, store_tree=None, store_source=None)


def add_jobs_option(command: ArgumentParser, where: str = "") -> None:
    """Add `--jobs`; `where` names the option it belongs to, such as "--all: "."""
    command.add_argument(
        "--jobs", metavar="N", type=parse_jobs, help=f"{where}read with N processes (default: one for each core)"
    )


def add_claude_dir(command: ArgumentParser) -> None:
    """Add `--claude-dir`."""
    command.add_argument("--claude-dir", metavar="DIR", help="the folder of Claude Code (default ~/.claude)")


def parse_text(text: str) -> str:
    """Parse a text that is not empty."""
    if not text.strip():
        raise ArgumentTypeError("the value is empty: write one, or leave the option out")
    return text


def parse_time(text: str) -> datetime:
    """Parse a point in time, such as `7d`, `yesterday` or `2026-01-31`."""
    from clew.wire.timestamps import parse_user_time

    try:
        return parse_user_time(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def parse_size(text: str) -> int:
    """Parse a number of bytes: `4096`, `512k`, `10M` or `1G`."""
    scale = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text[-1:].lower(), 1)
    digits = text[:-1] if scale > 1 else text
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and int(digits)):
        raise ArgumentTypeError(f"{text!r} is not a size: write 4096, 512k, 10M or 1G")
    return int(digits) * scale


def parse_count(text: str) -> int:
    """Parse a whole number that is not negative."""
    if not text.isdigit():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def parse_positive(text: str) -> int:
    """Parse a whole number from 1 on."""
    if not parse_count(text):
        raise ArgumentTypeError("0 would show nothing: write 1 or more, or leave the option out")
    return int(text)


def parse_jobs(text: str) -> int:
    """Parse a number of processes."""
    if not text.isdigit() or not 1 <= int(text) <= MAX_JOBS:
        raise ArgumentTypeError(f"{text!r} is not a number of processes: write 1 to {MAX_JOBS}")
    return int(text)


def parse_number(text: str, unit: str = "seconds") -> float:
    """Parse a number of seconds, or of another unit, that is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise ArgumentTypeError(f"{text!r} is not a number of {unit}")
    return value
