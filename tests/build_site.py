"""`make site`: build the documentation as static pages in build/site, and check every link and anchor.

python -m tests.build_site [FOLDER]

The pages need no network and no scripts. A link that leads nowhere is an error.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.generate_docs import DOCS, ROOT

TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
STYLE = """
:root { color-scheme: light dark }
:root { --text: #1c2126; --faint: #5c6670; --line: #d8dde2; --code: #f4f6f8; --link: #0b5cad; --page: #fff }
@media (prefers-color-scheme: dark) {
  :root { --text: #dfe3e8; --faint: #98a2ad; --line: #343b43; --code: #1e242b; --link: #7ab8ff; --page: #14181d }
}
* { box-sizing: border-box }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--text); background: var(--page) }
a { color: var(--link) }
.layout { display: grid; grid-template-columns: 15rem minmax(0, 54rem); gap: 3rem }
.layout { max-width: 76rem; margin: auto; padding: 1.5rem }
main { grid-column: 2; grid-row: 1 } .jump { display: none }
nav { position: sticky; top: 1.5rem; align-self: start; max-height: calc(100vh - 3rem); overflow: auto; font-size: 0.875rem }
nav b { display: block; margin: 0.9rem 0 0.2rem; font-weight: 600 }
nav a { display: block; padding: 0.1rem 0; text-decoration: none; color: var(--faint) }
nav a[aria-current], nav a:hover { color: var(--link) }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 1rem }
h2 { font-size: 1.25rem; margin: 2.2rem 0 0.6rem } h3 { font-size: 1.05rem }
code { font: 0.875em/1.45 ui-monospace, monospace; background: var(--code); padding: 0.1em 0.3em; border-radius: 3px }
pre { background: var(--code); padding: 0.8rem 1rem; overflow-x: auto; border-radius: 6px }
pre code { padding: 0; background: none; font-size: 0.8125rem }
.table { overflow-x: auto } table { border-collapse: collapse; font-size: 0.9375rem }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.9rem 0.35rem 0; border-bottom: 1px solid var(--line) }
img { max-width: 100%; height: auto; border: 1px solid var(--line); border-radius: 6px }
@media (max-width: 52rem) {
  .layout { display: block; padding: 1rem } .jump { display: block; margin-bottom: 1rem }
  nav { position: static; max-height: none; margin-top: 2rem; border-top: 1px solid var(--line); font-size: 1rem }
}
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><link rel="stylesheet" href="style.css"></head>
<body><div class="layout"><main><a class="jump" href="#pages">All pages</a>
{body}</main><nav id="pages" aria-label="Pages">{nav}</nav></div></body></html>
"""


def page_name(path: Path) -> str:
    """The name of a page on the site: `docs/find.md` is find.html, the README of the project index.html."""
    if path.name == "README.md":
        return "index.html" if path.parent == ROOT else "docs.html"
    return f"{path.stem}.html"


def anchor(title: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-")


def render(path: Path, pages: Sequence[Path]) -> tuple[str, str]:
    """Render a page. Return its title and its HTML, with links to the other pages and images of the site."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(path.read_text(encoding="utf-8"))
    title = ""
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            text = re.sub(r"[`*]", "", tokens[number + 1].content)
            title = title or text
            token.attrSet("id", anchor(text))
        for child in token.children or ():
            _retarget(child, path, pages)
    body = markdown.renderer.render(tokens, markdown.options, {})
    body = body.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    return title, body


def _retarget(token: Token, path: Path, pages: Sequence[Path]) -> None:
    name = {"link_open": "href", "image": "src"}.get(token.type)
    target = str(token.attrs.get(name or "", ""))
    if not name or not target or "://" in target or target.startswith("#"):
        return
    file, mark, fragment = target.partition("#")
    other = (path.parent / file).resolve()
    token.attrSet(name, f"{page_name(other) if other in pages else other.name}{mark}{fragment}")


def navigation(current: str, pages: Sequence[Path]) -> Iterator[str]:
    """The links of the index in docs/README.md, by task."""
    yield f'<a href="index.html"{" aria-current=page" if current == "index.html" else ""}>Overview</a>'
    yield f'<a href="install.html"{" aria-current=page" if current == "install.html" else ""}>Install</a>'
    known = {page_name(page) for page in pages}
    for row in (DOCS / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if row.startswith("| reference"):
            yield "<b>reference</b>"
        elif row.startswith("|") and "](" in row:
            links = [(text, f"{file}.html") for text, file in re.findall(r"\[([^]]+)\]\(([a-z-]+)\.md\)", row)]
            if "](" not in cells[0]:
                yield f"<b>{html.escape(cells[0])}</b>"
            for text, file in links:
                assert file in known, file
                yield f'<a href="{file}"{" aria-current=page" if current == file else ""}>{html.escape(text)}</a>'


def build(folder: Path) -> list[str]:
    """Write the site to an empty or new folder. Return the problems: links to pages, files or anchors that do not exist."""
    pages = [*(ROOT / name for name in TOP), *sorted(DOCS.glob("*.md"))]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "style.css").write_text(STYLE.lstrip(), encoding="utf-8")
    for picture in (*DOCS.glob("*.svg"), *DOCS.glob("*.png"), DOCS / "clew.1"):
        shutil.copy(picture, folder)
    for path in pages:
        title, body = render(path, pages)
        name = page_name(path)
        text = PAGE.format(title=html.escape(title), nav="".join(navigation(name, pages)), body=body)
        (folder / name).write_text(text, encoding="utf-8")
    return sorted(broken_links(folder))


def broken_links(folder: Path) -> set[str]:
    """Every link of the built pages whose file or anchor is not there."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.html")}
    anchors = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in texts.items()}
    found: set[str] = set()
    for name, text in texts.items():
        for link in map(html.unescape, re.findall(r'\b(?:href|src)="([^"]+)"', text)):
            file, _, fragment = link.partition("#")
            other = file or name
            if "://" in link:
                continue
            if not (folder / other).is_file() or (fragment and fragment not in anchors.get(other, set())):
                found.add(f"{name}: {link}")
    return found


def main(arguments: Sequence[str]) -> int:
    folder = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    problems = build(folder)
    for problem in problems:
        print(f"broken link in {problem}", file=sys.stderr)
    print(folder / "index.html")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
