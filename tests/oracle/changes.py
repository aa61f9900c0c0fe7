"""Changes of session files at random: what crashes, full disks, other tools and other versions do to lines and fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from random import Random
from typing import Any

from clew.wire.timestamps import parse_timestamp

Json = dict[str, Any]

MODELS = (
    "claude-opus-5-5",
    "claude-sonnet-4-5-20250929",
    "claude-haiku-4-5-20251001",
    "claude-3-opus",
    "<synthetic>",
)
VERSIONS = ("2.1.325", "2.1.29", "2.0.50", "1.0.17", "0.2.9", "3.0.0", "2.1.326-beta", "x", "", None, 2)
NOWHERE = "ffffffff-0000-4000-8000-000000000000"


def change(lines: list[bytes], chance: Random) -> str:
    """Change one line, and say how."""
    at = chance.randrange(len(lines))
    if chance.random() < 0.45:
        name = chance.choice(list(_LINES))
        _LINES[name](lines, at, chance)
        return f"line {at + 1}: {name}"
    entry = _entry(lines[at])
    if not entry or "uuid" not in entry:
        return f"line {at + 1}: untouched"
    name = chance.choice(list(_FIELDS))
    others = [other for line in lines if (other := _entry(line)) and "uuid" in other]
    _FIELDS[name](entry, others, chance)
    lines[at] = json.dumps(entry).encode() + b"\n"
    return f"line {at + 1}: {name}"


def _entry(line: bytes) -> Json | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _torn(lines: list[bytes], at: int, chance: Random) -> None:
    lines[at] = lines[at][: chance.randrange(len(lines[at]))].rstrip(b"\n") + b"\n"


def _joined(lines: list[bytes], at: int, chance: Random) -> None:
    lines[at] = lines[at][: chance.randrange(len(lines[at]))].rstrip(b"\n")


def _moved(lines: list[bytes], at: int, chance: Random) -> None:
    lines.insert(chance.randint(0, len(lines) - 1), lines.pop(at))


def _swapped(lines: list[bytes], at: int, chance: Random) -> None:
    lines[at : at + 2] = reversed(lines[at : at + 2])


def _from_here(apply: Callable[[Json], object]) -> Callable[[list[bytes], int, Random], None]:
    """Change all entries from a line on."""

    def each(lines: list[bytes], at: int, chance: Random) -> None:
        for index in range(at, len(lines)):
            entry = _entry(lines[index])
            if entry and "uuid" in entry:
                apply(entry)
                lines[index] = json.dumps(entry).encode() + b"\n"

    return each


def _dated_from_here(lines: list[bytes], at: int, chance: Random) -> None:
    form = chance.choice(DATE_FORMS)
    _from_here(lambda entry: _write_time(entry, form))(lines, at, chance)


def _bridged(lines: list[bytes], at: int, chance: Random) -> None:
    """Lose a line, and write the times of both or of one of its neighbours in another form."""
    form = chance.choice(DATE_FORMS)
    lines.pop(at)
    for index in chance.choice(((at,), (at - 1,), (at - 1, at))):
        entry = _entry(lines[index]) if 0 <= index < len(lines) else None
        if entry:
            _write_time(entry, form)
            lines[index] = json.dumps(entry).encode() + b"\n"


def _noted(lines: list[bytes], at: int, chance: Random) -> None:
    """A line beside the conversation, about an entry that is there or not; it may have a place in the tree."""
    entry = _entry(lines[at]) or {}
    about, when = entry.get("uuid", NOWHERE), entry.get("timestamp")
    snapshot = {"messageId": about, "trackedFileBackups": {}, "timestamp": when}
    backup = {"backupFileName": None, "version": 1, "backupTime": when}
    notes: tuple[Json, ...] = (
        {"type": "file-history-snapshot", "messageId": about, "snapshot": snapshot, "isSnapshotUpdate": False},
        {"type": "file-history-snapshot", "messageId": about, "snapshot": snapshot, "isSnapshotUpdate": True},
        {"type": "file-history-snapshot", "messageId": about},
        {"type": "file-history-delta", "messageId": about, "trackingPath": "a", "backup": backup, "timestamp": when},
        {"type": "queue-operation", "operation": "enqueue", "content": "queued", "timestamp": when},
        {"type": "queue-operation", "operation": "enqueue", "content": [{"type": "text", "text": "queued"}]},
        {"type": "queue-operation", "operation": "remove", "reason": "absorbed_mid_turn", "commandUuid": about},
        {"type": "queue-operation", "operation": "dequeue"},
        {"type": "queue-operation"},
    )
    place = {"uuid": f"eeeeeeee-{at:04d}-4000-8000-{chance.randrange(16**12):012x}", "parentUuid": entry.get("uuid")}
    note = chance.choice(notes) | (place if chance.random() < 0.2 else {})
    lines.insert(at + chance.randint(0, 1), json.dumps(note).encode() + b"\n")


_LINES: dict[str, Callable[[list[bytes], int, Random], object]] = {
    "torn": _torn,
    "lost": lambda lines, at, chance: lines.pop(at),
    "lost with the next": lambda lines, at, chance: lines.__delitem__(slice(at, at + 2)),
    "cut off here": lambda lines, at, chance: lines.__delitem__(slice(at + 1, None)),
    "joined with the next": _joined,
    "twice": lambda lines, at, chance: lines.insert(at, lines[at]),
    "again later": lambda lines, at, chance: lines.insert(chance.randint(at, len(lines)), lines[at]),
    "moved": _moved,
    "swapped with the next": _swapped,
    "blank line": lambda lines, at, chance: lines.insert(at, b"\n"),
    "line of another kind": lambda lines, at, chance: lines.insert(at, chance.choice((b"[]\n", b"null\n", b"7\n"))),
    "lost beside another form of time": _bridged,
    "a note": _noted,
    "no times from here": _from_here(lambda entry: entry.pop("timestamp", None)),
    "another form of time from here": _dated_from_here,
    "no versions from here": _from_here(lambda entry: entry.pop("version", None)),
    "an agent's from here": _from_here(lambda entry: entry.update(isSidechain=True)),
}

ODD_CONTENT: tuple[Any, ...] = (
    "",
    " ",
    "plain",
    None,
    [],
    [{"type": "text", "text": ""}],
    [{"type": "text", "text": " \n"}],
    [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
    [{"type": "x-unknown", "x": 1}],
)
ODD_TIMES: tuple[Any, ...] = (
    None,
    "",
    "yesterday",
    0,
    "2026-01-03",
    "2020-01-01T00:00:00.000Z",
    "2099-01-01T00:00:00Z",
)


DATE_FORMS: tuple[Callable[[datetime], Any], ...] = (
    lambda when: format_datetime(when, usegmt=True),
    lambda when: format_datetime(when.astimezone(timezone(timedelta(hours=2)))),
    lambda when: when.astimezone(timezone(timedelta(hours=2))).isoformat(),
    lambda when: when.astimezone(timezone(timedelta(hours=-5, minutes=-30))).isoformat(timespec="milliseconds"),
    lambda when: when.strftime("%Y-%m-%dT%H:%M:%SZ"),
    lambda when: when.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    lambda when: when.strftime("%Y-%m-%dT%H:%MZ"),
    lambda when: when.strftime("%Y-%m-%dT%H:%M:%S"),
    lambda when: when.strftime("%Y-%m-%d %H:%M:%S"),
    lambda when: when.strftime("%Y-%m-%d %H:%M:%S+0000"),
    lambda when: when.strftime("%Y/%m/%d %H:%M:%S"),
    lambda when: when.strftime("%b %d, %Y %I:%M:%S %p"),
    lambda when: when.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)"),
    lambda when: when.strftime("%Y%m%dT%H%M%SZ"),
    lambda when: int(when.timestamp() * 1000),
    lambda when: str(int(when.timestamp() * 1000)),
    lambda when: int(when.timestamp()),
)


def _write_time(entry: Json, form: Callable[[datetime], Any]) -> None:
    when = parse_timestamp(entry.get("timestamp"))
    if when is not None:
        entry["timestamp"] = form(when)


def _time_in_another_form(entry: Json, others: Sequence[Json], chance: Random) -> None:
    _write_time(entry, chance.choice(DATE_FORMS))


def _other(others: Sequence[Json], chance: Random) -> Json:
    return chance.choice(others)


def _set(key: str, values: Iterable[Any]) -> Callable[[Json, Sequence[Json], Random], None]:
    choices = list(values)

    def apply(entry: Json, others: Sequence[Json], chance: Random) -> None:
        entry[key] = chance.choice(choices)

    return apply


def _take(*keys: str) -> Callable[[Json, Sequence[Json], Random], None]:
    """The value that another line has."""

    def apply(entry: Json, others: Sequence[Json], chance: Random) -> None:
        source = _other(others, chance)
        for key in keys:
            if key in source:
                entry[key] = source[key]
                return

    return apply


def _drop(key: str) -> Callable[[Json, Sequence[Json], Random], None]:
    return lambda entry, others, chance: entry.pop(key, None)


def _in_message(
    apply: Callable[[Json, Sequence[Json], Random], object],
) -> Callable[[Json, Sequence[Json], Random], None]:
    def inside(entry: Json, others: Sequence[Json], chance: Random) -> None:
        if isinstance(entry.get("message"), dict):
            messages = [other["message"] for other in others if isinstance(other.get("message"), dict)]
            apply(entry["message"], messages, chance)

    return inside


def _in_block(apply: Callable[[Json, Random], object]) -> Callable[[Json, Sequence[Json], Random], None]:
    def inside(entry: Json, others: Sequence[Json], chance: Random) -> None:
        message = entry.get("message")
        blocks = message.get("content") if isinstance(message, dict) else None
        if isinstance(blocks, list) and blocks and isinstance(blocks[0], dict):
            apply(chance.choice(blocks), chance)

    return inside


def _blank(block: Json, chance: Random) -> None:
    key = next((key for key in ("text", "thinking", "content") if key in block), "text")
    block[key] = chance.choice(("", " ", "\n\n", "odd <system-reminder>\nx\n</system-reminder> text\n"))


def _parent_of(entry: Json, others: Sequence[Json], chance: Random) -> None:
    entry["parentUuid"] = _other(others, chance)["uuid"]


def _lines_of_one_reply(message: Json, others: Sequence[Json], chance: Random) -> None:
    ids = [other["id"] for other in others if other.get("id")]
    if ids and "id" in message:
        message["id"] = chance.choice(ids)


_FIELDS: dict[str, Callable[[Json, Sequence[Json], Random], None]] = {
    "another parent": _parent_of,
    "no parent": _set("parentUuid", (None, None, "", NOWHERE)),
    "its own parent": lambda entry, others, chance: entry.update(parentUuid=entry["uuid"]),
    "without parentUuid": _drop("parentUuid"),
    "uuid of another": _take("uuid"),
    "without uuid": _drop("uuid"),
    "another type": _set(
        "type",
        (
            "user",
            "assistant",
            "system",
            "attachment",
            "progress",
            "file-history-snapshot",
            "queue-operation",
            "x-unknown",
        ),
    ),
    "another time": _take("timestamp"),
    "an odd time": _set("timestamp", ODD_TIMES),
    "without time": _drop("timestamp"),
    "time in another form": _time_in_another_form,
    "another version": _set("version", VERSIONS),
    "without version": _drop("version"),
    "an agent's": _set("isSidechain", (True,)),
    "meta": _set("isMeta", (True, False)),
    "without message": _drop("message"),
    "a summary": _set("isCompactSummary", (True,)),
    "id of another reply": _in_message(_lines_of_one_reply),
    "without message id": _in_message(_drop("id")),
    "without request": _drop("requestId"),
    "odd content": _in_message(_set("content", ODD_CONTENT)),
    "without content": _in_message(_drop("content")),
    "content of another": _in_message(_take("content")),
    "another model": _in_message(_set("model", MODELS)),
    "another role": _in_message(_set("role", ("user", "assistant", "system"))),
    "a blank block": _in_block(_blank),
    "another call": _in_block(
        lambda block, chance: block.update(dict.fromkeys(set(block) & {"id", "tool_use_id"}, "t"))
    ),
    "another block": _in_block(lambda block, chance: block.update(type=chance.choice(("text", "x-unknown")))),
}
