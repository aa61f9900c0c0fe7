"""Render Markdown for a terminal, left-aligned and without boxes around headings and code."""

from __future__ import annotations

from typing import Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, ListItem, Markdown
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax, SyntaxTheme

from clew.system.terminal_style import TerminalStyle

_CODE = {  # the looks of the kinds of tokens that Pygments finds
    "Comment": "code-comment",
    "Keyword": "code-keyword",
    "Operator.Word": "code-keyword",
    "Name.Tag": "code-keyword",
    "Name.Function": "code-name",
    "Name.Class": "code-name",
    "Name.Decorator": "code-name",
    "Name.Builtin": "code-name",
    "Literal.Number": "code-number",
    "Literal.String": "code-string",
    "Generic.Inserted": "good",
    "Generic.Deleted": "bad",
}


class _Heading(Heading):
    """A heading in bold; the first two levels underlined."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = self.text
        text.justify = "left"
        text.stylize("bold underline" if self.tag in ("h1", "h2") else "bold")
        yield text


class _CodeBlock(CodeBlock):
    """A code block without a ground of its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=0, background_color="default")


class _NumberedItem(ListItem):
    """A numbered item with a dot after its number."""

    def render_number(self, console: Console, options: ConsoleOptions, number: int, last_number: int) -> RenderResult:
        room = len(str(last_number)) + 2
        lines = console.render_lines(self.elements, options.update(width=options.max_width - room), style=self.style)
        for index, line in enumerate(lines):
            yield Segment(f"{number}.".rjust(room - 1) + " " if index == 0 else " " * room)
            yield from line
            yield Segment("\n")


class _Rule(HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="markdown.hr")


class _TerminalMarkdown(Markdown):
    elements = {  # noqa: RUF012 - rich declares it so
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "list_item_open": _NumberedItem,
        "hr": _Rule,
    }


def render_markdown(text: str, style: TerminalStyle) -> Any:
    theme: Any = _code_theme(style)  # rich takes a theme where it declares the name of one
    return _TerminalMarkdown(text, code_theme=theme, hyperlinks=False)


def _code_theme(style: TerminalStyle) -> SyntaxTheme:
    return ANSISyntaxTheme({tuple(kind.split(".")): Style.parse(style.rich_look(look)) for kind, look in _CODE.items()})
