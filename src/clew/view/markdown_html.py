"""Convert Markdown to HTML that contains no markup from the transcript.

markdown-it renders it, with raw HTML off. Links may only lead to the web or to mail, pictures become links (a page
loads nothing), and headings are lowered by two levels. Plain paragraphs and fenced code, which are most of a
session, are rendered here, because markdown-it is slow at them. Task lists and footnotes, which CommonMark has not, are
added. Fenced code is coloured, and labelled with its language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from clew.view.diff_html import diff_html
from clew.view.sanitize import clean
from clew.view.syntax import colour, language_name

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

_FENCE = re.compile(r"^(`{3,}|~{3,})([^`\n]*)$")
_SAFE = re.compile(r"(?:https?://|mailto:)[^\x00-\x20]+", re.IGNORECASE)
_BLANK = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)*")
# Text whose markup does not depend on its surroundings: plain letters, `code`, and **bold** that ends in letters.
_LETTER = r"[^\W_]"
_PLAIN = r"[^*_`\[\]\\<&|~\n]"
_CODE = r"(?<!`)`[^`\s](?:[^`\n]*[^`\s])?`(?!`)"
_BOLD = rf"(?<!\*)\*\*{_LETTER}(?:{_PLAIN}*{_LETTER})?\*\*(?!\*)"
_SIMPLE_TEXT = rf"(?!\s|[#>=+-]|\d+[.)])(?:{_PLAIN}++|(?<={_LETTER})_+(?={_LETTER})|{_CODE}|{_BOLD})++"
_PARAGRAPH = re.compile(rf"{_SIMPLE_TEXT}(?:\n{_SIMPLE_TEXT})*+")
_HEADING = re.compile(rf"(#{{1,6}}) ({_SIMPLE_TEXT})(?<![# ])")
_LIST = re.compile(
    rf"(?:(?:- {_SIMPLE_TEXT}\n?)++|(?:(\d{{1,9}})\. {_SIMPLE_TEXT}\n?)(?:\d{{1,9}}\. {_SIMPLE_TEXT}\n?)*+)(?<!\n)"
)
_FIRST_ITEM = re.compile(r"\n(?=- |1\. )")  # of a list that follows a paragraph without a blank line
_ITEM = re.compile(r"^(?:-|\d+\.) ", re.MULTILINE)
_MARKED = re.compile(r"(`)([^`]+)`|\*\*([^*]+)\*\*")
_CONTINUES_LIST = re.compile(r"\s|(?:[-*+]|\d+[.)])(?:\s|\Z)")
_TASK = re.compile(r"<li>(<p>)?\[([ xX])\] ")
_FOOTNOTE = re.compile(r"^\[\^([\w-]{1,20})\]:[ \t]+(.+)$", re.MULTILINE)
_FENCED = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_FORMATTED = re.compile(r"^#{1,6} \S.*\n[ \t]*\n|^\|.+\|\n\|[ :|-]+\|", re.MULTILINE)
_LIST_ITEM = re.compile(r"^(?:[-*+]|\d{1,3}[.)]) \S", re.MULTILINE)
_INDENTED = re.compile(r"^(?: {4}|\t)", re.MULTILINE)
MAX_NESTING = 20  # of lists and quotes
MAX_MARKDOWN = 200_000  # characters; longer text is shown unrendered


def markdown_to_html(text: str) -> str:
    """Return Markdown as HTML."""
    text = clean(text).strip("\n")
    if len(text) > MAX_MARKDOWN:
        return f'<pre class="text">{escape(text)}</pre>'
    return "".join(_render_parts(text))


def is_markdown(text: str) -> bool:
    """Return whether plain text, such as a prompt, is formatted: it has fenced code, a heading, a list or a table.

    Indented lines mean pasted code or output, whose lines must stay as they are.
    """
    if _FENCED.search(text):
        return True
    is_formatted = _FORMATTED.search(text) or len(_LIST_ITEM.findall(text)) > 1
    return bool(is_formatted) and not _INDENTED.search(text)


def code_html(text: str, info: str) -> str:
    """Return code, coloured and labelled by the language that its info string names."""
    language = language_name(info)
    if language.lower() in ("diff", "patch", "udiff"):
        html = f'<pre class="diff">{diff_html(text.strip(chr(10)))}</pre>'
    else:
        html = f"<pre><code>{colour(text, language)}</code></pre>"
    return f'<div class="code"><span class="language">{escape(language)}</span>{html}</div>' if language else html


def _render_parts(text: str) -> Iterator[str]:
    notes: dict[str, str] = {}
    for info, part in _split_fences(text):
        if info is not None:
            yield code_html(part, info)
            continue
        if "[^" in part:
            notes |= {note[1]: note[2] for note in _FOOTNOTE.finditer(part)}
            part = _FOOTNOTE.sub("", part)
        html = "".join(_render_paragraphs(part.strip("\n")))
        html = _TASK.sub(_task_item, html) if "<li>" in html else html
        for name in notes:
            html = html.replace(f"[^{name}]", f"<sup>{escape(name)}</sup>")
        yield html
    for name, note in notes.items():
        yield f'<p class="footnote"><sup>{escape(name)}</sup> {_render_inline(note)}</p>\n'


def _task_item(match: re.Match[str]) -> str:
    is_done = match[2] != " "
    return f'<li class="task{" done" if is_done else ""}">{match[1] or ""}{"☒" if is_done else "☐"} '


def _split_fences(text: str) -> Iterator[tuple[str | None, str]]:
    """Yield (info string, code) for fenced code at the margin, and (None, text) for the text between."""
    if "```" not in text and "~~~" not in text:
        yield None, text
        return
    lines: list[str] = []
    fence: re.Match[str] | None = None
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence and found and found[1].startswith(fence[1]) and not found[2].strip():
            yield fence[2], "\n".join(lines)
            lines, fence = [], None
        elif not fence and found:
            yield None, "\n".join(lines)
            lines, fence = [], found
        else:
            lines.append(line)
    yield fence[2] if fence else None, "\n".join(lines)


def _render_paragraphs(text: str) -> Iterator[str]:
    """Render text between blank lines by the quick path where that is safe; the others together with markdown-it."""
    gaps = [gap.span() for gap in _BLANK.finditer(text)]
    starts, stops = [0, *(stop for _, stop in gaps)], [*(start for start, _ in gaps), len(text)]
    slow_start, number = -1, 0
    while number < len(starts):
        first, number = number, number + 1
        start, stop = starts[first], stops[first]
        quick = _render_quick(text[start:stop])
        if quick is None and slow_start < 0:
            if number == len(starts) or not _CONTINUES_LIST.match(text, starts[number]):
                quick = _render_flat_list(text[start:stop])
            elif found := _render_loose_list(text, starts, stops, first):
                quick, number = found
        if quick is None:
            slow_start = start if slow_start < 0 else slow_start
            continue
        if slow_start >= 0:
            yield render_with_markdown_it(text[slow_start : stops[first - 1]])
            slow_start = -1
        yield quick
    if slow_start >= 0 and text[slow_start:].strip():
        yield render_with_markdown_it(text[slow_start:])


def _render_quick(part: str) -> str | None:
    """Return the HTML of a simple paragraph or heading, equal to markdown-it's; None for anything else."""
    if "  \n" in part or part.endswith(" "):
        return None
    if _PARAGRAPH.fullmatch(part):
        return f"<p>{_render_inline(part)}</p>\n"
    if match := _HEADING.fullmatch(part):
        level = min(6, len(match[1]) + 2)
        return f"<h{level}>{_render_inline(match[2])}</h{level}>\n"
    return None


def _render_flat_list(part: str) -> str | None:
    """Return the HTML of a flat list, or of one after a paragraph, equal to markdown-it's; None for anything else."""
    if "  \n" in part or part.endswith(" ") or (found := _match_list(part)) is None:
        return None
    lead, items = found
    html = _list_html([items], "<li>", "</li>\n")
    return _after_lead(lead, html) if lead else html


def _render_loose_list(text: str, starts: list[int], stops: list[int], first: int) -> tuple[str, int] | None:
    """Return the HTML of a flat list with blank lines in it, and the number of the part after it; None if the parts from
    the first one on are anything else.
    """
    if (found := _match_list(text[starts[first] : stops[first]])) is None:
        return None
    lead, items = found
    lists, after = [items], first + 1
    while after < len(starts) and _CONTINUES_LIST.match(text, starts[after]):
        more = _LIST.fullmatch(text, starts[after], stops[after])
        if more is None or bool(more[1]) != bool(items[1]):
            return None
        lists.append(more)
        after += 1
    if any(" \n" in f"{text[starts[number] : stops[number]]}\n" for number in range(first, after)):
        return None
    return _after_lead(lead, _list_html(lists, "<li>\n<p>", "</p>\n</li>\n")), after


def _match_list(part: str) -> tuple[str, re.Match[str]] | None:
    """Return the paragraph before a flat list ("" for none), and the list; None if a part is anything else."""
    if match := _LIST.fullmatch(part):
        return "", match
    if first := _FIRST_ITEM.search(part):
        lead, items = part[: first.start()], _LIST.fullmatch(part, first.end())
        if items and not lead.endswith(" ") and _PARAGRAPH.fullmatch(lead):
            return lead, items
    return None


def _after_lead(lead: str, html: str) -> str:
    """Return a list after its paragraph, with apostrophes as they are: markdown-it does not escape them."""
    return (f"<p>{_render_inline(lead)}</p>\n{html}" if lead else html).replace("&#x27;", "'")


def _list_html(lists: Sequence[re.Match[str]], opening: str, closing: str) -> str:
    """Return parts of one list as HTML, each item between an opening and a closing."""
    lines = (line for part in lists for line in part[0].split("\n"))
    items = "".join(f"{opening}{_render_inline(_ITEM.sub('', line, 1))}{closing}" for line in lines)
    number = lists[0][1]
    start = f' start="{int(number)}"' if number and int(number) != 1 else ""
    return f"<ol{start}>\n{items}</ol>\n" if number else f"<ul>\n{items}</ul>\n"


def _render_inline(text: str) -> str:
    return _MARKED.sub(_inline_tag, escape(text)) if "`" in text or "**" in text else escape(text)


def _inline_tag(match: re.Match[str]) -> str:
    return f"<code>{match[2]}</code>" if match[1] else f"<strong>{match[3]}</strong>"


def render_with_markdown_it(text: str) -> str:
    """Render Markdown with markdown-it only."""
    return str(_renderer().render(text))


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False, "maxNesting": MAX_NESTING}).enable(
        ["table", "strikethrough"]
    )
    renderer.validateLink = lambda url: bool(_SAFE.fullmatch(url))  # type: ignore[method-assign]
    renderer.add_render_rule("link_open", _link_rule)
    renderer.add_render_rule("image", _image_rule)
    renderer.add_render_rule("heading_open", _heading_rule)
    renderer.add_render_rule("heading_close", _heading_rule)
    renderer.add_render_rule("th_open", _cell_rule)
    renderer.add_render_rule("td_open", _cell_rule)
    renderer.add_render_rule("fence", _code_rule)
    renderer.add_render_rule("code_block", _code_rule)
    return renderer


Environment = MutableMapping[str, Any]


def _link_rule(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    return link_tag(str(tokens[at].attrGet("href") or ""))


def link_tag(url: str) -> str:
    """Return the opening tag of a link that sends no referrer."""
    return f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">'


def _image_rule(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    text = escape(tokens[at].content or "picture")
    is_linked = sum(token.nesting for token in tokens[:at] if token.type in ("link_open", "link_close"))
    return text if is_linked else f"{link_tag(str(tokens[at].attrGet('src') or ''))}{text}</a>"


def _heading_rule(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    token = tokens[at]
    level = min(6, int(token.tag[1]) + 2)
    return f"<h{level}>" if token.nesting > 0 else f"</h{level}>\n"


def _cell_rule(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    """Render a table cell; its alignment is a class, since a page may forbid inline styles."""
    side = str(tokens[at].attrGet("style") or "").removeprefix("text-align:")
    return f'<{tokens[at].tag} class="{side}">' if side in ("center", "right") else f"<{tokens[at].tag}>"


def _code_rule(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    return f"{code_html(tokens[at].content, tokens[at].info)}\n"
