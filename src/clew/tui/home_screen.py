"""The first screen: the search box, the matching sessions, and a preview of the selected one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from clew.browse.search_thread import RefreshProgress, SearchAnswer, parse_typed_query
from clew.browse.session_item import (
    ORDERS,
    SessionItem,
    count_projects,
    count_sessions,
    describe_unlisted,
    filter_value,
    screen_text,
    set_filter,
    sort_items,
)
from clew.index.semantic.semantic_search import is_installed, missing_packages
from clew.system.plural import plural
from clew.tui.choice_dialog import Choice
from clew.tui.preview_pane import Preview
from clew.tui.reader_screen import ReaderScreen
from clew.tui.search_messages import MAX_RESULTS
from clew.tui.session_figures import SessionFigures
from clew.tui.session_list import HitList
from clew.tui.virtual_list import Virtual

if TYPE_CHECKING:
    from clew.tui.browser_app import Browser

SEARCH_DELAY = 0.08  # seconds between the last key and the search
PREVIEW_DELAY = 0.12  # seconds that the cursor rests before the preview is loaded
REFRESH_INTERVAL = 20.0  # seconds between two refreshes of the index
FIGURES_DELAY = 0.25  # seconds that the list rests before turns and costs are counted
TIME_SPANS = (
    ("any time", ""),
    ("today", "today"),
    ("since yesterday", "yesterday"),
    ("the last 7 days", "7d"),
    ("the last 30 days", "30d"),
    ("the last 90 days", "90d"),
    ("this year", "this year"),
    ("last year", "last year..this year"),
)
_PURPOSE = {"archive": "restores", "reconstructed": "shows"}  # what the copied command does if the transcript is gone
WIDE, TALL = 110, 34  # preview on the right from this width on, below from this height on


class SearchBox(Input):
    """The search box. It keeps the focus while Up and Down move through the list."""

    app: Browser
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Open", key_display="⏎")]

    def on_key(self, event: events.Key) -> None:
        if event.character == "?" and not self.value:
            event.prevent_default()
            event.stop()
            self.app.action_help()


class HomeScreen(Screen[None]):
    """Searches all sessions as the user types."""

    app: Browser
    AUTO_FOCUS = "#query"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "list('move', 1)", "Down", show=False),
        Binding("up", "list('move', -1)", "Up", show=False),
        Binding("pagedown", "list('page', 1)", "Page down", show=False),
        Binding("pageup", "list('page', -1)", "Page up", show=False),
        Binding("ctrl+home", "list('first', 0)", "First", show=False),
        Binding("ctrl+end", "list('last', 0)", "Last", show=False),
        Binding("tab", "switch", "List", key_display="⇥", priority=True),
        Binding("f2", "project", "Project"),
        Binding("f3", "time", "Time"),
        Binding("f4", "order", "Order"),
        Binding("f5", "refresh", "Refresh", show=False),
        Binding("f6", "preview", "Preview"),
        Binding("f7", "meaning", "Meaning", show=False),
        Binding("slash", "switch", "Search", show=False),
        Binding("ctrl+r", "app.resume", "Resume", key_display="^r"),
        Binding("r", "app.resume", "Resume", show=False),
        Binding("R", "app.resume_with_flags", "Resume with flags", show=False),
        Binding("o", "app.page", "Pager", show=False),
        Binding("O", "app.edit", "Editor", show=False),
        Binding("e", "app.export", "Export", show=False),
        Binding("c", "app.copy", "Copy", show=False),
        Binding("y", "copy", "Copy the command", show=False),
        Binding("S", "reveal", "Secrets", show=False),
        Binding("f1", "app.help", "Help"),
        Binding("question_mark", "app.help", "Help", show=False),
        Binding("escape", "back", "Quit", key_display="Esc"),
        Binding("q", "app.quit", "Quit", show=False),
    ]
    DEFAULT_CSS = """
    HomeScreen #top { height: 1; background: $panel; }
    HomeScreen #name { width: auto; padding: 0 1; text-style: bold; color: $text-primary; }
    HomeScreen #query { width: 1fr; background: $panel; }
    HomeScreen #state { height: 1; padding: 0 1; color: $muted; text-wrap: nowrap; text-overflow: ellipsis; }
    HomeScreen #state.-bad { color: $text-error; }
    HomeScreen #main { height: 1fr; layout: vertical; }
    HomeScreen #hits { height: 1fr; }
    HomeScreen #preview { display: none; }
    HomeScreen.-wide #main { layout: horizontal; }
    HomeScreen.-wide #hits { width: 1fr; }
    HomeScreen.-wide #preview { display: block; width: 1fr; border-left: solid $panel; }
    HomeScreen.-tall #preview { display: block; height: 45%; border-top: solid $panel; }
    HomeScreen.-without #preview { display: none; }
    """

    def __init__(self, query: str = "") -> None:
        super().__init__()
        self._first_query = query
        self.number = 0
        self.answered = 0
        self._is_again = False
        self._typed: Timer | None = None
        self._rested: Timer | None = None
        self._counted: Timer | None = None
        self._progress = ""
        self._result_text = ""
        self._answer = SearchAnswer()
        self.order = "best"
        self.is_semantic = False

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Static("clew ❯", id="name", markup=False)
            yield SearchBox(self._first_query, placeholder="search all sessions", id="query", compact=True)
        yield Static("", id="state", markup=False)
        with Container(id="main"):
            yield HitList(self.app.clock, id="hits")
            yield Preview(id="preview")
        yield Footer(compact=True, show_command_palette=False)

    @property
    def hits(self) -> HitList:
        return self.query_one("#hits", HitList)

    @property
    def query_text(self) -> str:
        return self.query_one("#query", Input).value

    def on_mount(self) -> None:
        self.search()
        self.set_interval(REFRESH_INTERVAL, self.app.searcher.refresh)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self.set_class(event.size.width < WIDE and event.size.height >= TALL, "-tall")
        self._schedule_preview()

    # -- searching

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._typed:
            self._typed.stop()
        self._typed = self.set_timer(SEARCH_DELAY, self.search)

    def search(self, again: bool = False) -> None:
        """Search for the text of the box; `again` repeats the last query."""
        self.number += 1
        self._is_again = again
        self.app.searcher.search(self.number, self.query_text, self.is_semantic)

    def show_answer(self, number: int, answer: SearchAnswer) -> None:
        """Show the answer to the newest query; those to older ones are dropped."""
        is_late = self._answer.is_semantic and not answer.is_semantic and number == self.answered
        if number != self.number or is_late:
            return
        if answer.reason:
            self.answered = number
            position = f" (at {self.query_text[answer.at :].split(' ')[0]})" if answer.at >= 0 else ""
            self._show_failure(f"{answer.reason}{position}")
            return
        keep = self._is_again or number == self.answered
        self.answered = number
        self._answer = answer
        self._show_sessions(keep)

    def _show_sessions(self, keep: bool) -> None:
        """Show the sessions of the last answer in the chosen order."""
        answer = self._answer
        self.hits.show(sort_items(answer.hits, self.order), keep=keep)
        count = len(answer.hits)
        query = parse_typed_query(self.query_text)
        by_words = bool(query and query.clauses)
        order = ORDERS["newest" if self.order == "best" and not by_words else self.order]
        count_text = count_sessions(answer.hits, bool(query and query.clauses and count >= MAX_RESULTS))
        self._result_text = (
            f"{count_text}, {order}"
            if count
            else "Nothing matches."
            if self.query_text.strip()
            else "No sessions. Create a demo: clew demo DIR"
        )
        if answer.unlisted:
            self._result_text += f" · {describe_unlisted(answer.unlisted)}"
        if self.is_semantic and by_words:
            self._result_text += f" · {answer.meaning_note or 'comparing meanings …'}"
        if answer.instead:
            self._result_text = f"{count_text} for {answer.instead.strip()} instead"
        self._update_state()
        self._schedule_preview(now=not keep)
        self._schedule_figures()

    def _show_failure(self, reason: str) -> None:
        self._result_text = reason
        self._update_state(bad=True)

    def show_progress(self, progress: RefreshProgress) -> None:
        if progress.is_done:
            self._progress = ""
            if progress.reason:
                self._show_failure(progress.reason)
            else:
                self.search(again=True)
        else:
            share = min(1.0, progress.done / progress.total) if progress.total else 1.0
            is_first = not self._progress
            self._progress = f"reading {progress.total / 1e6:.0f} MB {share:.0%}"
            if not is_first and self.answered == self.number and self.query_text.strip():
                self.search(again=True)
        self._update_state(bad=self.query_one("#state").has_class("-bad"))

    def _update_state(self, bad: bool = False) -> None:
        state = self.query_one("#state", Static)
        state.set_class(bad, "-bad")
        state.update(" · ".join(part for part in (self._result_text, self._progress) if part))

    # -- the preview

    def on_virtual_moved(self, event: Virtual.Moved) -> None:
        self._schedule_preview()
        self._schedule_figures()

    def _schedule_figures(self) -> None:
        """Count the turns and costs of the sessions on the screen once the list rests."""
        if self._counted:
            self._counted.stop()
        self._counted = self.set_timer(FIGURES_DELAY, self._count_figures)

    def _count_figures(self) -> None:
        current = self.hits.current
        paths = [item.path for item in (*([current] if current else []), *self.hits.on_screen()) if item.path]
        self.app.figures.request(list(dict.fromkeys(paths)))

    def show_figures(self, path: str, figures: SessionFigures) -> None:
        """Show the turns and the cost of a session in its row and above its preview."""
        self.hits.set_figures(path, figures)
        current = self.hits.current
        if current and current.path == path:
            self.query_one(Preview).show_facts(current, self.app.reveal, figures)

    def _schedule_preview(self, now: bool = False) -> None:
        """Show the selected session in the preview once the cursor rests."""
        if self._rested:
            self._rested.stop()
        self._rested = self.set_timer(0.001 if now else PREVIEW_DELAY, self._show_preview)

    def _show_preview(self) -> None:
        preview = self.query_one(Preview)
        if preview.display:
            hit = self.hits.current
            preview.show(hit, self.app.reveal, self.hits.figures.get(hit.path) if hit else None)

    # -- keys

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_open()

    def on_virtual_chosen(self, event: Virtual.Chosen) -> None:
        self.action_open()

    def action_open(self) -> None:
        hit = self.hits.current
        if hit and not hit.path:
            self.app.notify_gone(hit)
        elif hit:
            self.app.push_screen(ReaderScreen(hit, query=bool(hit.passages)))

    def action_list(self, motion: str, step: int) -> None:
        action = getattr(self.hits, f"action_{motion}")
        action(step) if step else action()

    def action_switch(self) -> None:
        box = self.query_one("#query", Input)
        (self.hits if box.has_focus else box).focus()

    def action_project(self) -> None:
        """List all sessions, then let the user choose one of their projects."""
        self.app.searcher.list_sessions()

    def choose_project(self, sessions: Sequence[SessionItem]) -> None:
        """Let the user choose a project of these sessions; the one of the selected session is proposed."""
        if self.app.screen is not self:
            return
        projects = count_projects(sessions)
        options = [("all projects", "")]
        options += [
            (f"{screen_text(name, True)}  {plural(count, 'session')}", value.replace('"', ""))
            for name, value, count in projects
        ]
        hit = self.hits.current
        names = {name: value for name, value, _ in projects}
        current = names.get(hit.project, "") if hit and not filter_value(self.query_text, "project") else ""

        def choose(value: str | None) -> None:
            if value is not None:
                self._set_query(set_filter(self.query_text, "project", value))

        self.app.push_screen(Choice("Project", options, current), choose)

    def action_time(self) -> None:
        """Let the user choose a time span, or type one."""
        hint = "Or type a time, or two: 2w, october, 2026-01-31, 2026-01..2026-03"

        def choose(value: str | None) -> None:
            if value is not None:
                since, _, until = value.partition("..")
                self._set_query(set_filter(set_filter(self.query_text, "since", since), "until", until))

        since = filter_value(self.query_text, "since")
        self.app.push_screen(Choice("Time", TIME_SPANS, since, hint=hint, takes_text=True), choose)

    def action_order(self) -> None:
        options = [(label, order) for order, label in ORDERS.items()]

        def choose(order: str | None) -> None:
            if order is not None:
                self.order = order
                self._show_sessions(keep=False)

        self.app.push_screen(Choice("Order", options, self.order), choose)

    def _set_query(self, text: str) -> None:
        box = self.query_one("#query", Input)
        box.value = text
        box.cursor_position = len(text)

    def action_refresh(self) -> None:
        self.app.searcher.refresh()

    def action_preview(self) -> None:
        if self.has_class("-wide") or self.has_class("-tall"):
            self.toggle_class("-without")
        else:
            self.add_class("-tall")
        self._schedule_preview(now=True)

    def action_meaning(self) -> None:
        """Search by meaning too, or by words alone again."""
        if is_installed():
            self.is_semantic = not self.is_semantic
            self.search(again=True)
        else:
            error = missing_packages()
            self.notify(f"{error}\n{error.hint}", severity="error", timeout=15, markup=False)

    def action_reveal(self) -> None:
        self.app.reveal = not self.app.reveal
        self.hits.reveal = self.app.reveal
        self.hits.redraw()
        self._schedule_preview(now=True)

    def on_screen_resume(self) -> None:
        self.hits.reveal = self.app.reveal
        self.hits.redraw()

    def action_copy(self) -> None:
        hit = self.hits.current
        if hit and not hit.command:
            self.app.notify_gone(hit)
        elif hit:
            self.app.copy_to_clipboard(hit.command)
            self.notify(f"Copied the command that {_PURPOSE.get(hit.gone, 'resumes')} it.")

    def action_back(self) -> None:
        if self.query_text:
            self._set_query("")
            self.query_one("#query", Input).focus()
        else:
            self.app.exit()

    @property
    def chosen(self) -> SessionItem | None:
        return self.hits.current
