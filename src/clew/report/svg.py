"""Draw bar charts, area charts and heat maps as SVG, and embed them in an HTML page.

Every shape has its meaning as a title, which browsers show as a tooltip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from clew.system.control_characters import clean_name

WIDTH, HEIGHT = 960, 420
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 56, 64
COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#edc948", "#9c755f", "#ff9da7", "#bab0ac")
HEAT = ("#ebedf0", "#c6dbef", "#9ecae1", "#6baed6", "#3182bd", "#08519c")
LABELS = 12  # maximum number of names below the axis
LONGEST = 40  # characters of a name in the chart; its tooltip has more
LONGEST_HINT = 300


class Series(NamedTuple):
    """One colour of a chart: its name, and a value for each position on the axis."""

    name: str
    values: Sequence[float]


def bar_chart(title: str, names: Sequence[str], series: Sequence[Series], format_value: Callable[[float], str]) -> str:
    """Return a chart of stacked bars."""
    top = _round_up(max((sum(s.values[i] for s in series) for i in range(len(names))), default=0))
    step = (WIDTH - LEFT - RIGHT) / max(1, len(names))
    shapes: list[str] = []
    for index, name in enumerate(names):
        below = 0.0
        for number, each in enumerate(series):
            value = each.values[index]
            if value > 0:
                y, height = _y(below + value, top), _y(below, top) - _y(below + value, top)
                position = f'x="{LEFT + index * step + step * 0.1:.1f}" y="{y:.1f}" width="{step * 0.8:.1f}"'
                hint = f"{name} · {each.name}: {format_value(value)}"
                shapes.append(
                    _with_title(f'<rect {position} height="{height:.1f}" fill="{_colour(number)}"', "rect", hint)
                )
                below += value
    return _svg(title, [*_axis(top, format_value), *shapes, *_axis_names(names, step), *_legend(series)])


def area_chart(
    title: str,
    names: Sequence[str],
    series: Sequence[Series],
    format_value: Callable[[float], str],
    marks: Sequence[tuple[int, str]] = (),
) -> str:
    """Return a chart of stacked areas, with labelled marks."""
    count = len(names)
    top = _round_up(max((sum(s.values[i] for s in series) for i in range(count)), default=0))
    step = (WIDTH - LEFT - RIGHT) / max(1, count - 1)
    below = [0.0] * count
    shapes: list[str] = []
    for number, each in enumerate(series):
        above = [low + value for low, value in zip(below, each.values, strict=True)]
        line = [f"{LEFT + i * step:.1f},{_y(v, top):.1f}" for i, v in enumerate(above)]
        line += [f"{LEFT + i * step:.1f},{_y(v, top):.1f}" for i, v in reversed(list(enumerate(below)))]
        shape = f'<polygon points="{" ".join(line)}" fill="{_colour(number)}"'
        last = format_value(each.values[-1]) if count else ""
        shapes.append(_with_title(shape, "polygon", f"{each.name}: {last} at the end"))
        below = above
    for index, text in marks:
        x = LEFT + index * step
        line_ = (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#222" stroke-dasharray="4 3"'
        )
        shapes.append(_with_title(line_, "line", text))
        shapes.append(f'<text x="{x + 3:.1f}" y="{TOP + 10}" font-size="10">{_text(text)}</text>')
    return _svg(title, [*_axis(top, format_value), *shapes, *_axis_names(names, step, middle=False), *_legend(series)])


def heat_map(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    format_value: Callable[[float], str],
) -> str:
    """Return a square for each row and column, darker for larger values."""
    top = max((value for line in values for value in line), default=0)
    size = min((WIDTH - LEFT - RIGHT) / max(1, len(columns)), (HEIGHT - TOP - BOTTOM) / max(1, len(rows)))
    shapes: list[str] = []
    for i, line in enumerate(values):
        y = TOP + i * size
        shapes.append(f'<text x="{LEFT - 8}" y="{y + size * 0.65:.1f}" text-anchor="end">{_text(rows[i])}</text>')
        for j, value in enumerate(line):
            shade = HEAT[0] if not value or not top else HEAT[1 + min(4, int(5 * value / top))]
            position = f'x="{LEFT + j * size + 1:.1f}" y="{y + 1:.1f}" width="{size - 2:.1f}" height="{size - 2:.1f}"'
            hint = f"{rows[i]} {columns[j]}: {format_value(value)}"
            shapes.append(_with_title(f'<rect {position} rx="2" fill="{shade}"', "rect", hint))
    for j, name in enumerate(columns):
        if len(columns) <= LABELS or j % 3 == 0:
            x, y = LEFT + (j + 0.5) * size, TOP + len(rows) * size + 16
            shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{_text(name)}</text>')
    return _svg(title, shapes)


def html_page(title: str, pictures: Sequence[str]) -> str:
    """Return a self-contained HTML page with charts."""
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>'
    style = "<style>body{font-family:sans-serif;max-width:980px;margin:2em auto}svg{width:100%;height:auto}</style>"
    return f"{head}{style}</head><body>{''.join(pictures)}</body></html>\n"


def render_png(svg: str) -> bytes | None:
    """Return a chart as PNG; None on a machine without fonts.

    Raises ModuleNotFoundError without the extra `plot`.
    """
    from resvg_py import svg_to_bytes

    letter = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text y="15">M</text></svg>'
    if bytes(svg_to_bytes(svg_string=letter)) == bytes(svg_to_bytes(svg_string=letter.replace("M", ""))):
        return None
    return bytes(svg_to_bytes(svg_string=svg, zoom=2))


def _svg(title: str, shapes: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
    head += 'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">'
    back = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
    name = f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">{_text(title)}</text>'
    return "\n".join([head, back, name, *shapes, "</svg>\n"])


def _text(text: str, most: int = LONGEST) -> str:
    """Return text that is valid in XML 1.0, shortened to `most` characters."""
    name = clean_name(text[: 4 * most])
    return escape(name if len(name) <= most else f"{name[: most - 1]}…")


def _with_title(shape: str, kind: str, text: str) -> str:
    return f"{shape}><title>{_text(text, LONGEST_HINT)}</title></{kind}>"


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value / top if top else 0)


def _axis(top: float, format_value: Callable[[float], str]) -> list[str]:
    shapes: list[str] = []
    for part in range(5):
        value = top * part / 4
        y = _y(value, top)
        shapes.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        shapes.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_text(format_value(value))}</text>')
    return shapes


def _axis_names(names: Sequence[str], step: float, *, middle: bool = True) -> list[str]:
    every = max(1, -(-len(names) // LABELS))
    position = [(LEFT + (i + (0.5 if middle else 0)) * step, name) for i, name in enumerate(names) if i % every == 0]
    y = HEIGHT - BOTTOM + 18
    return [f'<text x="{x:.1f}" y="{y}" text-anchor="middle">{_text(name)}</text>' for x, name in position]


def _legend(series: Sequence[Series]) -> list[str]:
    shapes: list[str] = []
    x, y = float(LEFT), HEIGHT - 32
    for number, each in enumerate(series):
        room = 28 + 6.4 * min(LONGEST, len(each.name))
        if x > LEFT and x + room > WIDTH:
            x, y = float(LEFT), y + 18
        shapes.append(f'<rect x="{x:.0f}" y="{y}" width="11" height="11" fill="{_colour(number)}"/>')
        shapes.append(f'<text x="{x + 15:.0f}" y="{y + 10}">{_text(each.name)}</text>')
        x += room
    return shapes


def _round_up(value: float) -> float:
    """Return a round number for the top of an axis."""
    if value <= 0:
        return 1.0
    size = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 0.01
    while size * 10 < value:
        size *= 10
    return next(size * factor for factor in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10) if size * factor >= value)
