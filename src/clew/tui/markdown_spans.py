"""Style the wrapped lines of a Markdown text: headings, lists, quotes, tables, emphasis, links and fenced code.

Each line stays one line. Marks such as `**` and `#` are not shown; a code block is coloured by its language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.cells import cell_len
from rich.syntax import Syntax

Span = tuple[str, str]
MAX_CODE = 20_000  # characters of a code block that are coloured
_FENCE = re.compile(r"(\s*)(?:```+|~~~+)\s*([\w+#.-]*)")
_HEADING = re.compile(r"\s*#{1,6}\s+")
_BULLET = re.compile(r"(\s*)[-*+] ")
_QUOTE = re.compile(r"(\s*)> ?")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*")
_TABLE_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*")
_BAR = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"(?P<code>`+)(?P<code_text>.+?)(?P=code)"
    r"|\*\*(?P<bold>[^\s*](?:[^*]*[^\s*])?)\*\*|(?<!\w)__(?P<bold2>[^\s_](?:[^_]*[^\s_])?)__(?!\w)"
    r"|(?<![\w*])\*(?P<italic>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])|(?<!\w)_(?P<italic2>[^\s_](?:[^_]*[^\s_])?)_(?!\w)"
    r"|\[(?P<link>[^\]\n]+)\]\((?P<address>[^)\s]+)\)"
)
_STYLES = {
    "code_text": "code",
    "bold": "heading",
    "bold2": "heading",
    "italic": "italic",
    "italic2": "italic",
    "link": "link",
}
# The first part of a token's name that has a style decides.
_TOKENS = {
    "Token.Comment": "comment",
    "Token.Keyword": "keyword",
    "Token.Operator.Word": "keyword",
    "Token.Name.Function": "name",
    "Token.Name.Class": "name",
    "Token.Name.Decorator": "name",
    "Token.Name.Tag": "keyword",
    "Token.Name.Builtin": "name",
    "Token.Literal.Number": "number",
    "Token.Literal.String": "string",
    "Token.Generic.Inserted": "added",
    "Token.Generic.Deleted": "removed",
}


def style_lines(lines: Sequence[str], width: int = 0) -> Iterator[list[Span]]:
    """Yield the spans of each line. The columns of a table are aligned if it then fits the width."""
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            end = next((i for i in range(at, len(lines)) if not lines[i].lstrip().startswith("|")), len(lines))
            yield from _style_table(lines[at:end], width) if end > at else [list(_style_prose(lines[at]))]
            at = max(end, at + 1)
            continue
        end = next((i for i in range(at + 1, len(lines)) if _FENCE.fullmatch(lines[i])), len(lines))
        yield [(fence[1] + (fence[2] or "code"), "fence")]
        yield from _style_code(tuple(lines[at + 1 : end]), fence[2])
        if end < len(lines):
            yield [("", "fence")]
        at = end + 1


def _style_prose(line: str) -> Iterator[Span]:
    if heading := _HEADING.match(line):
        yield from _style_inline(line[heading.end() :], "heading")
    elif _RULE.fullmatch(line):
        yield "─" * min(40, cell_len(line.rstrip()) or 1), "guide"
    elif _TABLE_RULE.fullmatch(line):
        yield re.sub(r"[-: ]", "─", line.strip()).replace("|", "┼"), "guide"
    elif line.lstrip().startswith("|"):
        for number, cell in enumerate(line.split("|")):
            yield from ([("│", "guide")] if number else [])
            yield from _style_inline(cell, "reply")
    elif bullet := _BULLET.match(line):
        yield f"{bullet[1]}• ", "guide"
        yield from _style_inline(line[bullet.end() :], "reply")
    elif quote := _QUOTE.match(line):
        yield f"{quote[1]}▎ "[: quote.end()], "guide"
        yield from _style_inline(line[quote.end() :], "quote")
    else:
        yield from _style_inline(line, "reply")


def _style_table(lines: Sequence[str], width: int) -> Iterator[list[Span]]:
    """Yield the spans of the lines of a table, with aligned columns if there is room."""
    rows = [None if _TABLE_RULE.fullmatch(line) else _split_cells(line) for line in lines]
    columns = max((len(cells) for cells in rows if cells), default=0)
    widths = [max((_cell_width(cells, column) for cells in rows if cells), default=0) for column in range(columns)]
    if sum(widths) + 3 * columns + 1 > width:
        for line in lines:
            yield list(_style_prose(line))
        return
    for cells in rows:
        if cells is None:
            yield [("├" + "┼".join("─" * (size + 2) for size in widths) + "┤", "guide")]
            continue
        styled: list[Span] = [("│", "guide")]
        for column, size in enumerate(widths):
            cell = cells[column] if column < len(cells) else []
            padding = " " * (size - _cell_width(cells, column) + 1)
            styled += [(" ", "reply"), *cell, (padding, "reply"), ("│", "guide")]
        yield styled


def _split_cells(line: str) -> list[list[Span]]:
    """Return the spans of each cell of a row; an escaped bar does not divide cells."""
    inner = line.strip().removeprefix("|").removesuffix("|")
    return [list(_style_inline(cell.strip().replace("\\|", "|"), "reply")) for cell in _BAR.split(inner)]


def _cell_width(cells: list[list[Span]], column: int) -> int:
    return sum(cell_len(text) for text, _ in cells[column]) if column < len(cells) else 0


def _style_inline(text: str, style: str) -> Iterator[Span]:
    at = 0
    for match in _INLINE.finditer(text):
        kind = next(name for name in _STYLES if match[name] is not None)
        yield text[at : match.start()], style
        yield match[kind], _STYLES[kind]
        at = match.end()
    yield text[at:], style


@lru_cache(maxsize=64)
def _style_code(lines: tuple[str, ...], language: str) -> list[list[Span]]:
    """Return the spans of the lines of a code block; plain ones if the language is unknown."""
    lexer = Syntax("", language).lexer if language and sum(map(len, lines)) <= MAX_CODE else None
    if lexer is None:
        return [[(line, "code")] for line in lines]
    styled: list[list[Span]] = [[]]
    for token, text in lexer.get_tokens("\n".join(lines)):
        style = _token_style(str(token))
        for number, part in enumerate(text.split("\n")):
            if number:
                styled.append([])
            if part:
                styled[-1].append((part, style))
    styled = styled[: len(lines)] + [[] for _ in range(len(lines) - len(styled))]
    kept = all("".join(part for part, _ in spans) == line for spans, line in zip(styled, lines, strict=True))
    return styled if kept else [[(line, "code")] for line in lines]


@lru_cache(maxsize=256)
def _token_style(name: str) -> str:
    return next((style for token, style in _TOKENS.items() if name.startswith(token)), "code")
