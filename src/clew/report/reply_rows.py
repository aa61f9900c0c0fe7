"""Read the replies of transcripts for the reply store: one transcript at a time, in any process.

`prepare_reading` is what worker processes run (`system.worker_processes`), so items and results are plain tuples.
"""

from __future__ import annotations

import marshal
from array import array
from binascii import crc32
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from io import BytesIO, FileIO
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Raw, msgpack

from clew.errors import READ_ERRORS
from clew.facts.token_usage import Spend, usage
from clew.report.usage_bucket import add_numbers, sum_replies
from clew.wire.bulk_scan import decode_lines_containing
from clew.wire.growth import ReadState
from clew.wire.line_blocks import LineBlocks, new_buffer
from clew.wire.usage_fields import USAGE_KEY, Billed

if TYPE_CHECKING:
    from clew.report.usage_bucket import Sums

_KEYS = msgpack.Decoder(list[str])
_SPENDS = msgpack.Decoder(list[Spend])
_RAW_SPENDS = msgpack.Decoder(list[Raw])
_SPEND = msgpack.Decoder(Spend)


class UnreadLines(NamedTuple):
    """What is to be read: a path, the state of the file, the session, and how far the file was read before."""

    path: str
    inode: int
    size: int
    session: str
    read_inode: int = 0
    read_offset: int = 0
    read_mark: bytes = b""
    read_session: str = ""


class NewReplies(NamedTuple):
    """What was read: where the next reading begins, and the replies. `is_continued` is False if the whole file was read."""

    is_continued: bool
    offset: int
    mark: bytes
    session: str
    sums: bytes
    hashes: bytes
    keys: bytes
    spends: bytes

    def after(self, hours: dict[str, int], sums: bytes, hashes: bytes, keys: bytes, spends: bytes) -> NewReplies:
        """Return these replies joined to those that are stored of the same file. Only replies in both are decoded."""
        numbers = dict(marshal.loads(sums))
        names = _KEYS.decode(keys)
        records: list[Raw | Spend] = list(_RAW_SPENDS.decode(spends))
        places = {key: place for place, key in enumerate(names)}
        for key, spend in zip(_KEYS.decode(self.keys), decode_spends(self.spends), strict=True):
            place, joined = places.get(key), spend
            if place is None:
                names.append(key)
                records.append(spend)
            else:
                record = records[place]
                stored = _SPEND.decode(record) if isinstance(record, Raw) else record
                records[place] = joined = spend.merge(stored)
                _add(numbers, stored, hours, -1)
            _add(numbers, joined, hours)
        kept = [(key, each) for key, each in numbers.items() if any(each)]
        added = hash_keys(names[len(places) :]).tobytes()
        return self._replace(
            sums=marshal.dumps(kept), hashes=hashes + added, keys=msgpack.encode(names), spends=msgpack.encode(records)
        )


def _add(sums: Sums, spend: Spend, hours: dict[str, int], sign: int = 1) -> None:
    for key, numbers in sum_replies([spend], hours).items():
        add_numbers(sums, key, numbers, sign)


def prepare_reading(settings: None = None) -> Callable[[tuple[Any, ...]], tuple[Any, ...] | None]:
    """Return the function that reads what is new in a transcript; None for one that cannot be read."""
    hours: dict[str, int] = {}
    buffer = new_buffer()

    def read_item(item: tuple[Any, ...]) -> tuple[Any, ...] | None:
        unread = UnreadLines(*item)
        try:
            with open(unread.path, "rb", buffering=0) as file:
                return tuple(read_replies(file, unread, hours, buffer))
        except READ_ERRORS:
            return None

    return read_item


def read_replies(
    file: FileIO | BytesIO, unread: UnreadLines, hours: dict[str, int], buffer: bytearray | None = None
) -> NewReplies:
    """Read the new lines of a file, or all of it if it has not only grown. `hours` and `buffer` are used again for each."""
    before = ReadState(unread.read_inode, unread.read_offset, unread.read_mark)
    blocks = LineBlocks(file, before, unread.inode, unread.size, buffer)
    lines = _UsageLines(blocks, unread.read_session if blocks.is_continued else unread.session)
    replies = usage(chain.from_iterable(lines)).own
    end = (0, b"") if lines.has_tail else (blocks.offset, blocks.mark)
    return NewReplies(blocks.is_continued, *end, lines.session, *_encode(replies, hours))


class _UsageLines:
    """The lines of a file that contain usage, many at a time, and the session that they name.

    A last line without a newline counts if it is complete; as it may still change, the next refresh reads the file again.
    """

    def __init__(self, blocks: LineBlocks, session: str) -> None:
        self.blocks = blocks
        self.session = session
        self.has_tail = False

    def __iter__(self) -> Iterator[list[Billed]]:
        for buffer, start, stop in self.blocks:
            spoken = decode_lines_containing(USAGE_KEY, buffer, 0, Billed, start=start, stop=stop).spoken
            yield spoken
            if not self.session and spoken:
                self.session = spoken[0].session_id or ""
        if self.blocks.tail:
            piece = decode_lines_containing(USAGE_KEY, self.blocks.tail, 0, Billed)
            if piece.spoken and not piece.damaged:
                self.has_tail = True
                yield piece.spoken


def _encode(replies: Mapping[str, Spend], hours: dict[str, int]) -> tuple[bytes, bytes, bytes, bytes]:
    """Return the sums, the hashes, the keys and the values of replies, as they are stored."""
    sums = marshal.dumps(list(sum_replies(replies.values(), hours).items()))
    keys = list(replies)
    return sums, hash_keys(keys).tobytes(), msgpack.encode(keys), msgpack.encode(list(replies.values()))


def decode_some(chosen: Container[int], hashes: bytes, keys: bytes, spends: bytes) -> Iterator[tuple[str, Spend]]:
    """Yield only the stored replies with one of the chosen hashes, with their keys."""
    places = [place for place, number in enumerate(array("I", hashes)) if number in chosen]
    if places:
        names, records = _KEYS.decode(keys), _RAW_SPENDS.decode(spends)
        for place in places:
            yield names[place], _SPEND.decode(records[place])


def decode_spends(spends: bytes) -> list[Spend]:
    """Return stored replies without their keys, in the order of their hashes."""
    return _SPENDS.decode(spends)


def hash_keys(keys: Iterable[str]) -> array[int]:
    """Return a small number for each key, by which replies in several files are found with little memory."""
    return array("I", map(crc32, map(str.encode, keys)))
