"""Encode records and facts as one compressed object, and decode objects that anybody may have written.

An object is gzip of a JSON header and its items. A line is followed by its bytes as they are. The names of columns are
in the header, so that an object of another version of clew can be read: unknown columns are left out, missing ones
have defaults.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from clew.collect.landing.object_name import Kind, ObjectName
from clew.collect.sinks.record import Record
from clew.collect.sql.fact_tables import FILE, TABLES, FactTable, FileFacts, Type, Value
from clew.collect.sql.sql_values import sql_text
from clew.wire.json_codec import decode, encode

VERSION = 1
MAX_BYTES = 320 << 20  # of an object, packed and unpacked; the longest line has 256 MiB
_DEFAULTS: dict[Type, Value] = {"text": "", "number": 0, "number or nothing": None}
_MAX_INTEGER = (1 << 63) - 1
_HASH = re.compile("[0-9a-f]{64}")
_RECORD_TEXTS = ("path", "kind", "project", "session", "agent", "hash", "withheld")
_RECORD_NUMBERS = ("seq", "file", "generation", "line", "offset", "length", "mtime", "masked")
_RECORD_FIELDS = (*_RECORD_TEXTS, *_RECORD_NUMBERS)


class ObjectHeader(NamedTuple):
    """The first line of an object. `made` only grows within a chain; `is_again` is set if its lines were sent before."""

    kind: Kind
    host: str
    epoch: str
    number: int
    previous: int
    made: int
    is_again: bool = False


class LandedObject(NamedTuple):
    """A sound object. The host in its items is the epoch."""

    name: ObjectName
    made: int
    is_again: bool
    records: list[Record]
    facts: list[FileFacts]
    size: int


class DamagedObject(NamedTuple):
    """An object that cannot be accepted, and why."""

    name: ObjectName
    reason: str


def encode_object(header: ObjectHeader, items: Sequence[Record] | Sequence[FileFacts]) -> bytes:
    """Return the bytes of an object; the same for the same items."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    parts = [packer.compress(part) for part in _parts(header, items)]
    return b"".join((*parts, packer.flush()))


def _parts(header: ObjectHeader, items: Sequence[Record] | Sequence[FileFacts]) -> Iterator[bytes]:
    columns = {"record": list(_RECORD_FIELDS)} if header.kind == "lines" else {t.name: list(t.columns) for t in TABLES}
    yield encode({"clew": VERSION, **header._asdict(), "items": len(items), "columns": columns}) + b"\n"
    for item in items:
        if isinstance(item, Record):
            size = -1 if item.raw is None else len(item.raw)
            yield encode([size, *(_clean(getattr(item, name)) for name in _RECORD_FIELDS)]) + b"\n"
            yield (item.raw or b"") + b"\n"
        else:
            yield encode({**item._asdict(), "rows": {name: list(rows) for name, rows in item.rows.items()}}) + b"\n"


def _clean(value: str | int) -> str | int:
    return sql_text(value) if isinstance(value, str) else value


def decode_object(name: ObjectName, body: bytes) -> LandedObject | DamagedObject:
    """Read an object. Whatever is wrong with it is a value."""
    if sha256(body).hexdigest() != name.digest:
        return DamagedObject(name, "its bytes do not have the checksum of its name")
    try:
        return _decode(name, _Reader(_unpack(body)))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, zlib.error, RecursionError) as error:
        return DamagedObject(name, str(error) or type(error).__name__)


def _unpack(body: bytes) -> bytes:
    unpacker = zlib.decompressobj(31)
    data = unpacker.decompress(body, MAX_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {MAX_BYTES} bytes")
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("it is not one complete gzip stream")
    return data


class _Reader:
    """Reads lines and blocks of bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def line(self) -> Any:
        end = self.data.index(b"\n", self.at)
        value = decode(self.data[self.at : end])
        self.at = end + 1
        return value

    def block(self, size: int) -> bytes:
        block = self.data[self.at : self.at + size]
        if self.data[self.at + size : self.at + size + 1] != b"\n" or len(block) != size:
            raise ValueError("a line has another length than its record says")
        self.at += size + 1
        return block


def _decode(name: ObjectName, reader: _Reader) -> LandedObject:
    header = reader.line()
    if header["clew"] != VERSION:
        raise ValueError(f"it has version {header['clew']!r} of the format; version {VERSION} is needed")
    for field in ("kind", "host", "epoch", "number", "previous"):
        if header[field] != getattr(name, field):
            raise ValueError(f"its {field} is not that of its name")
    made, count, columns = _number(header["made"]), _number(header["items"]), header["columns"]
    records, facts = [], []
    for _ in range(count):
        if name.kind == "lines":
            records.append(_record(name.epoch, reader, columns["record"]))
        else:
            facts.append(_file_facts(name.epoch, reader.line(), columns))
    if reader.at != len(reader.data):
        raise ValueError("more follows after its last item")
    return LandedObject(name, made, bool(header["is_again"]), records, facts, len(reader.data))


def _record(epoch: str, reader: _Reader, names: list[str]) -> Record:
    size, *values = reader.line()
    fields = dict(zip(names, values, strict=True))
    texts = {name: _text(fields[name]) for name in _RECORD_TEXTS}
    numbers = {name: _number(fields[name]) for name in _RECORD_NUMBERS}
    if not _HASH.fullmatch(texts["hash"]):
        raise ValueError("the hash of a line is not one")
    raw = reader.block(max(0, _number(size)))
    return Record(host=epoch, raw=None if size < 0 else raw, **texts, **numbers)  # type: ignore[arg-type]


def _file_facts(epoch: str, value: dict[str, Any], columns: dict[str, list[str]]) -> FileFacts:
    file, seq = _number(value["file"]), _number(value["seq"])
    rows = {table.name: [_row(table, row, columns) for row in value["rows"].get(table.name, ())] for table in TABLES}
    owners = {row[:2] for each in rows.values() for row in each}
    if value["host"] != epoch or owners != {(epoch, file)} or len(rows[FILE.name]) != 1:
        raise ValueError("a row belongs to another host or file")
    return FileFacts(epoch, file, seq, rows, tuple(_number(line) for line in value["damaged"]))


def _row(table: FactTable, values: list[Any], columns: dict[str, list[str]]) -> tuple[Value, ...]:
    fields = dict(zip(columns[table.name], values, strict=True))
    return tuple(_value(type, fields.get(name, _DEFAULTS[type])) for name, type in table.columns.items())


def _value(type: Type, value: Any) -> Value:
    if type == "text":
        return _text(value)
    return None if value is None and type == "number or nothing" else _number(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is not one")
    return sql_text(value)


def _number(value: Any) -> int:
    if type(value) is not int or not -_MAX_INTEGER <= value <= _MAX_INTEGER:
        raise ValueError("a number is not one of 64 bits")
    return value
