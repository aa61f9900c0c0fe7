"""Print the reports of `clew check`: tables and colours on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from clew.cli.output import clean_name, one_line
from clew.facts.health import Flaw
from clew.system.plural import plural
from clew.system.table_layout import table_lines
from clew.system.terminal_style import HEADING, stdout_style
from clew.view.sanitize import columns

Line = tuple[str, str]  # a look, and a text
_SHOWN = 10  # line numbers to show


def format_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[Line]:
    """Format a heading and rows as lines with their looks."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    for number, line in enumerate(table_lines([heads, *cells], measure=columns)):
        yield "" if number else HEADING, line


def describe_missing_fields(flaws: Iterable[Flaw]) -> Iterator[str]:
    """Yield a sentence for each set of missing fields, with the lines that lack them."""
    lines: dict[str, list[int]] = {}
    for flaw in flaws:
        lines.setdefault(flaw.text, []).append(flaw.line)
    for text, numbers in lines.items():
        if len(numbers) == 1:
            yield f"line {numbers[0]}: {text}."
        else:
            shown = ", ".join(map(str, numbers[:_SHOWN])) + (" …" if len(numbers) > _SHOWN else "")
            yield f"{plural(len(numbers), 'line')}: {text}: lines {shown}."


def print_lines(lines: Iterable[Line]) -> None:
    """Print plain text, or with colours on a terminal."""
    style = stdout_style()
    for look, text in lines:
        print(style(clean_name(text), look))
