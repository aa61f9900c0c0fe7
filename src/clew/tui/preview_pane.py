"""The pane that shows the selected session: its best passage, or its beginning."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from clew.browse.session_item import SessionItem, as_sentence, display_title, match_pattern, screen_text
from clew.system.plural import plural
from clew.tui.load_rows import Load, Loaded, preview_rows
from clew.tui.row_widget import RowView
from clew.tui.session_figures import SessionFigures


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

    def show(self, hit: SessionItem | None, reveal: bool, figures: SessionFigures | None = None) -> None:
        """Load the preview of a session in a thread; a load that still runs is cancelled."""
        if self._load:
            self._load.cancel()
        self._number += 1
        self._is_fresh = True
        view = self.query_one(PreviewRows)
        if hit is None:
            self.query_one("#about", Static).update("")
            view.show([])
            return
        self.show_facts(hit, reveal, figures)
        view.mark(match_pattern(hit.passages, reveal))
        self._load = Load(self._number, lambda: preview_rows(hit, reveal), self.post_message)

    def show_facts(self, hit: SessionItem, reveal: bool, figures: SessionFigures | None) -> None:
        """Show what is known of a session above its conversation."""
        when = hit.when.astimezone().strftime("%Y-%m-%d %H:%M") if hit.when else ""
        facts = [hit.cwd, hit.branch, when, plural(hit.messages, "message") if hit.messages else ""]
        facts += [plural(figures.turns, "turn"), figures.cost] if figures else []
        line = " · ".join(screen_text(fact, reveal) for fact in (*facts, hit.session[:8]) if fact)
        text = Text(display_title(hit, reveal), "bold")
        text.append(f"\n{line}{f'{chr(10)}{as_sentence(hit.note, reveal)}' if hit.gone else ''}", "not bold")
        self.query_one("#about", Static).update(text)

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
