"""Lower the headings of Markdown text, so that they are below the headings of the document around it."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

LEVELS = 2  # the title of a document and the prompts of its turns are above
_CANDIDATE = re.compile(r"^[ >*+\-\d.)\t]*#{1,6}(?:[ \t]|$)|^[ >*+\-\d.)\t]*(?:=+|-+)[ \t]*$", re.MULTILINE)


def lower_headings(text: str) -> str:
    """Return Markdown with every heading lowered by two levels, in lists and quotes too; the sixth is the lowest.

    Underlined headings become headings with number signs, since underlines have only two levels.
    """
    if not _CANDIDATE.search(text):
        return text
    lines: list[str | None] = [*text.split("\n")]
    tokens = _parser().parse(text)
    for token, inline in pairwise(tokens):
        if token.type != "heading_open" or token.map is None:
            continue
        first, end = token.map
        line = lines[first] or ""
        signs = "#" * min(6, int(token.tag[1]) + LEVELS)
        if token.markup.startswith("#"):
            lines[first] = re.sub("#{1,6}", signs, line, count=1)
            continue
        title = inline.content.split("\n")
        start = line[: max(0, line.find(title[0]))]
        closing = " #" if title[-1].endswith("#") else ""
        lines[first] = f"{start}{signs} {' '.join(part.strip() for part in title)}{closing}"
        lines[first + 1 : end] = [None] * (end - first - 1)
    return "\n".join(line for line in lines if line is not None)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"maxNesting": 20}).disable(["inline"])
