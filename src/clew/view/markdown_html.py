"""Prose: Markdown as people and models write it, as HTML that can hold no markup of theirs.

markdown-it makes it, with raw HTML off. Links go to the web or to mail and nowhere else, pictures become links (a page loads
nothing), headings stand below those of the page. Plain paragraphs and fenced code, which are most of a session, are made
here: markdown-it is slow at them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from clew.view.sanitize import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

_FENCE = re.compile(r"^(`{3,}|~{3,})([^`\n]*)$")
_SAFE = re.compile(r"(?:https?://|mailto:)[^\x00-\x20]+", re.IGNORECASE)
_BLANK = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)*")
# Words on a line of which the signs mean the same wherever they stand: plain letters, code, and bold that ends in letters.
_LETTER = r"[^\W_]"
_PLAIN = r"[^*_`\[\]\\<&|~\n]"
_CODE = r"(?<!`)`[^`\s](?:[^`\n]*[^`\s])?`(?!`)"
_BOLD = rf"(?<!\*)\*\*{_LETTER}(?:{_PLAIN}*{_LETTER})?\*\*(?!\*)"
_WORDS = rf"(?!\s|[#>=+-]|\d+[.)])(?:{_PLAIN}++|(?<={_LETTER})_+(?={_LETTER})|{_CODE}|{_BOLD})++"
_PARAGRAPH = re.compile(rf"{_WORDS}(?:\n{_WORDS})*+")
_HEADING = re.compile(rf"(#{{1,6}}) ({_WORDS})(?<![# ])")
_LIST = re.compile(rf"(?:(?:- {_WORDS}\n?)++|(?:(\d{{1,9}})\. {_WORDS}\n?)(?:\d{{1,9}}\. {_WORDS}\n?)*+)(?<!\n)")
_ITEM = re.compile(r"^(?:-|\d+\.) ", re.MULTILINE)
_MARKED = re.compile(r"(`)([^`]+)`|\*\*([^*]+)\*\*")
_GOES_ON = re.compile(r"\s|[-*+] |\d+[.)] ")
DEEPEST = 20  # nested lists and quotes
LONGEST = 200_000  # characters; what is longer is shown as it was written


def prose(text: str) -> str:
    """Markdown as HTML."""
    text = clean(text).strip("\n")
    if len(text) > LONGEST:
        return f'<pre class="text">{escape(text)}</pre>'
    return "".join(_parts(text))


def _parts(text: str) -> Iterator[str]:
    for is_code, part in _split(text):
        if is_code:
            yield f"<pre><code>{escape(part)}</code></pre>"
        else:
            yield from _paragraphs(part.strip("\n"))


def _split(text: str) -> Iterator[tuple[bool, str]]:
    """Fenced code at the margin, and what stands between it."""
    if "```" not in text and "~~~" not in text:
        yield False, text
        return
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence and found and found[1].startswith(fence) and not found[2].strip():
            yield True, "\n".join(kept)
            kept, fence = [], ""
        elif not fence and found:
            yield False, "\n".join(kept)
            kept, fence = [], found[1]
        else:
            kept.append(line)
    yield bool(fence), "\n".join(kept)


def _paragraphs(text: str) -> Iterator[str]:
    """Text between blank lines, quickly where that is safe; what is not is rendered together, as it stands."""
    starts = [0, *(gap.end() for gap in _BLANK.finditer(text))]
    stops = [*(gap.start() for gap in _BLANK.finditer(text)), len(text)]
    waiting = -1
    for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        goes_on = number + 1 < len(starts) and _GOES_ON.match(text, starts[number + 1])
        made = _quick(text[start:stop], waiting < 0 and not goes_on)
        if made is None:
            waiting = start if waiting < 0 else waiting
            continue
        if waiting >= 0:
            yield rendered(text[waiting : stops[number - 1]])
            waiting = -1
        yield made
    if waiting >= 0 and text[waiting:].strip():
        yield rendered(text[waiting:])


def _quick(part: str, is_alone: bool) -> str | None:
    """A paragraph, a heading or a flat list, as markdown-it would make it; None if it had better."""
    if "  \n" in part or part.endswith(" "):
        return None
    if _PARAGRAPH.fullmatch(part):
        return f"<p>{_inline(part)}</p>\n"
    if found := _HEADING.fullmatch(part):
        level = min(6, len(found[1]) + 2)
        return f"<h{level}>{_inline(found[2])}</h{level}>\n"
    if is_alone and (found := _LIST.fullmatch(part)):
        items = "".join(f"<li>{_inline(_ITEM.sub('', item, 1))}</li>\n" for item in part.split("\n"))
        start = f' start="{int(found[1])}"' if found[1] and int(found[1]) != 1 else ""
        return f"<ol{start}>\n{items}</ol>\n" if found[1] else f"<ul>\n{items}</ul>\n"
    return None


def _inline(text: str) -> str:
    return _MARKED.sub(_marked, escape(text)) if "`" in text or "**" in text else escape(text)


def _marked(found: re.Match[str]) -> str:
    return f"<code>{found[2]}</code>" if found[1] else f"<strong>{found[3]}</strong>"


def rendered(text: str) -> str:
    """Markdown as HTML, all of it by markdown-it."""
    return str(_renderer().render(text))


@cache
def _renderer() -> MarkdownIt:
    from markdown_it import MarkdownIt

    made = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False, "maxNesting": DEEPEST}).enable(
        ["table", "strikethrough"]
    )
    made.validateLink = lambda url: bool(_SAFE.fullmatch(url))  # type: ignore[method-assign]
    made.add_render_rule("link_open", _link)
    made.add_render_rule("image", _image)
    made.add_render_rule("heading_open", _heading)
    made.add_render_rule("heading_close", _heading)
    made.add_render_rule("th_open", _cell)
    made.add_render_rule("td_open", _cell)
    made.add_render_rule("fence", _code)
    made.add_render_rule("code_block", _code)
    return made


Environment = MutableMapping[str, Any]


def _link(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    return anchor(str(tokens[at].attrGet("href") or ""))


def anchor(url: str) -> str:
    """The opening tag of a link that tells the other side nothing."""
    return f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">'


def _image(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    text = escape(tokens[at].content or "picture")
    is_linked = sum(token.nesting for token in tokens[:at] if token.type in ("link_open", "link_close"))
    return text if is_linked else f"{anchor(str(tokens[at].attrGet('src') or ''))}{text}</a>"


def _heading(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    token = tokens[at]
    level = min(6, int(token.tag[1]) + 2)
    return f"<h{level}>" if token.nesting > 0 else f"</h{level}>\n"


def _cell(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    """A cell of a table; where its text stands is a class, since a page may forbid styles."""
    side = str(tokens[at].attrGet("style") or "").removeprefix("text-align:")
    return f'<{tokens[at].tag} class="{side}">' if side in ("center", "right") else f"<{tokens[at].tag}>"


def _code(_: RendererHTML, tokens: Sequence[Token], at: int, options: OptionsDict, env: Environment) -> str:
    return f"<pre><code>{escape(tokens[at].content)}</code></pre>\n"
