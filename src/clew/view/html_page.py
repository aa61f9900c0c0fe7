"""Wrap HTML fragments in a page: one file that loads nothing and works without scripts.

text = "".join(render_page(about, fragments(rows), outline))

A content security policy forbids everything except the page's own style and script, each named by its hash, and
embedded pictures. The scripts find, filter, fold, follow the reader in the outline, and switch between light and dark.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from clew.system.design_tokens import token_css
from clew.system.plural import plural
from clew.version import __version__
from clew.view.header import About, BranchNote
from clew.view.row_html import time_tag
from clew.view.sanitize import one_line

_FOLDER = Path(__file__).with_name("asset")
_SCRIPTS = ("session.js", "page.js")
_KINDS = {"": "Everything", "errors": "Errors", "edits": "Edits", "agents": "Agents", "decisions": "Decisions"}
_THEME = '<button type="button" data-does="theme">Light/dark</button>\n'
_TOOLS = f"""<input type="search" data-find aria-label="Find in this session" placeholder="Find">
<output data-found></output>
<button type="button" data-step="-1" aria-label="Previous match">↑</button>
<button type="button" data-step="1" aria-label="Next match">↓</button>
<select data-only aria-label="Show only">{"".join(f'<option value="{k}">{v}</option>' for k, v in _KINDS.items())}</select>
<button type="button" data-fold="open">Open all</button>
<button type="button" data-fold="close">Close all</button>
<button type="button" data-split aria-label="Differences side by side">Split</button>
{_THEME}"""


def read_asset(name: str) -> str:
    """Return the text of a file in `asset/`: `session.css`, `page.js`, `search.js`."""
    return (_FOLDER / name).read_text(encoding="utf-8")


class Extra(NamedTuple):
    """HTML of other packages above the conversation, such as charts, and its style sheet."""

    html: str = ""
    css: str = ""


NO_EXTRA = Extra()


def page_style(css: str = "") -> str:
    """Return the style sheet of exported pages."""
    return token_css() + read_asset("session.css") + read_asset("page.css") + css


def render_page(
    about: About,
    body: Iterable[str],
    outline: Iterable[tuple[int, str]] = (),
    branches: Iterable[tuple[BranchNote, Iterable[str]]] = (),
    extra: Extra = NO_EXTRA,
) -> Iterator[str]:
    """Yield the page of a session in parts; `outline` lists the turns to link to, and other `branches` follow."""
    turns = list(outline)
    yield from page_start(about.title, _SCRIPTS, extra.css)
    link = '<a class="outline-link" href="#side">Turns</a>' if len(turns) > 1 else ""
    yield page_header(about.title, _TOOLS, link)
    yield outline_list(turns, about.branches)
    yield f'<main id="content">\n{_about_line(about)}{_branch_list(about)}{extra.html}'
    yield from body
    for note, fragments in branches:
        name = f"branch-{note.number}"
        yield f'<h2 class="branch" id="{name}"><a href="#{name}">Branch {note.number}</a> {note.origin}</h2>\n'
        yield from fragments
    yield "</main>\n"
    yield from page_end(_SCRIPTS)


def page_start(title: str, scripts: Iterable[str], css: str = "") -> Iterator[str]:
    """Yield the start of a page, up to its body."""
    style = page_style(css)
    allowed = " ".join(_hash(read_asset(name)) for name in scripts) or "'none'"
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {allowed}; "
        "base-uri 'none'; form-action 'none'"
    )
    yield f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="clew {__version__}">
<title>{escape(one_line(title))}</title>
<style>{style}</style>
</head>
<body>
"""


def page_header(title: str, tools: str = _THEME, link: str = "") -> str:
    """Return the line above a page: the title, and tools that need scripts, which show them."""
    return f"""<header class="top">
<h1>{escape(one_line(title))}</h1>
{link}<div class="tools" hidden>
{tools}</div>
</header>
"""


def page_end(scripts: Iterable[str]) -> Iterator[str]:
    """Yield the end of a page, with its scripts."""
    yield from (f"<script>{read_asset(name)}</script>\n" for name in scripts)
    yield "</body>\n</html>\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _about_line(about: About) -> str:
    parts = [escape(one_line(value)) for _, value in about.details]
    when = time_tag(about.started).strip()
    return f'<p class="about">{" · ".join(part for part in (when, *parts) if part)}</p>\n'


def _branch_list(about: About) -> str:
    if not about.branches:
        return ""
    items = ""
    for note in about.branches:
        name = f"Branch {note.number}"
        link = f'<a href="#branch-{note.number}">{name}</a>' if note.is_included and not note.is_active else name
        text = escape(one_line(note.text, 160)) or "(no text)"
        items += f'<li>{link} <span class="about">({note.summary})</span>: {text}</li>\n'
    command = f" The others: <code>{escape(about.branch_command)}</code>" if about.branch_command else ""
    return f'<div class="branches"><p>{about.branch_sentence}{command}</p>\n<ul>\n{items}</ul></div>\n'


def outline_list(turns: Sequence[tuple[int, str]], branches: Iterable[BranchNote] = ()) -> str:
    """Return the outline: beside the text on wide screens, else a drawer that its link opens."""
    if len(turns) < 2:
        return ""
    items = "".join(
        f'<li><a href="#turn-{number}" data-turn="{number}"><span class="number">{number}</span> '
        f'<span class="text">{escape(one_line(text, 80)) or "(no text)"}</span></a></li>\n'
        for number, text in turns
    )
    items += "".join(
        f'<li class="fork"><a href="#branch-{note.number}"><span class="text">branch {note.number}: '
        f"{escape(one_line(note.text, 80))}</span></a></li>\n"
        for note in branches
        if note.is_included and not note.is_active
    )
    head = f'<h2>{plural(len(turns), "turn")}</h2><a class="close" href="#content" aria-label="Close the outline">✕</a>'
    return f"""<aside class="side" id="side" aria-label="Outline">{head}
<nav aria-label="Turns"><ol class="thread">
{items}</ol></nav></aside>
"""
