"""Convert HTML to Markdown: the text of a page without its layout."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin

_SKIPPED = ("script", "style", "template", "svg", "noscript", "iframe", "object", "select", "button")
_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~", "code": "`"}
_PREFIXES = {"title": "# "} | {f"h{level}": "#" * level + " " for level in range(1, 7)}
_INLINE = (
    *("a", "span", "small", "sub", "sup", "u", "abbr", "cite", "q", "time", "label", "mark", "font", "kbd", "samp"),
    *("var", "wbr", "input", "bdi", "bdo", "dfn", "ins", "picture", "source", "tt", "big", "data"),
)
_SPACE = re.compile(r"\s+")
_TAG = re.compile(r"<[^<>]*>")
_MAX_SEARCHED = 16 << 20  # characters that are searched for the ends of tags and comments: about a second (measured)


def convert_html(html: str, base: str = "") -> str:
    """Convert a page. Broken HTML gives as much text as can be recovered."""
    parser = _Parser(base)
    try:
        parser.feed(html)
        parser.close()
    except _TooManyUnclosedError as stop:
        parser.handle_data(unescape(_TAG.sub(" ", html[len(html) - stop.left :])))
    return parser.text()


class _TooManyUnclosedError(Exception):
    """`left` characters at the end of a page contain too many tags and comments without an end to look for them all."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left


class _Parser(HTMLParser):
    """Collects text into a block until a block element begins or ends."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._blocks: list[str] = []
        self._words: list[str] = []
        self._lead = ""  # prefix of the open block, such as "# " or "- "
        self._skipped: list[str] = []  # enclosing elements whose content is skipped
        self._lists: list[int] = []  # next number of each enclosing list, 0 for an unordered one
        self._quotes = 0
        self._raw = 0
        self._links: list[tuple[str, int]] = []
        self._row: list[str] | None = None
        self._is_first_row = True
        self._searched = 0  # characters after tags and comments without an end

    def parse_starttag(self, i: int) -> int:
        return self._count_unclosed(i, super().parse_starttag(i))

    def parse_comment(self, i: int, report: bool = True) -> int:
        return self._count_unclosed(i, super().parse_comment(i, report))

    def parse_pi(self, i: int) -> int:
        return self._count_unclosed(i, super().parse_pi(i))

    def parse_html_declaration(self, i: int) -> int:
        return self._count_unclosed(i, super().parse_html_declaration(i))

    def _count_unclosed(self, start: int, stop: int) -> int:
        """Return where a tag or comment stops. The end of each that has none is searched in all that is left."""
        if stop < 0:
            self._searched += len(self.rawdata) - start
            if self._searched > _MAX_SEARCHED:
                raise _TooManyUnclosedError(len(self.rawdata) - start)
        return stop

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag in _SKIPPED:
            self._skipped.append(tag)
        elif self._skipped:
            pass
        elif tag == "br":
            self._words.append("\n")
        elif tag == "img":
            if alt := attributes.get("alt", "").strip():
                self._words.append(f"![{alt}]({self._address(attributes.get('src', ''))})")
        elif tag == "a":
            self._links.append((attributes.get("href", ""), len(self._words)))
        elif tag in _MARKS:
            self._words.append("" if self._raw else _MARKS[tag])
        elif tag in ("td", "th", "tr", "table"):
            self._table(tag)
        elif tag not in _INLINE:
            self._end_block()
            self._begin_block(tag)

    def _begin_block(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._lists.append(int(tag == "ol"))
        elif tag == "li":
            self._lead = self._bullet()
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "pre":
            self._raw += 1
        elif tag == "hr":
            self._blocks.append("---")
        else:
            self._lead = _PREFIXES.get(tag, self._lead)

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            if tag == self._skipped[-1]:
                self._skipped.pop()
        elif tag == "a":
            self._end_link()
        elif tag in _MARKS:
            self._words.append("" if self._raw else _MARKS[tag])
        elif tag in ("td", "th"):
            self._end_cell()
        elif tag in ("tr", "table"):
            self._end_row()
        elif tag not in _INLINE:
            self._end_block()
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            elif tag == "blockquote":
                self._quotes = max(0, self._quotes - 1)
            elif tag == "pre":
                self._raw = max(0, self._raw - 1)
            if tag in _PREFIXES or tag == "li":
                self._lead = ""

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self._words.append(data if self._raw else _SPACE.sub(" ", data))

    def text(self) -> str:
        """Return all blocks; rows of a table and items of a list are joined by single newlines."""
        self._end_row()
        self._end_block()
        parts = self._blocks[:1]
        for before, block in zip(self._blocks, self._blocks[1:], strict=False):
            kinds = _block_kind(before), _block_kind(block)
            parts += ["\n" if kinds[0] and kinds[0] == kinds[1] else "\n\n", block]
        return "".join(parts)

    def _bullet(self) -> str:
        indent = "  " * (len(self._lists) - 1)
        if not self._lists or not self._lists[-1]:
            return f"{indent}- "
        self._lists[-1] += 1
        return f"{indent}{self._lists[-1] - 1}. "

    def _address(self, href: str) -> str:
        try:
            return urljoin(self._base, href)
        except ValueError:
            return href

    def _take_text(self) -> str:
        """Return the collected text and clear it."""
        text = "".join(self._words)
        self._words, self._links = [], []
        if self._raw:
            return text.strip("\n")
        lines = (re.sub(" {2,}", " ", line).strip() for line in text.split("\n"))
        return "\n".join(lines).strip()

    def _end_block(self) -> None:
        if self._row is not None:
            self._words.append(" ")
            return
        text = self._take_text()
        if not text.strip("*`~ \n"):
            return
        text = f"```\n{text}\n```" if self._raw else text
        quote = "> " * self._quotes
        self._blocks.append("\n".join(quote + line for line in (self._lead + text).split("\n")))
        self._lead = ""

    def _end_link(self) -> None:
        if self._links:
            href, at = self._links.pop()
            words = "".join(self._words[at:]).strip()
            if words and href and not href.lower().startswith(("javascript:", "data:")):
                self._words[at:] = [f"[{words}]({self._address(href)})"]

    def _table(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._end_cell()
            self._row = [] if self._row is None else self._row
            return
        self._end_row()
        self._end_block()
        self._is_first_row = self._is_first_row or tag == "table"

    def _end_cell(self) -> None:
        text = self._take_text().replace("\n", " ").replace("|", "\\|") if self._row is not None else ""
        if self._row is not None and text:
            self._row.append(text)

    def _end_row(self) -> None:
        self._end_cell()
        row, self._row = self._row, None
        if row:
            self._blocks.append("| " + " | ".join(row) + " |")
            if self._is_first_row:
                self._blocks.append("|" + " --- |" * len(row))
            self._is_first_row = False


def _block_kind(block: str) -> str:
    """Return `row` for a table row, `item` for a list item, otherwise an empty string."""
    match = re.match(r"\s*(?:(\|)|([-\d][.]? |\d+\. ))", block)
    return "" if match is None else "row" if match[1] else "item"
