"""Cells: replies that are alike in what a report asks, added up. One reply by itself is a cell too.

All tables are made from cells, whether they come from the summary that is kept of a tree or from the replies one by one.
"""

from __future__ import annotations

from operator import add

from clew.facts.prices import STEP, mode_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NamedTuple

    from clew.facts.token_usage import Spend

    class ReplyContext(NamedTuple):
        """Where a reply stands: `tools` are those that it called, with a space between."""

        project: str = ""
        session: str = ""
        agent: str = ""
        branch: str = ""
        tools: str = ""

    Key = tuple[int, str, str, int, bool]  # a quarter of an hour, model, mode, steps, and whether it is final
    Sums = dict[Key, list[int]]  # the numbers of cells, by what they are of

    class Cell(NamedTuple):
        """`when` is in seconds since 1970, or -1; `missing` are tokens that stubs lack, by an estimate from the text."""

        when: int
        model: str
        mode: str
        steps: int
        is_final: bool
        replies: int
        input: int
        output: int
        write_5m: int
        write_1h: int
        read: int
        searches: int
        fetches: int
        missing: int
        place: ReplyContext | None = None
else:
    from collections import namedtuple

    ReplyContext = namedtuple("Place", "project session agent branch tools", defaults=("",) * 5)
    Cell = namedtuple(
        "Cell",
        "when model mode steps is_final replies input output write_5m write_1h read searches fetches missing place",
        defaults=(None,),
    )

QUARTER = 900  # seconds: the offsets of all time zones are multiples of it


def cell_of(spend: Spend, place: ReplyContext | None, minutes: dict[str, int]) -> Cell:
    """One reply as a cell; `minutes` remembers those that were met before."""
    count = spend.count
    written_5m, written_1h, read = count.cache_write_5m, count.cache_write_1h, count.cache_read
    is_final = spend.has_ended or spend.is_final
    return Cell(
        seconds(spend.timestamp, minutes),
        spend.model,
        mode_of(spend),
        -(-(count.input + written_5m + written_1h + read) // STEP),
        is_final,
        1,
        count.input,
        count.output,
        written_5m,
        written_1h,
        read,
        count.web_searches,
        count.web_fetches,
        0 if is_final else spend.estimate - count.output,
        place,
    )


def seconds(timestamp: str, minutes: dict[str, int]) -> int:
    """Seconds since 1970 of a time as Claude Code writes it, or in any other form; -1 for none."""
    if (
        len(timestamp) == 24
        and timestamp[16] == ":"
        and timestamp[23] == "Z"
        and timestamp[17:19].isdigit()
        and timestamp[17] < "6"
    ):
        minute = minutes.get(timestamp[:16])
        if minute is None:
            minute = minutes[timestamp[:16]] = _seconds(timestamp[:16])
        return minute + int(timestamp[17:19]) if minute >= 0 else minute
    return _seconds(timestamp)


def _seconds(timestamp: str) -> int:
    from datetime import UTC, datetime

    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return -1
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())


def add_to(sums: Sums, cell: Cell, sign: int = 1) -> None:
    """Add the numbers of a cell to those of its quarter of an hour, or take them away."""
    when = cell.when
    key = (when - when % QUARTER if when >= 0 else when, *cell[1:5])
    put(sums, key, [sign * number for number in cell[5:14]])


def sum_replies(spends: Iterable[Spend], minutes: dict[str, int]) -> Sums:
    """The numbers of replies, by quarter of an hour, model and mode."""
    sums: Sums = {}
    for spend in spends:
        add_to(sums, cell_of(spend, None, minutes))
    return sums


def put(sums: Sums, key: Key, numbers: list[int]) -> None:
    found = sums.get(key)
    sums[key] = list(map(add, found, numbers)) if found else numbers


def cells_of(sums: Sums) -> list[Cell]:
    return [Cell._make((*key, *numbers, None)) for key, numbers in sums.items() if any(numbers)]


def merge(cells: Iterable[Cell]) -> list[Cell]:
    """Cells of one quarter of an hour, model and mode as one, wherever they stand."""
    sums: Sums = {}
    for cell in cells:
        add_to(sums, cell)
    return cells_of(sums)
