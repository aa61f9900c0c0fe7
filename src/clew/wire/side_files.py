"""Read the JSON files next to the sessions: index, statistics, agents, todos, tasks, settings.

None of them is reliable: the program writes these files late, in several shapes, or no longer at all. Reading never
raises: a missing or broken file, or an unknown version, is None or empty, and a field of the wrong type has its
default.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct, field, structs

from clew.wire import session_writer
from clew.wire.json_codec import decode_readable, encode
from clew.wire.lenient import convert_leniently
from clew.wire.line import BOM, open_regular
from clew.wire.numeric_limits import MAX_COUNT, Amount, Count
from clew.wire.timestamps import format_timestamp, parse_timestamp

if TYPE_CHECKING:
    from clew.wire.layout import SessionFile
    from clew.wire.path_mapping import PathMapping

T = TypeVar("T", bound=Struct)
AnyPath = str | os.PathLike[str]

INDEX_NAME = "sessions-index.json"
INDEX_VERSION = 1
_HOURS = frozenset(map(str, range(24)))


# -- sessions-index.json: a cache that the program maintained from 2.1.9 to 2.1.29; newer versions leave it stale


class IndexEntry(Struct, frozen=True, rename="camel"):
    """The index entry of one session. `first_prompt` can be cut; `file_mtime` is in milliseconds."""

    session_id: str = ""
    full_path: str = ""
    file_mtime: Amount = 0
    first_prompt: str = ""
    summary: str | None = None
    custom_title: str | None = None
    message_count: Count = 0
    created: datetime | None = None
    modified: datetime | None = None
    git_branch: str = ""
    project_path: str = ""
    is_sidechain: bool = False
    pr_number: Count | None = None
    pr_url: str | None = None
    pr_repository: str | None = None


class SessionsIndex(Struct, frozen=True):
    version: int = INDEX_VERSION
    original_path: str | None = None
    entries: tuple[IndexEntry, ...] = ()


class IndexComparison(Struct, frozen=True):
    """An index compared with the files: `missing` entries have no file, `unlisted` files no entry."""

    fresh: tuple[IndexEntry, ...]
    stale: tuple[IndexEntry, ...]
    missing: tuple[IndexEntry, ...]
    unlisted: tuple[SessionFile, ...]


def read_index(path: AnyPath) -> SessionsIndex | None:
    """Read the index in a file; None if the folder must be scanned instead."""
    data = _object(path)
    if data is None or data.get("version") != INDEX_VERSION or not isinstance(data.get("entries"), list):
        return None
    original = data.get("originalPath")
    return SessionsIndex(
        original_path=original if isinstance(original, str) and original else None,
        entries=tuple(e for row in _objects(data["entries"]) if (e := _index_entry(row)).session_id),
    )


def is_fresh(entry: IndexEntry, file: SessionFile) -> bool:
    """Return True if the file is unchanged since the entry was written (with a millisecond for rounding)."""
    return abs(entry.file_mtime * 1_000_000 - file.mtime_ns) <= 1_000_000


def compare_index(index: SessionsIndex | None, files: Iterable[SessionFile]) -> IndexComparison:
    """Match entries and files by session id, since folders can be moved. Without an index all files are unlisted."""
    by_id = {file.id.lower(): file for file in files}
    listed = index.entries if index else ()
    matched = [(entry, by_id.get(entry.session_id.lower())) for entry in listed]
    known = {entry.session_id.lower() for entry in listed}
    return IndexComparison(
        fresh=tuple(entry for entry, file in matched if file and is_fresh(entry, file)),
        stale=tuple(entry for entry, file in matched if file and not is_fresh(entry, file)),
        missing=tuple(entry for entry, file in matched if not file),
        unlisted=tuple(file for id, file in by_id.items() if id not in known),
    )


def build_index(entries: Iterable[IndexEntry], original_path: str | None) -> bytes:
    """Return the bytes of an index, in the program's own key order and indentation."""
    value: dict[str, Any] = {"version": INDEX_VERSION, "entries": [_index_row(entry) for entry in entries]}
    if original_path:
        value["originalPath"] = original_path
    return msgspec.json.format(encode(value), indent=2)


def write_index(folder: AnyPath, index: SessionsIndex) -> Path | None:
    """Write an index into a project's folder; return the backup of the old one, if there was one."""
    path = Path(folder) / INDEX_NAME
    data = build_index(index.entries, index.original_path)
    backup = session_writer.back_up(path)
    session_writer.replace(path, data)
    return backup


def relocate_index(path: AnyPath, paths: PathMapping, folder: Path) -> bytes:
    """Return the content of an index with the paths of a moved project, its unknown fields included.

    An index of an unknown form is returned unchanged.
    """
    raw = Path(path).read_bytes()
    data = _object(path)
    if data is None or not isinstance(data.get("entries"), list):
        return raw
    rows = []
    for row in data["entries"]:
        if isinstance(row, dict):
            known = {name: paths.apply(row[name]) for name in ("projectPath",) if isinstance(row.get(name), str)}
            if isinstance(row.get("fullPath"), str):
                known["fullPath"] = str(folder / re.split(r"[\\/]", row["fullPath"])[-1])
            row = {**row, **known}
        rows.append(row)
    value = {**data, "entries": rows}
    if isinstance(data.get("originalPath"), str):
        value["originalPath"] = paths.apply(data["originalPath"])
    return msgspec.json.format(encode(value), indent=2)


def _index_entry(row: dict[str, Any]) -> IndexEntry:
    return convert_leniently(IndexEntry, {**row, **{key: _time(row.get(key)) for key in ("created", "modified")}})


def _index_row(entry: IndexEntry) -> dict[str, Any]:
    row = {spec.encode_name: getattr(entry, spec.name) for spec in structs.fields(IndexEntry)}
    return {k: format_timestamp(v) if isinstance(v, datetime) else v for k, v in row.items() if v is not None}


# -- stats-cache.json: totals computed by Claude Code


class ModelTokens(Struct, frozen=True, rename="camel"):
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read: Count = field(default=0, name="cacheReadInputTokens")
    cache_creation: Count = field(default=0, name="cacheCreationInputTokens")
    web_searches: Count = field(default=0, name="webSearchRequests")
    cost: Amount = field(default=0, name="costUSD")


class DayActivity(Struct, frozen=True, rename="camel"):
    day: date | None = field(default=None, name="date")
    messages: Count = field(default=0, name="messageCount")
    sessions: Count = field(default=0, name="sessionCount")
    tool_calls: Count = field(default=0, name="toolCallCount")


class DayTokens(Struct, frozen=True):
    day: date
    tokens: dict[str, int]


class LongestSession(Struct, frozen=True, rename="camel"):
    session_id: str = ""
    duration: Amount = 0
    message_count: Count = 0
    timestamp: str | int | float | None = None

    @property
    def time(self) -> datetime | None:
        return parse_timestamp(self.timestamp)


class Stats(Struct, frozen=True, rename="camel"):
    """Totals over all sessions up to `last_computed`; `duration` in milliseconds, hours from 0 to 23."""

    version: int = 0
    total_sessions: Count = 0
    total_messages: Count = 0
    last_computed: date | None = field(default=None, name="lastComputedDate")
    longest_session: LongestSession | None = None
    first_session: datetime | None = field(default=None, name="(first)")
    models: dict[str, ModelTokens] = field(default_factory=dict, name="(models)")
    days: tuple[DayActivity, ...] = field(default=(), name="(days)")
    day_tokens: tuple[DayTokens, ...] = field(default=(), name="(tokens)")
    hours: dict[int, int] = field(default_factory=dict, name="(hours)")

    @property
    def total_tool_calls(self) -> int:
        return sum(day.tool_calls for day in self.days)


def read_stats(path: AnyPath) -> Stats | None:
    """Read statistics of any version: the five known versions differ in keys that are not read here."""
    data = _object(path)
    if data is None:
        return None
    models = _map(data.get("modelUsage"))
    days = [convert_leniently(DayActivity, row) for row in _objects(data.get("dailyActivity"))]
    return structs.replace(
        convert_leniently(Stats, data),
        first_session=_time(data.get("firstSessionDate")),
        models={name: convert_leniently(ModelTokens, row) for name, row in models.items() if isinstance(row, dict)},
        days=tuple(day for day in days if day.day),
        day_tokens=tuple(_day_tokens(data.get("dailyModelTokens"))),
        hours={int(k): n for k, n in _counts(data.get("hourCounts")).items() if k in _HOURS},
    )


def _day_tokens(value: Any) -> Iterator[DayTokens]:
    for row in _objects(value):
        if day := convert_leniently(DayActivity, row).day:
            yield DayTokens(day, _counts(row.get("tokensByModel")))


# -- small files


class AgentMeta(Struct, frozen=True, rename="camel"):
    """The content of `agent-<id>.meta.json`; `tool_use_id` is the call that started the agent."""

    agent_type: str | None = None
    description: str | None = None
    tool_use_id: str | None = None
    parent_agent: str | None = field(default=None, name="parentAgentId")
    spawn_depth: Count | None = None
    name: str | None = None
    model: str | None = None
    worktree_path: str | None = None
    is_fork: bool | None = None
    is_built_in: bool | None = None
    request_shape: str | None = None
    finished: bool | None = None


class Todo(Struct, frozen=True, rename="camel"):
    content: str = ""
    status: str = ""
    active_form: str | None = None
    id: str | int | None = None
    priority: str | None = None


class TaskFile(Struct, frozen=True, rename="camel"):
    id: str | int = ""
    subject: str = ""
    description: str = ""
    status: str = ""
    active_form: str | None = None
    owner: str | None = None
    blocks: list[str] = []
    blocked_by: list[str] = []


class CleanupSettings(Struct, frozen=True, rename="camel"):
    """After how many days the program deletes sessions, if that is set."""

    cleanup_period_days: Count | None = None


def read_meta(path: AnyPath) -> AgentMeta | None:
    return _read_as(AgentMeta, path)


def read_todos(path: AnyPath) -> tuple[Todo, ...]:
    """Read the list of one `todos/` file of any version; a bare string is an item too."""
    data = _load(path)
    items = data.get("todos") if isinstance(data, dict) else data
    if not isinstance(items, list):
        return ()
    return tuple(
        convert_leniently(Todo, item) if isinstance(item, dict) else Todo(content=item)
        for item in items
        if isinstance(item, dict | str)
    )


def read_task(path: AnyPath) -> TaskFile | None:
    return _read_as(TaskFile, path)


def read_settings(path: AnyPath) -> CleanupSettings:
    return _read_as(CleanupSettings, path) or CleanupSettings()


def is_bare_name(name: str) -> bool:
    """Return True if a name from a file is a bare name, so that a path built with it stays in its folder."""
    return bool(name) and name not in (".", "..") and not any(c in name for c in "/\\:\0")


# -- reading JSON


def _load(path: AnyPath) -> Any:
    try:
        with open_regular(path) as file:
            return decode_readable(file.read().removeprefix(BOM))
    except (OSError, ValueError):
        return None


def _object(path: AnyPath) -> dict[str, Any] | None:
    data = _load(path)
    return data if isinstance(data, dict) else None


def _read_as(shape: type[T], path: AnyPath) -> T | None:
    data = _object(path)
    return None if data is None else convert_leniently(shape, data)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _counts(value: Any) -> dict[str, int]:
    integers = {key: n for key, n in _map(value).items() if isinstance(n, int) and not isinstance(n, bool)}
    return {key: n for key, n in integers.items() if 0 <= n <= MAX_COUNT}


def _time(value: Any) -> datetime | None:
    return parse_timestamp(value) if isinstance(value, str | int | float) else None
