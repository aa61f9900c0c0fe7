"""Options of `clew usage`, and the collecting and printing that its views share."""

from __future__ import annotations

import os
import sys

from clew.report.usage_table import UsageQuery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable
    from typing import Any

    from clew.report.collect_buckets import ArchivedTranscript, CollectedBuckets


class UsageOptions:
    """The parsed options: which usage to report, and how."""

    def __init__(self, query: UsageQuery, view: str, options: Namespace) -> None:
        self.query = query
        self.view = view
        self.session: str | None = options.id
        self.claude_dir: str | None = options.claude_dir
        self.prices: str | None = options.prices
        self.plot: str | None = options.plot
        self.jobs: int | None = options.jobs
        names = ("json", "csv", "quiet", "compact", "breakdown", "estimate", "reconcile")
        self.flags = {name for name in names if getattr(options, name)}

    def has(self, flag: str) -> bool:
        return flag in self.flags

    @property
    def is_quiet(self) -> bool:
        return self.has("quiet")


def collect_usage(plan: UsageOptions, root: str, per_reply: bool, per_place: bool = False) -> CollectedBuckets:
    import gc

    from clew.cli.progress import ProgressBar
    from clew.report.collect_buckets import collect_buckets
    from clew.system.environment import cache_home

    gc.disable()  # a command ends soon and creates no cycles: looking for them took a tenth of its time
    progress = None if plan.is_quiet else ProgressBar("Reading transcripts").update
    collected = collect_buckets(
        root,
        cache_home(),
        per_reply=per_reply,
        per_place=per_place,
        kept=_archived(root),
        progress=progress,
        jobs=plan.jobs,
    )
    if collected.missed and not plan.is_quiet:
        from clew.cli.output import print_message
        from clew.system.file_errors import ErrorCollector, unreadable_reason

        for path in collected.missed:
            ErrorCollector(print_message).add(path, unreadable_reason(path))
    return collected


def _archived(root: str) -> list[ArchivedTranscript]:
    """Return the transcripts that are only in the archive."""
    from clew.system.environment import data_home

    if not os.path.exists(os.path.join(data_home(), "archive", "archive.db")):
        return []
    from clew.browse.archived_usage import archived_transcripts

    return archived_transcripts(root)


def print_json(values: Iterable[dict[str, Any]]) -> None:
    """Print JSON lines with the schema version, by the standard library: importing msgspec takes longer than a report."""
    import json

    for value in values:
        line = json.dumps({"clew": 1, **value}, ensure_ascii=False, separators=(",", ":"))
        print(line if line.isprintable() else _escape(line))


def _escape(line: str) -> str:
    from clew.system.control_characters import escape_json

    return escape_json(line)


def print_csv(values: Iterable[dict[str, Any]]) -> None:
    from clew.cli import output

    rows = [
        {key: " ".join(field) if isinstance(field, dict | list) else field for key, field in value.items()}
        for value in values
    ]
    if rows:
        output.print_csv(list(rows[0]), ([row.get(key) for key in rows[0]] for row in rows))


def terminal_width() -> int:
    """Return the columns of the terminal; 0 if stdout is not a terminal."""
    from clew.system.environment import terminal_columns

    return terminal_columns() if sys.stdout.isatty() else 0
