"""Tables as text, for a terminal: columns of numbers, a sum, and what there is to say of it. No library is loaded for it."""

from __future__ import annotations

from clew.facts.prices import dollars
from clew.system.plural import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.facts.prices import Prices
    from clew.report.five_hour_blocks import FiveHourBlock
    from clew.report.timezone import Zone
    from clew.report.usage_row import UsageRow
    from clew.report.usage_table import UsageTable

NARROW = 76  # columns below which numbers are short ones
FIRST = 20  # columns that a name has at least
WIDEST = 200  # columns that a name has at most where no terminal limits it


def table_lines(
    table: UsageTable,
    heading: str,
    prices: Prices,
    width: int = 0,
    *,
    compact: bool = False,
    measure: Callable[[str], int] = len,
) -> Iterator[str]:
    """A table with a row for each name; where models are told apart, one below it for each.

    `width` is that of the terminal, 0 for none; `measure` says how many columns a name takes on it.
    """
    lines = _cells(table, heading, _COMPACT if compact else _FULL)
    if 0 < width < sum(_widths(lines)) + max(FIRST, measure(heading)):
        lines = _cells(table, heading, _COMPACT)
    widths = _widths(lines)
    room = max(FIRST, width - sum(widths)) if width else WIDEST
    first = min(room, max(measure(name) for name, _ in lines))
    for name, cells in lines:
        text = name if measure(name) <= first else f"{name[: first - 1]}…"
        numbers = "".join(cell.rjust(size) for cell, size in zip(cells, widths, strict=True))
        yield f"{text}{' ' * (first - measure(text))}{numbers}"
    yield from notes(table.total, prices)


def _cells(
    table: UsageTable, heading: str, columns: Sequence[tuple[str, Callable[[UsageRow], str]]]
) -> list[tuple[str, list[str]]]:
    lines = [(heading, [head for head, _ in columns])]
    for row in [*table.rows, table.total]:
        lines.append((shown(row.name), [read(row) for _, read in columns]))
        lines += [(f"  {shown(name)}", [read(part) for _, read in columns]) for name, part in row.models.items()]
    return lines


def shown(name: str) -> str:
    """A name out of a transcript as it stands in a table: on one line, without control characters."""
    if name.isprintable():
        return name
    from clew.system.control_characters import clean_name

    return clean_name(name)


def _widths(lines: Sequence[tuple[str, list[str]]]) -> list[int]:
    """The width of each column of numbers, with the space before it."""
    return [2 + max(map(len, column)) for column in zip(*(cells for _, cells in lines), strict=True)]


def _money(row: UsageRow) -> str:
    return dollars(row.cost) + ("*" if row.unpriced else "")


_FULL: tuple[tuple[str, Callable[[UsageRow], str]], ...] = (
    ("REPLIES", lambda row: f"{row.replies:,}"),
    ("INPUT", lambda row: f"{row.input:,}"),
    ("OUTPUT", lambda row: f"{row.output:,}"),
    ("WRITE", lambda row: f"{row.write:,}"),
    ("READ", lambda row: f"{row.read:,}"),
    ("COST", _money),
)
_COMPACT: tuple[tuple[str, Callable[[UsageRow], str]], ...] = (
    ("TOKENS", lambda row: short(row.total)),
    ("OUTPUT", lambda row: short(row.output)),
    ("COST", _money),
)


def short(number: int) -> str:
    """A number in few letters."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def notes(total: UsageRow, prices: Prices) -> Iterator[str]:
    """What has to be known to read the numbers: how far they can be trusted, what has no price, what the cache saved."""
    yield ""
    final = total.replies - total.stubs
    share = f"{100 * final / total.replies:.1f} %" if total.replies else "all"
    line = f"Final numbers: {share} of {plural(total.replies, 'reply')}."
    if total.stubs:
        line += f" {plural(total.stubs, 'holds', 'hold')} a placeholder of {plural(total.stub_output, 'output token')}"
        line += f", {total.missing:,} too few by their text ({dollars(total.missing_cost)})."
    yield line
    if total.prompt and total.cost:
        yield f"Cache: {100 * total.hits:.1f} % of the prompts came from it; without it {dollars(total.uncached)}."
    if total.searches:
        yield f"Web searches: {total.searches:,}."
    if total.unpriced:
        named = ", ".join(
            f"{shown(model)[:WIDEST]} ({short(tokens)} tokens)" for model, tokens in sorted(total.unpriced.items())
        )
        yield f"* Without a price, and not in the cost: {named}."
    yield f"Prices of {prices.date}."


def block_lines(found: Sequence[FiveHourBlock], zone: Zone, width: int, compact: bool = False) -> Iterator[str]:
    """A line for each block; below the active one how fast it fills and where that leads."""
    for block in found:
        row = block.row
        tokens = short(row.total) if compact or 0 < width < NARROW else f"{row.total:,}"
        yield f"{zone.minute(block.start)}  {tokens:>15}  {_money(row):>11}{'  active' if block.is_active else ''}"
        if block.is_active:
            rate = (
                f"{short(round(block.tokens_a_minute))} tokens and {dollars(round(block.cost_a_minute * 60))} an hour"
            )
            yield f"    {rate.replace(' tokens', ' tokens a minute', 1)}"
            ahead = f"{short(block.projected_tokens)} tokens, {dollars(block.projected_cost)}"
            yield f"    {round(block.left) // 60}h{round(block.left) % 60:02d}m left; at this rate {ahead}"
