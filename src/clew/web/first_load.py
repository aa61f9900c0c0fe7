"""Load what the first pages need while the browser starts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from clew.view.markdown_html import markdown_to_html
from clew.view.syntax import token_lines
from clew.web.app_state import AppState

LANGUAGES = ("bash", "python", "typescript", "json")  # those of most outputs
_PATIENCE = 2.0  # seconds to wait for the thread when the server ends


@contextmanager
def loading_ahead(state: AppState) -> Iterator[None]:
    """Load templates, summaries, Markdown and colours in a thread; each of them takes long only the first time."""
    ended = threading.Event()
    thread = threading.Thread(target=_load, args=(state, ended), daemon=True, name="clew-load-ahead")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(_PATIENCE)


def _load(state: AppState, ended: threading.Event) -> None:
    state.summaries.refresh()
    for name in state.renderer.template_names:
        if ended.is_set():
            return
        state.renderer.load(name)
    markdown_to_html("*words*")
    for language in LANGUAGES:
        if ended.is_set():
            return
        token_lines("a = 1", language)
