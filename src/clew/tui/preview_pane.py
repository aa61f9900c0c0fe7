"""The pane that shows the selected session: its best passage, or its beginning."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from clew.browse.session_item import SessionItem, as_sentence, match_pattern, screen_text
from clew.system.plural import plural
from clew.tui.load_rows import Load, Loaded, preview_rows
from clew.tui.row_widget import RowView


class PreviewRows(RowView, can_focus=False):
    """Rows without a cursor."""


class Preview(Vertical):
    """The conversation around the best passage of the selected session, or the beginning of it."""

    DEFAULT_CSS = """
    Preview { background: $surface; }
    Preview > #about { height: auto; max-height: 6; padding: 0 1; color: $muted; }
    Preview > PreviewRows { height: 1fr; padding: 0 0 0 1; background: $surface; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._number = 0
        self._load: Load | None = None
        self._is_fresh = True

    def compose(self) -> ComposeResult:
        yield Static("", id="about", markup=False)
        yield PreviewRows(id="preview-rows")

    def show(self, hit: SessionItem | None, reveal: bool) -> None:
        """Load the preview of a session in a thread; a load that still runs is cancelled."""
        if self._load:
            self._load.cancel()
        self._number += 1
        self._is_fresh = True
        about = self.query_one("#about", Static)
        view = self.query_one(PreviewRows)
        if hit is None:
            about.update("")
            view.show([])
            return
        when = hit.when.astimezone().strftime("%Y-%m-%d %H:%M") if hit.when else ""
        facts = [hit.cwd, hit.branch, when, plural(hit.messages, "message") if hit.messages else "", hit.session[:8]]
        title = screen_text(hit.title, reveal) or "(no prompt)"
        note = f"\n{as_sentence(hit.note, reveal)}" if hit.gone else ""
        about.update(f"{title}\n{' · '.join(screen_text(fact, reveal) for fact in facts if fact)}{note}")
        view.mark(match_pattern(hit.passages, reveal))
        self._load = Load(self._number, lambda: preview_rows(hit, reveal), self.post_message)

    def on_loaded(self, message: Loaded) -> None:
        message.stop()
        if message.number != self._number:
            return
        view = self.query_one(PreviewRows)
        if self._is_fresh:
            self._is_fresh = False
            view.is_open = True
            view.cursor = 0
            view.show(message.rows)
            view.scroll_to(y=0, animate=False)
        else:
            view.add(message.rows)
        if message.reason:
            self.query_one("#about", Static).update(message.reason)
        if message.is_done and (matches := view.matches()):
            view.go_match(matches[0])
