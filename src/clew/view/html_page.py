"""Wrap HTML fragments in a page: one file that loads nothing and works without scripts.

text = "".join(render_page(about, fragments(rows), outline))

A content security policy forbids everything except the page's own style and script, each named by its hash, and
embedded pictures. The script only folds, prints and switches between light and dark.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from clew.system.design_tokens import token_css
from clew.system.plural import plural
from clew.version import __version__
from clew.view.header import About, BranchNote
from clew.view.row_html import time_tag
from clew.view.sanitize import one_line

_FOLDER = Path(__file__).with_name("asset")
_BUTTONS = {"open": "Open all", "close": "Close all", "theme": "Light/dark"}


def read_asset(name: str) -> str:
    """Return the text of a file in `asset/`: `session.css`, `page.js`, `search.js`."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def page_style() -> str:
    """Return the style sheet of an exported page."""
    return token_css() + read_asset("session.css")


def render_page(
    about: About,
    body: Iterable[str],
    outline: Iterable[tuple[int, str]] = (),
    branches: Iterable[tuple[BranchNote, Iterable[str]]] = (),
) -> Iterator[str]:
    """Yield the page of a session in parts; `outline` lists the turns to link to, and other `branches` follow."""
    yield from page_start(about.title, ("page.js",))
    below = _about_line(about) + _branch_list(about) + _outline_list(list(outline))
    yield heading(about.title, tuple(_BUTTONS), below)
    yield "<main>\n"
    yield from body
    for note, fragments in branches:
        name = f"branch-{note.number}"
        yield f'<h2 class="branch" id="{name}"><a href="#{name}">Branch {note.number}</a> {note.origin}</h2>\n'
        yield from fragments
    yield "</main>\n"
    yield from page_end(("page.js",))


def page_start(title: str, scripts: Iterable[str]) -> Iterator[str]:
    """Yield the start of a page, up to its body."""
    style = page_style()
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


def heading(title: str, buttons: Iterable[str], below: str = "") -> str:
    """Return the page header: title and buttons, which the script shows."""
    button_html = "".join(f'<button type="button" data-does="{name}">{_BUTTONS[name]}</button>\n' for name in buttons)
    tools = f'<div class="tools" hidden>\n{button_html}</div>'
    return f"<header>\n{tools}\n<h1>{escape(one_line(title))}</h1>\n{below}</header>\n"


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


def _outline_list(turns: Sequence[tuple[int, str]]) -> str:
    if len(turns) < 2:
        return ""
    items = "".join(
        f'<li value="{number}"><a href="#turn-{number}">{escape(one_line(text, 80)) or "(no text)"}</a></li>\n'
        for number, text in turns
    )
    return f'<details class="outline"><summary>{plural(len(turns), "turn")}</summary>\n<ol>\n{items}</ol></details>\n'
