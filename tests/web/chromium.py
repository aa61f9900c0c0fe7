"""A real Chromium, driven by Playwright. In CI a machine without one fails; elsewhere these tests are listed as not run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks import browser
from benchmarks.browser import program
from benchmarks.served import Served


def browsing() -> AbstractContextManager[Browser]:
    """A browser, or a skip; in CI a failure. It has to be closed with the module that uses it."""
    path = program()
    if path is None:
        reason = "Chromium is not installed; scripts/prepare-tests does that"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return browser.browsing(path)


@dataclass
class Heard:
    """What a browser did that a page of ours never has it do."""

    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def listen(self, page: Page, base: str) -> None:
        def dialog(found: Any) -> None:
            self.dialogs.append(found.message)
            found.dismiss()

        page.on("dialog", dialog)
        page.on("console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda asked: None if self._is_ours(asked.url, base) else self.strangers.append(asked.url))
        page.on("popup", lambda opened: self.strangers.append(opened.url))

    @staticmethod
    def _is_ours(address: str, base: str) -> bool:
        return address.startswith((f"{base}/", "data:"))

    def nothing(self) -> bool:
        assert (self.dialogs, self.errors, self.strangers) == ([], [], [])
        return True


@contextmanager
def visiting(chromium: Browser, served: Served, **options: Any) -> Iterator[tuple[Page, Heard]]:
    """A page in a context of its own, let in by the address that was printed; it must have nothing to complain of."""
    context: BrowserContext = chromium.new_context(**options)
    context.set_default_timeout(30_000)
    page, heard = context.new_page(), Heard()
    heard.listen(page, served.base)
    answer = page.goto(served.entrance)
    assert answer is not None and answer.ok, answer and answer.text()
    served.entrance = served.next_entrance()
    yield page, heard
    context.close()
    heard.nothing()


def accessible(page: Page, *, colours: bool | None = None) -> list[str]:
    """Serious findings of axe, as lines; none if all is well. `colours` asks for the contrast alone, or for the rest."""
    only = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
    rest = {"rules": {"color-contrast": {"enabled": False}}}
    options = None if colours is None else only if colours else rest
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
