"""Find the replies that several transcripts have, such as those of forks and of agents, because each counts once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from clew.facts.token_usage import Spend
from clew.report.reply_rows import decode_some

if TYPE_CHECKING:
    import apsw

_SELECT_COPIES = "SELECT folder, session, agent, hashes, keys, spends FROM file WHERE path=?"
MAX_COPIES = 20_000  # replies in several files that are in memory at once


class StoredUsage(NamedTuple):
    """The usage of a reply as one file records it."""

    spend: Spend
    place: list[str]  # folder, session and agent


def original_of(copies: Sequence[StoredUsage]) -> StoredUsage:
    """Return the first that is not marked as copied from another session, else the first."""
    return min(copies, key=lambda copy: copy.spend.is_copy)


def merge_copies(copies: Sequence[StoredUsage]) -> Spend:
    """Return the usage of a reply from all its copies."""
    return reduce(Spend.merge, (copy.spend for copy in copies))


def find_repeated_replies(database: apsw.Connection, within: set[int] | None = None) -> set[int]:
    """Return the hashes of replies in several files, only those `within` if given."""
    seen: set[int] = set()
    repeated: set[int] = set()
    for (of_file,) in database.execute("SELECT hashes FROM file"):
        numbers: Iterable[int] = array("I", of_file)
        if within is not None:
            numbers = within.intersection(numbers)
        repeated.update(seen.intersection(numbers))
        seen.update(numbers)
    return repeated


def read_copies(database: apsw.Connection, hashes: set[int]) -> Iterator[list[list[StoredUsage]]]:
    """Yield the replies with these hashes, each with its copies in the order of their paths; some thousand at a time."""
    rows = database.execute("SELECT path, hashes FROM file") if hashes else ()
    paths = sorted(path for path, of_file in rows if not hashes.isdisjoint(array("I", of_file)))
    parts = 1 + len(hashes) // MAX_COPIES
    for part in range(parts):
        chosen = {number for number in hashes if number % parts == part}
        copies: dict[str, list[StoredUsage]] = {}
        for path in paths:
            for *place, of_file, keys, spends in database.execute(_SELECT_COPIES, (path,)):
                for key, spend in decode_some(chosen, of_file, keys, spends):
                    copies.setdefault(key, []).append(StoredUsage(spend, place))
        yield list(copies.values())
