"""Tables: the usage of a tree by what is asked, chosen and ordered."""

from __future__ import annotations

from clew.report.timezone import Zone
from clew.report.usage_bucket import QUARTER
from clew.report.usage_row import UsageRow, model_name, rows, share, summed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NamedTuple

    from clew.facts.prices import Prices
    from clew.report.usage_bucket import Cell

    class Wanted(NamedTuple):
        """What is asked: by what, of which time and place, how much of it, and in which time zone."""

        by: str = "day"
        since: float | None = None
        until: float | None = None
        project: str = ""
        session: str = ""
        branch: str = ""
        model: str = ""
        tool: str = ""
        limit: int | None = None
        zone: str = ""
        by_model: bool = False
        estimate: bool = False
else:
    from collections import namedtuple

    Wanted = namedtuple(
        "Wanted",
        "by since until project session branch model tool limit zone by_model estimate",
        defaults=("day", None, None, "", "", "", "", "", None, "", False, False),
    )

TIMES = ("hour", "day", "week", "month")
PLACES = ("project", "session", "agent", "branch", "tool")
BY = (*TIMES, "model", *PLACES)


class UsageTable:
    """Rows, and their sum: in that a reply counts once, even if rows share it."""

    __slots__ = ("by", "rows", "total")

    def __init__(self, by: str, found: list[UsageRow], total: UsageRow) -> None:
        self.by = by
        self.rows = found
        self.total = total


def needs_places(wanted: Wanted) -> bool:
    """Whether the summary does not do: it knows neither places nor minutes."""
    times = (wanted.since, wanted.until)
    return (
        wanted.by not in (*TIMES, "model")
        or bool(wanted.project or wanted.session or wanted.branch or wanted.tool)
        or any(time is not None and time % QUARTER for time in times)
    )


def table(cells: Iterable[Cell], wanted: Wanted, prices: Prices) -> UsageTable:
    chosen = chosen_of(cells, wanted)
    found = rows(chosen, naming(wanted.by, Zone(wanted.zone)), prices, by_model=wanted.by_model)
    total = summed(chosen, prices) if wanted.by == "tool" else _total(found)
    if wanted.by not in TIMES:
        found.sort(key=lambda row: (-row.cost, -row.total, row.name))
    if wanted.limit is not None:
        found = (found[-wanted.limit :] if wanted.limit else []) if wanted.by in TIMES else found[: wanted.limit]
    return UsageTable(wanted.by, found, total)


def _total(found: list[UsageRow]) -> UsageRow:
    total = UsageRow("Total")
    for row in found:
        total.absorb(row)
    return total


def chosen_of(cells: Iterable[Cell], wanted: Wanted) -> list[Cell]:
    """The cells of the time and place asked for; with `estimate` what stubs lack is put on top of them."""
    found = [cell for cell in cells if _fits(cell, wanted)]
    if wanted.estimate:
        found = [
            cell._replace(output=cell.output + cell.missing, missing=0) if cell.missing else cell for cell in found
        ]
    return found


def _fits(cell: Cell, wanted: Wanted) -> bool:
    if wanted.since is not None and cell.when < wanted.since:
        return False
    if wanted.until is not None and (cell.when >= wanted.until or cell.when < 0):
        return False
    if wanted.model and wanted.model not in cell.model:
        return False
    place = cell.place
    if place is None:
        return True
    return (
        (not wanted.project or place.project == wanted.project)
        and (not wanted.session or place.session == wanted.session)
        and (not wanted.branch or place.branch == wanted.branch)
        and (not wanted.tool or wanted.tool in place.tools.split())
    )


def naming(by: str, zone: Zone) -> Callable[[Cell], list[tuple[str, Cell]]]:
    """How cells are named. A reply that called several tools is shared out among them."""
    if by in TIMES:
        name: Callable[[int], str] = getattr(zone, by)
        return lambda cell: [(name(cell.when), cell)]
    if by == "model":
        return lambda cell: [(model_name(cell), cell)]
    if by == "tool":
        return _by_tool
    return lambda cell: [(getattr(cell.place, by) or f"(no {by})", cell)]


def _by_tool(cell: Cell) -> list[tuple[str, Cell]]:
    tools = cell.place.tools.split() if cell.place else []
    if not tools:
        return [("(text only)", cell)]
    return list(zip(tools, share(cell, len(tools)), strict=True)) if len(tools) > 1 else [(tools[0], cell)]
