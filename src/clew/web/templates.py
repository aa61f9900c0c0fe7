"""Render templates, in which every value is escaped, and serve static files."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.report.charts.canvas import asset as chart_asset
from clew.system.design_tokens import token_css
from clew.view.display_time import time_tag
from clew.view.html_page import read_asset
from clew.view.sanitize import format_age, format_size, format_tokens, one_line
from clew.web.access_control import Refusal
from clew.web.preferences import Preferences

_HERE = Path(__file__).parent
_ASSETS = _HERE / "asset"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_SECTIONS = (  # icon and name of the section, address, label
    ("start", "/", "Start"),
    ("sessions", "/sessions", "Sessions"),
    ("search", "/search", "Search"),
    ("files", "/files", "Files"),
    ("usage", "/usage", "Usage"),
    ("settings", "/settings", "Settings"),
)
_STYLES = ("tokens.css", "session.css", "app.css", "chart.css", "palette.css")
_SCRIPTS = ("app.js", "stream.js", "events.js", "palette.js")
_SHARED = {  # files of a kind of page beside those that have its name
    "list": ("rows.css",),
    "palette": ("rows.css",),
    "search": ("rows.css",),
    "start": ("rows.css", "chart.js", "fill.js"),
    "usage": ("chart.js", "fill.js"),
    "charts": ("chart.js",),
    "reader": ("rows.css", "pane.css", "session.js", "pane.js"),
}
_SECTION_OF_KIND = {
    "list": "sessions",
    "reader": "sessions",
    "compare": "sessions",
    "find": "sessions",
    "blame": "files",
    "charts": "sessions",
}  # others have the name of their kind


class StaticFile(NamedTuple):
    """A static file; `mark` is a hash of its content and part of its URL."""

    data: bytes
    type: str
    mark: str


def _static_file(data: bytes, name: str) -> StaticFile:
    return StaticFile(data, _TYPES[Path(name).suffix], hashlib.sha256(data).hexdigest()[:16])


def _load_files() -> dict[str, StaticFile]:
    """Read the static files of the package. `url("{name}")` in a style sheet becomes the address of that file."""
    data = {path.name: path.read_bytes() for path in sorted(_ASSETS.rglob("*")) if path.suffix in _TYPES}
    data |= {name: read_asset(name).encode() for name in ("session.css", "session.js")}
    data |= {"tokens.css": token_css().encode()}
    data |= {name: chart_asset(name).encode() for name in ("chart.css", "chart.js")}
    files = {name: _static_file(content, name) for name, content in data.items() if name != "app.css"}
    css = data["app.css"].decode()
    for name in files:
        css = css.replace(f"{{{name}}}", f"/asset/{files[name].mark}/{name}")
    return {**files, "app.css": _static_file(css.encode(), "app.css")}


class Renderer:
    """Templates and static files, read once. Pages follow the settings."""

    def __init__(self, preferences: Preferences) -> None:
        self._preferences = preferences
        self.files = _load_files()
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "template"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "ago": format_age,
            "one_line": one_line,
            "tokens": format_tokens,
            "size": format_size,
            "age": lambda time: Markup(time_tag(time, text=format_age(time))),
            "moment": lambda time, pattern="%Y-%m-%d %H:%M": Markup(time_tag(time, pattern)),
        }
        self._templates.globals |= {"file": self.address, "sections": _SECTIONS}

    def address(self, name: str) -> str:
        return f"/asset/{self.files[name].mark}/{name}"

    @property
    def template_names(self) -> list[str]:
        return self._templates.list_templates()

    def load(self, template: str) -> None:
        """Compile a template before it is used."""
        self._templates.get_template(template)

    def session_row(self, values: dict[str, Any]) -> Markup:
        """Render a session as a row of a list."""
        return Markup(self._rows.session_row(values))

    @cached_property
    def _rows(self) -> Any:
        return self._templates.get_template("list_row.html").module

    def text(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(values)

    def head(self, request: Request, kind: str, title: str) -> dict[str, Any]:
        """Return the values that every page starts with; its scripts and styles carry the nonce of the request."""
        shared = _SHARED.get(kind, ())
        return {
            "nonce": request.state.nonce,
            "form_token": request.state.form_token,
            "has_pane": request.cookies.get("clew-pane") != "folded",
            "settings": self._preferences.settings,
            "kind": kind,
            "title": title,
            "section": _SECTION_OF_KIND.get(kind, kind),
            "styles": [
                name for name in (*_STYLES, *shared, f"{kind}.css") if name in self.files and name.endswith("css")
            ],
            "scripts": [
                name for name in (*_SCRIPTS, *shared, f"{kind}.js") if name in self.files and name.endswith("js")
            ],
        }

    def page(self, request: Request, kind: str, title: str, status: int = 200, **values: Any) -> Response:
        """Render a complete page with the template of its kind."""
        return HTMLResponse(self.text(f"{kind}.html", **self.head(request, kind, title), **values), status)

    def refusal(self, refusal: Refusal, nonce: str) -> str:
        """Render the page for a browser that is refused. It carries its own style: files are for signed-in browsers."""
        values = {"settings": self._preferences.settings, "nonce": nonce, "refusal": refusal}
        return self.text("refused.html", **values, style=Markup(token_css() + self.files["refused.css"].data.decode()))

    def file(self, mark: str, name: str) -> Response:
        static = self.files.get(name)
        if static is None or static.mark != mark:
            return Response(status_code=404)
        headers = {"Cache-Control": "private, max-age=31536000, immutable"}
        return Response(static.data, media_type=static.type, headers=headers)
