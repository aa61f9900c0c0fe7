"""Format usage as text tables with totals and notes. No library is imported, so that `clew usage` starts quickly."""

from __future__ import annotations

from clew.facts.prices import dollars
from clew.system.plural import plural
from clew.system.table_layout import column_widths, join_cells
from clew.system.terminal_style import HEADING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.facts.prices import Prices
    from clew.report.five_hour_blocks import FiveHourBlock
    from clew.report.timezone import Zone
    from clew.report.usage_row import UsageRow
    from clew.report.usage_table import UsageTable

NARROW = 76  # below this many columns, numbers are abbreviated
FIRST = 20  # minimum columns of a name
WIDEST = 200  # maximum columns of a name without a terminal


def _plain(text: str, look: str) -> str:
    return text


def table_lines(
    table: UsageTable,
    heading: str,
    prices: Prices,
    width: int = 0,
    *,
    compact: bool = False,
    measure: Callable[[str], int] = len,
    style: Callable[[str, str], str] = _plain,
    breakdown: bool = True,
) -> Iterator[str]:
    """Yield a line for each row, with a rule above the total on a terminal, and notes.

    `width` is that of the terminal, 0 for none; `measure` returns the number of columns of a name. The models of a row
    have a line each with `breakdown`; otherwise they follow in the last column if there is room for it.
    """
    lines = _table_cells(table, heading, _COMPACT if compact else _FULL, breakdown)
    if 0 < width < _numbers_width(lines) + max(FIRST, measure(heading)):
        lines = _table_cells(table, heading, _COMPACT, breakdown)
    room = max(FIRST, width - _numbers_width(lines)) if width else WIDEST
    widest, *widths = column_widths(lines, measure)
    first = min(room, widest)
    looks = [HEADING]
    for row in (*table.rows, table.total):
        looks += ["bold" if row is table.total else "", *("quiet" for _ in row.models if breakdown)]
    models = _model_cells(table, room - first - 2) if width and not breakdown else []
    for number, (look, (name, *numbers)) in enumerate(zip(looks, lines, strict=True)):
        text = name if measure(name) <= first else f"{name[: first - 1]}…"
        line = join_cells([text, *numbers], [first, *widths], [False, *(True for _ in widths)], measure)
        if look == "bold" and width:
            yield style("─" * (first + _numbers_width(lines)), "quiet")
        suffix = models[number] if number < len(models) else ""
        yield style(line, look) + (f"  {style(suffix, look or 'quiet')}" if suffix else "")
    for note in note_lines(table.total, prices):
        yield from (style(line, "quiet") for line in wrap_words(note, width))


def wrap_words(text: str, width: int) -> Iterator[str]:
    """Yield a text in lines of at most `width` columns; 0 means one line."""
    line = ""
    for word in text.split(" ") if width else ():
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line if width else text


def _model_cells(table: UsageTable, room: int) -> list[str]:
    """Return the heading and the cells of the column of models; none if there is no room. The first models cost most."""
    cells = [_fit_names([short_model(name) for name in row.models], room) for row in table.rows]
    return ["MODELS", *cells] if any(cells) and max(6, *map(len, cells)) <= room else []


def _fit_names(names: Sequence[str], room: int) -> str:
    """Return as many names as there is room for, and the number of the others."""
    for shown in range(len(names), 0, -1):
        text = ", ".join([*names[:shown], *([f"+{len(names) - shown}"] if shown < len(names) else [])])
        if len(text) <= room or shown == 1:
            return text
    return ""


def short_model(name: str) -> str:
    """Return a model without the maker and the date: `opus-4-5` for `claude-opus-4-5-20251101`."""
    first, *rest = printable_name(name).removeprefix("claude-").split()
    head, _, date = first.rpartition("-")
    return " ".join([head if head and len(date) == 8 and date.isdigit() else first, *rest])


def _table_cells(
    table: UsageTable, heading: str, columns: Sequence[tuple[str, Callable[[UsageRow], str]]], breakdown: bool
) -> list[list[str]]:
    lines = [[heading, *(head for head, _ in columns)]]
    for row in [*table.rows, table.total]:
        lines.append([printable_name(row.name), *(read(row) for _, read in columns)])
        models = row.models.items() if breakdown else ()
        lines += [[f"  {printable_name(name)}", *(read(part) for _, read in columns)] for name, part in models]
    return lines


def printable_name(name: str) -> str:
    """Return a name from a transcript on one line, without control characters."""
    if name.isprintable():
        return name
    from clew.system.control_characters import clean_name

    return clean_name(name)


def _numbers_width(lines: Sequence[Sequence[str]]) -> int:
    """Return the width of the columns of numbers, including the space before each."""
    return sum(2 + width for width in column_widths([line[1:] for line in lines]))


def _format_cost(row: UsageRow) -> str:
    return dollars(row.cost) + ("*" if row.unpriced else "")


_FULL: tuple[tuple[str, Callable[[UsageRow], str]], ...] = (
    ("REPLIES", lambda row: f"{row.replies:,}"),
    ("INPUT", lambda row: f"{row.input:,}"),
    ("OUTPUT", lambda row: f"{row.output:,}"),
    ("WRITE", lambda row: f"{row.write:,}"),
    ("READ", lambda row: f"{row.read:,}"),
    ("COST", _format_cost),
)
_COMPACT: tuple[tuple[str, Callable[[UsageRow], str]], ...] = (
    ("TOKENS", lambda row: short_number(row.total)),
    ("OUTPUT", lambda row: short_number(row.output)),
    ("COST", _format_cost),
)


def short_number(number: int) -> str:
    """Return a number such as `1.2M`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def note_lines(total: UsageRow, prices: Prices) -> Iterator[str]:
    """Yield notes on the numbers: how reliable they are, what has no price, what the cache saved."""
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
            f"{printable_name(model)[:WIDEST]} ({short_number(tokens)} tokens)"
            for model, tokens in sorted(total.unpriced.items())
        )
        yield f"* Without a price, and not in the cost: {named}."
    yield f"Prices of {prices.date}."


def block_lines(
    blocks: Sequence[FiveHourBlock],
    zone: Zone,
    width: int,
    compact: bool = False,
    style: Callable[[str, str], str] = _plain,
) -> Iterator[str]:
    """Yield a heading and a line for each block; after the active one its rate and projection."""
    if blocks:
        yield style(f"{'BLOCK':<16}  {'TOKENS':>15}  {'COST':>11}", HEADING)
    for block in blocks:
        row = block.row
        tokens = short_number(row.total) if compact or 0 < width < NARROW else f"{row.total:,}"
        mark = f"  {style('active', 'bold good')}" if block.is_active else ""
        yield f"{zone.minute(block.start)}  {tokens:>15}  {_format_cost(row):>11}{mark}"
        if block.is_active:
            hourly = dollars(round(block.cost_per_minute * 60))
            rate = f"{short_number(round(block.tokens_per_minute))} tokens a minute and {hourly} an hour"
            ahead = f"{short_number(block.projected_tokens)} tokens, {dollars(block.projected_cost)}"
            left = f"{round(block.left) // 60}h{round(block.left) % 60:02d}m left; at this rate {ahead}"
            yield from (style(f"    {text}", "quiet") for text in (rate, left))
