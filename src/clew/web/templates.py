"""Render templates, in which every value is escaped, and serve static files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.view.html_page import read_asset
from clew.view.sanitize import format_age, format_size, format_tokens, one_line

_HERE = Path(__file__).parent
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

_ASSETS = ("web.css", "web.js", "list.js", "reader.js")


class StaticFile(NamedTuple):
    """A static file; `mark` is a hash of its content and part of its URL."""

    data: bytes
    type: str
    mark: str


def _static_file(text: str, name: str) -> StaticFile:
    data = text.encode()
    return StaticFile(data, _TYPES[Path(name).suffix], hashlib.sha256(data).hexdigest()[:16])


class Renderer:
    """Templates and static files, read once."""

    def __init__(self) -> None:
        texts = {name: (_HERE / "asset" / name).read_text(encoding="utf-8") for name in _ASSETS}
        self.files = {
            name: _static_file(text, name) for name, text in {**texts, "style.css": read_asset("style.css")}.items()
        }
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
        }
        self._templates.globals["file"] = self.address

    def address(self, name: str) -> str:
        return f"/asset/{self.files[name].mark}/{name}"

    def text(self, template: str, **values: Any) -> str:
        return self._templates.get_template(template).render(values)

    def head(self, request: Request, kind: str, title: str) -> dict[str, Any]:
        """Return the values that every page starts with; its scripts and styles carry the nonce of the request."""
        scripts = ("web.js", *(name for name in (f"{kind}.js",) if name in self.files))
        return {"nonce": request.state.nonce, "kind": kind, "title": title, "scripts": scripts}

    def page(self, request: Request, kind: str, title: str, status: int = 200, **values: Any) -> Response:
        """Render a complete page with the template of its kind."""
        return HTMLResponse(self.text(f"{kind}.html", **self.head(request, kind, title), **values), status)

    def file(self, mark: str, name: str) -> Response:
        static = self.files.get(name)
        if static is None or static.mark != mark:
            return Response(status_code=404)
        headers = {"Cache-Control": "private, max-age=31536000, immutable"}
        return Response(static.data, media_type=static.type, headers=headers)
