"""Pages: what stands around fragments, in one file that loads nothing and reads without scripts.

    text = "".join(page(about, fragments(rows), outline))

The page forbids itself everything (a policy in its head) but its own style and script, each named by its hash, and pictures
inside the file. The script only folds, prints and changes between light and dark.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from clew.system.plural import plural
from clew.version import __version__
from clew.view.header import About
from clew.view.row_html import moment
from clew.view.sanitize import one_line

_FOLDER = Path(__file__).with_name("asset")
_BUTTONS = {"open": "Open all", "close": "Close all", "theme": "Light/dark"}


def asset(name: str) -> str:
    """The text of a file that pages need: `style.css`, `page.js`, `search.js`."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def page(about: About, body: Iterable[str], outline: Iterable[tuple[int, str]] = ()) -> Iterator[str]:
    """A page of a session, in pieces as they come; `outline` are the turns that it links to, with their prompts."""
    yield from opened(about.title, ("page.js",))
    yield heading(about.title, tuple(_BUTTONS), _about(about) + _outline(list(outline)))
    yield "<main>\n"
    yield from body
    yield "</main>\n"
    yield from closed(("page.js",))


def opened(title: str, scripts: Iterable[str]) -> Iterator[str]:
    """The beginning of a page, up to its body."""
    style = asset("style.css")
    allowed = " ".join(_hash(asset(name)) for name in scripts) or "'none'"
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
    """What stands above all: a title, and the buttons that the script then shows."""
    made = "".join(f'<button type="button" data-does="{name}">{_BUTTONS[name]}</button>\n' for name in buttons)
    return f'<header>\n<div class="tools" hidden>\n{made}</div>\n<h1>{escape(one_line(title))}</h1>\n{below}</header>\n'


def closed(scripts: Iterable[str]) -> Iterator[str]:
    """The end of a page, with its scripts."""
    yield from (f"<script>{asset(name)}</script>\n" for name in scripts)
    yield "</body>\n</html>\n"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _about(about: About) -> str:
    parts = [escape(one_line(value)) for _, value in about.told]
    when = moment(about.started).strip()
    return f'<p class="about">{" · ".join(part for part in (when, *parts) if part)}</p>\n'


def _outline(turns: Sequence[tuple[int, str]]) -> str:
    if len(turns) < 2:
        return ""
    items = "".join(
        f'<li value="{number}"><a href="#turn-{number}">{escape(one_line(text, 80)) or "(no text)"}</a></li>\n'
        for number, text in turns
    )
    return f'<details class="outline"><summary>{plural(len(turns), "turn")}</summary>\n<ol>\n{items}</ol></details>\n'
