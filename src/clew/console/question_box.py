"""Lay out a question in a box that shows its whole subject, and scrolls if the terminal is too small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.utils import get_cwidth

from clew.console.menu import Menu, QuestionLine
from clew.view.approval_text import TAB, escape, escape_line
from clew.view.sanitize import one_line

MIN_DETAIL_LINES = 3  # lines of the details that are always shown
_TABS = 4
_TITLE_LINES = 4
_ROOM_FOR_CONTEXT = 9  # rows of details from which on the context comes before the subject
_ALIGNED_WIDTH = 60  # columns of the terminal from which on facts are aligned
_MAX_NAME = 16  # columns of the name of a fact
_OPTION_LINES = 2
_CONTINUED = "↳"  # before the rest of a line that is too long

Row = list[tuple[str, str]]


class QuestionBox(Struct, frozen=True):
    """The rows of a question that fit the screen, and where in the details they begin."""

    rows: list[Row]
    top: int
    page: int  # rows of details on one screen
    total: int

    @property
    def text(self) -> StyleAndTextTuples:
        lines: StyleAndTextTuples = []
        for row in self.rows:
            lines += [*row, ("", "\n")]
        return lines[:-1]


def layout_question(menu: Menu, width: int, height: int) -> QuestionBox:
    """Lay out a question in `width` columns and `height` rows. Only its details scroll; title and options stay visible."""
    title, options, overflow = [*_title(menu, width)], [*_options(menu, width)], _overflow(menu, width)
    head = [_rule(menu, width), *_tabs(menu, width), *title]
    lines = (*_long_title(menu, width), *menu.details, *overflow)
    indent = _fact_indent(lines, width)
    room = max(height - len(head) - len(options), MIN_DETAIL_LINES)
    if room < _ROOM_FOR_CONTEXT:  # what is asked for begins on the first page
        lines = tuple(sorted(lines, key=lambda line: line.is_context))
    details = [row for line in lines for row in _detail(line, width, indent)]
    if len(details) <= room:
        return QuestionBox([*head, *details, *options], 0, room, len(details))
    page = max(room - 1, 1)
    top = max(0, min(menu.top, len(details) - page))
    last = min(top + page, len(details))
    note = f" lines {top + 1}-{last} of {len(details)} — PgUp/PgDn"
    return QuestionBox([*head, *details[top:last], [("class:question.more", note)], *options], top, page, len(details))


def _rule(menu: Menu, width: int) -> Row:
    count = f" {menu.count} " if menu.count else ""
    rule = "─" * max(width - len(count) - bool(count), 1)
    return [("class:question.rule", rule), ("class:question.title", count), ("class:question.rule", "─" * bool(count))]


def _tabs(menu: Menu, width: int) -> Iterator[Row]:
    """Yield the tabs of several questions; those that do not fit are left out around the open one."""
    names = [f" {'✓' if is_answered else '·'} {escape_line(name)} " for name, is_answered in menu.tabs]
    first = 0
    while sum(get_cwidth(name) for name in names[first : menu.tab + 1]) > width - 8 and first < menu.tab:
        first += 1
    row: Row = [("class:question.name", " ← …" if first else " ←")]
    used = 4 + 2 * bool(first)
    for number, name in enumerate(names[first:], first):
        used += get_cwidth(name)
        if used > width - 4:
            row.append(("class:question.name", "… "))
            break
        row.append(("class:question.chosen" if number == menu.tab else "", name))
    if names:
        yield [*row, ("class:question.name", "→")]


def _title(menu: Menu, width: int) -> Iterator[Row]:
    if not _long_title(menu, width):
        for line in escape(menu.title).split("\n"):
            for part in wrap(line, width - 2, at_words=True):
                yield [("class:question.title", f" {part}")]
    else:
        yield [("class:question.title", " The question:")]
    if menu.about:
        for part in wrap(escape_line(menu.about), width - 2, at_words=True):
            yield [("class:question.about", f" {part}")]


def _long_title(menu: Menu, width: int) -> list[QuestionLine]:
    lines = escape(menu.title).split("\n")
    is_long = sum(len(wrap(line, width - 2)) for line in lines) > _TITLE_LINES
    return [QuestionLine(line, "│") for line in lines] if is_long else []


def _fact_indent(lines: Sequence[QuestionLine], width: int) -> int:
    """Return the number of columns for the names of facts, so that their values are aligned; 0 on narrow terminals."""
    facts = [line for line in lines if line.style == "fact" and line.text and not line.mark.startswith(" ")]
    names = [len(line.mark) for line in facts]
    return max((size for size in names if size <= _MAX_NAME), default=0) if width >= _ALIGNED_WIDTH else 0


def _detail(detail: QuestionLine, width: int, name_columns: int) -> Iterator[Row]:
    style = f"class:question.{detail.style}" if detail.style else ""
    if detail.style == "fact":
        name = detail.mark if detail.mark.startswith(" ") else detail.mark.ljust(name_columns)
        indent = min(len(detail.mark) + 2, 14)
        first = wrap(detail.text, max(width - len(name) - 3, 8), at_words=True)
        yield [("class:question.name", f" {name} "), ("", first[0])]
        for part in wrap("".join(first[1:]), width - indent - 3, at_words=True) if len(first) > 1 else ():
            yield [("", " " * indent + f"{_CONTINUED} "), ("", part)]
        return
    mark = f" {detail.mark} " if detail.mark else " "
    parts = wrap(detail.text, max(width - len(mark) - 1, 8), at_words=True)
    body = style if detail.style in ("note", "added", "removed") else ""
    yield [(style, mark), (body, parts[0])]
    for part in parts[1:]:
        yield [(style, f"{_CONTINUED} ".rjust(len(mark)) if detail.mark else mark), (body, part)]


# -- options


def _label(menu: Menu, index: int, width: int) -> list[str]:
    option = menu.options[index]
    mark = ("[x] " if index in menu.chosen else "[ ] ") if menu.is_many and not option.needs_text else ""
    label = f"{index + 1}. {mark}{escape_line(option.label)}"
    if option.about and (column := _about_column(menu, width)):
        label += " " * (column - get_cwidth(label)) + escape_line(option.about)
    elif option.about:
        label += f"  ({escape_line(option.about)})"
    return wrap(label, max(width - 5, 8), at_words=True)


def _about_column(menu: Menu, width: int) -> int:
    """Return the column in which all descriptions of options begin; 0 if they do not fit beside the labels."""
    mark = 4 * menu.is_many
    labels = [3 + mark + get_cwidth(escape_line(option.label)) + 2 for option in menu.options if option.about]
    column = max(labels, default=0)
    abouts = [get_cwidth(escape_line(option.about)) for option in menu.options if option.about]
    return column if column + max(abouts, default=0) <= width - 5 and len(menu.options) < 10 else 0


def _options(menu: Menu, width: int) -> Iterator[Row]:
    for index in menu.window:
        is_here = index == menu.at
        style = "class:question.chosen" if is_here else ""
        lines = _label(menu, index, width)
        if len(lines) > _OPTION_LINES:
            lines = [
                *lines[: _OPTION_LINES - 1],
                one_line(lines[_OPTION_LINES - 1], max(width - 22, 8)) + " (all above)",
            ]
        yield [(style, f" {'❯' if is_here else ' '} {lines[0]}")]
        for line in lines[1:]:
            yield [(style, f"      {line}")]
    if len(menu.shown) > len(menu.window):
        yield [("class:question.more", f"   {len(menu.shown)} options")]


def _overflow(menu: Menu, width: int) -> list[QuestionLine]:
    """Return the complete text of options that are too long for the list."""
    lines: list[QuestionLine] = []
    for index in menu.window:
        if len(_label(menu, index, width)) > _OPTION_LINES:
            option = menu.options[index]
            lines.append(QuestionLine(escape_line(option.label), f"Answer {index + 1}:", "fact"))
            lines += [QuestionLine(escape_line(option.about), "│")] if option.about else []
    return lines


def wrap(text: str, width: int, at_words: bool = False) -> list[str]:
    """Break a line at a number of columns: at any letter, or after spaces if possible. All characters stay; a tab becomes a
    sign and spaces."""
    lines, line, used = [], "", 0
    for letter in text:
        piece = TAB + " " * (_TABS - 1 - used % _TABS) if letter == "\t" else letter
        size = len(piece) if letter == "\t" else get_cwidth(piece)
        if used + size > max(width, 2) and line:
            cut = line.rfind(" ") + 1 if at_words and letter != " " and line.strip().count(" ") else 0
            lines.append(line[:cut] if cut else line)
            line = line[cut:] if cut else ""
            used = get_cwidth(line)
        line, used = line + piece, used + size
    return [*lines, line]
