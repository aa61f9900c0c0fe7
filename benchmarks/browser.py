"""The browser that pages are opened in: Chromium as it is installed, without a screen and without calls home."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def program() -> str | None:
    return next((path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None)


@contextmanager
def browsing(path: str) -> Iterator[Browser]:
    """A browser. While it is open this thread has an event loop."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=list(FLAGS))
        yield browser
        browser.close()
