"""The addresses of all pages of the web app, for tests that look at each of them."""

from __future__ import annotations

import re
from html import unescape

import httpx

from clew.demo.demo_tree import DemoSummary


def page_addresses(demo: DemoSummary, client: httpx.Client) -> dict[str, str]:
    """An address for each kind of page, by a short name."""
    session, other = demo.sessions["rounding"], demo.sessions["agents"]
    blame = re.search(r'href="(/blame\?[^"]+)"', client.get("/files").text)
    assert blame, "no file was changed by a session of the demo"
    return {
        "start": "/",
        "list": "/sessions",
        "search": "/search?q=price",
        "ask": "/search",
        "nothing": "/search?q=zzyzxq",
        "reader": f"/session/{session}?thinking=1",
        "agents": f"/session/{other}",
        "charts": f"/session/{session}/charts",
        "choose": "/compare",
        "compare": f"/compare?left={session}&right={other}",
        "files": "/files",
        "blame": unescape(blame[1]),
        "usage": "/usage",
        "settings": "/settings",
        "error": "/nowhere",
    }
