"""Find names in session files that no known version of the format uses.

A report is safe to publish. It contains names, counts, versions and line numbers, never a value; a name that could
be user data is replaced by its length.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from clew.conversation.cli_version import version_key
from clew.wire.entry import Entry
from clew.wire.json_codec import decode

Key = tuple[str, str, str]  # kind, the type of line that a field stands on, name

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_SECRET = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-.*|(?=.*[0-9])[0-9a-f]{16,}", re.IGNORECASE)
_VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6}){1,3}(-[a-z0-9.]{1,20})?")


class KnownNames(Struct, frozen=True):
    """The known names, from the table next to this module."""

    newest: str
    fields: Mapping[str, frozenset[str] | None]  # for each type of line; None where its fields are not listed
    kinds: Mapping[str, frozenset[str]]  # subtype, progress, attachment, operation, block, message field, usage field


@cache
def known_names() -> KnownNames:
    """Return the table, loaded on first use."""
    from importlib.resources import files

    table = decode((files("clew.facts") / "known.json").read_bytes())
    chain = frozenset(table["chain"])
    fields: dict[str, frozenset[str] | None] = dict.fromkeys(table["unlisted"])
    for name, names in table["fields"].items():
        fields[name] = frozenset(names) | (chain if name in table["linked"] else frozenset())
    return KnownNames(table["newest"], fields, {name: frozenset(table[key]) for name, key in _TABLES.items()})


_TABLES = {
    "subtype": "subtypes",
    "progress": "progress",
    "attachment": "attachments",
    "operation": "operations",
    "block": "blocks",
    "message field": "message",
    "usage field": "usage",
}


class Unknown(Struct, frozen=True):
    """A new name: how often, in which versions, and the first line that contains it."""

    kind: str
    of: str
    name: str
    count: int
    first: str
    last: str
    line: int

    def __add__(self, other: Unknown) -> Unknown:
        versions = sorted(filter(None, (self.first, self.last, other.first, other.last)), key=version_key)
        first, last = (versions[0], versions[-1]) if versions else ("", "")
        return replace(self, count=self.count + other.count, first=first, last=last)


class Drift(Struct, frozen=True):
    """The new names in one file or in many. It can be added: `sum(map(…), Drift())`."""

    files: int = 0
    entries: int = 0
    versions: Mapping[str, int] = field(default_factory=dict)
    by_key: Mapping[Key, Unknown] = field(default_factory=dict)

    def __add__(self, other: Drift) -> Drift:
        merged = dict(self.by_key)
        for key, unknown in other.by_key.items():
            merged[key] = merged[key] + unknown if key in merged else unknown
        versions = dict(Counter(self.versions) + Counter(other.versions))
        return Drift(self.files + other.files, self.entries + other.entries, versions, merged)

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        """Every new name: types of lines first, single fields last, the most frequent first."""
        return tuple(sorted(self.by_key.values(), key=lambda u: (_ORDER.index(u.kind), -u.count, u.of, u.name)))

    @property
    def newer(self) -> tuple[str, ...]:
        """The versions in the files that are newer than the table."""
        newest = version_key(known_names().newest)
        return tuple(sorted((v for v in self.versions if version_key(v) > newest), key=version_key))


_ORDER = ("type", "subtype", "attachment", "progress", "operation", "block", "field", "message field", "usage field")


def drift(entries: Iterable[Entry]) -> Drift:
    """Return the names in one file that the table does not contain. A line without a version counts for the one
    before it.
    """
    all_entries = tuple(entries)
    unknown: dict[Key, Unknown] = {}
    versions: Counter[str] = Counter()
    version = next((publishable_version(e.version) for e in all_entries if e.version), "")
    for entry in all_entries:
        if entry.version:
            version = publishable_version(entry.version)
            versions[version] += 1
        for kind, of, name in _names(entry):
            key = (kind, of and publishable_name(of), publishable_name(name))
            occurrence = Unknown(*key, 1, version, version, entry.line.number)
            unknown[key] = unknown[key] + occurrence if key in unknown else occurrence
    versions.pop("", None)
    return Drift(1, len(all_entries), dict(versions), unknown)


def publishable_name(name: str) -> str:
    """Return a name that is safe to publish: one that looks like data becomes its length."""
    if _NAME.fullmatch(name) and not _SECRET.fullmatch(name):
        return name
    return f"<odd name, {len(name)} chars>" if name else "<none>"


def publishable_version(version: str | None) -> str:
    """Return a version if it looks like one, else ""."""
    return version if version and _VERSION.fullmatch(version) else ""


def _names(entry: Entry) -> Iterator[Key]:
    """Yield the new names in one entry; for a new type only the type."""
    table = known_names()
    if entry.type not in table.fields:
        yield "type", "", entry.type
        return
    data = entry.data
    fields = table.fields[entry.type]
    if fields is not None and not data.keys() <= fields:
        yield from (("field", entry.type, name) for name in data if name not in fields)
    for kind, name in (*_kinds(entry.type, data), *_message_names(data.get("message"))):
        if name not in table.kinds[kind]:
            yield kind, "", name


def _kinds(line: str, data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the value that distinguishes lines of this type from each other."""
    kind, holder, key = _SUBTYPE_FIELDS.get(line, ("", "", ""))
    inside = data.get(holder) if holder else data
    value = inside.get(key) if isinstance(inside, dict) else None
    if kind and isinstance(value, str):
        yield kind, value


_SUBTYPE_FIELDS = {
    "system": ("subtype", "", "subtype"),
    "progress": ("progress", "data", "type"),
    "attachment": ("attachment", "attachment", "type"),
    "queue-operation": ("operation", "", "operation"),
}


def _message_names(message: Any) -> Iterator[tuple[str, str]]:
    """Yield the names in a message: its fields, those of its usage, and the types of its blocks."""
    if not isinstance(message, dict):
        return
    yield from (("message field", name) for name in message)
    usage = message.get("usage")
    if isinstance(usage, dict):
        yield from (("usage field", name) for name in usage)
    yield from (("block", name) for name in _blocks(message.get("content")))


def _blocks(content: Any) -> Iterator[str]:
    """Yield the types of blocks, including those inside tool results."""
    stack = [content]
    while stack:
        content = stack.pop()
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and isinstance(block.get("type"), str):
                yield block["type"]
                if block["type"] == "tool_result":
                    stack.append(block.get("content"))
