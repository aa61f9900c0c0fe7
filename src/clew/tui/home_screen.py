"""The first screen: a search, the sessions that answer it, and a preview of the one that is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from clew.tui.preview_pane import Preview
from clew.tui.reader_screen import ReaderScreen
from clew.tui.search_thread import BEST, Building, SearchFailure, SearchFound, understood
from clew.tui.session_item import SessionItem, count_sessions, describe_unlisted, filtered, has_filter, next_since
from clew.tui.session_list import HitList
from clew.tui.virtual_list import Virtual

if TYPE_CHECKING:
    from clew.tui.browser_app import Browser

WAIT = 0.08  # seconds after a key before a search begins
REST = 0.12  # seconds on a session before its preview is read
AGAIN = 20.0  # seconds between two looks for what is new
_PURPOSE = {"archive": "restores", "reconstructed": "shows"}  # of the command for a session whose transcript is gone
WIDE, TALL = 110, 34  # from these columns the preview is on the right, from these lines it is below


class SearchBox(Input):
    """The search box; it keeps the focus while the keys up and down move in the list."""

    app: Browser
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Open", key_display="⏎")]

    def on_key(self, event: events.Key) -> None:
        if event.character == "?" and not self.value:
            event.prevent_default()
            event.stop()
            self.app.action_help()


class HomeScreen(Screen[None]):
    """Type to search."""

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
        Binding("f3", "since", "Since"),
        Binding("f5", "refresh", "Refresh", show=False),
        Binding("f6", "preview", "Preview"),
        Binding("slash", "switch", "Search", show=False),
        Binding("ctrl+r", "app.resume", "Resume", key_display="^r"),
        Binding("r", "app.resume", "Resume", show=False),
        Binding("o", "app.page", "Pager", show=False),
        Binding("O", "app.edit", "Editor", show=False),
        Binding("e", "app.export", "Export", show=False),
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
    HomeScreen.-wide #hits { width: 5fr; }
    HomeScreen.-wide #preview { display: block; width: 6fr; border-left: solid $panel; }
    HomeScreen.-tall #preview { display: block; height: 45%; border-top: solid $panel; }
    HomeScreen.-without #preview { display: none; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.answered = 0
        self._is_again = False
        self._typed: Timer | None = None
        self._rested: Timer | None = None
        self._progress = ""
        self._told = ""

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Static("clew ❯", id="name", markup=False)
            yield SearchBox(placeholder="search all sessions", id="query", compact=True)
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
        self.ask()
        self.set_interval(AGAIN, self.app.seeker.refresh)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width >= WIDE, "-wide")
        self.set_class(event.size.width < WIDE and event.size.height >= TALL, "-tall")
        self._peek()

    # -- asking

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._typed:
            self._typed.stop()
        self._typed = self.set_timer(WAIT, self.ask)

    def ask(self, again: bool = False) -> None:
        """Search for what stands in the box; with `again` for the same as before."""
        self.number += 1
        self._is_again = again
        self.app.seeker.ask(self.number, self.query_text)

    def found(self, message: SearchFound) -> None:
        """An answer; one to an older question is dropped."""
        if message.number != self.number:
            return
        keep = self._is_again or message.number == self.answered
        self.answered = message.number
        self.hits.show(message.hits, keep=keep)
        count = len(message.hits)
        query = understood(self.query_text)
        order = "best first" if query and query.clauses else "newest first"
        many = count_sessions(message.hits, bool(query and query.clauses and count >= BEST))
        self._told = f"{many}, {order}" if count else "Nothing matches." if self.query_text.strip() else "No sessions."
        if message.unlisted:
            self._told += f" · {describe_unlisted(message.unlisted)}"
        if message.instead:
            self._told = f"{many} for {message.instead.strip()} instead"
        self._tell()
        self._peek(now=not keep)

    def failed(self, message: SearchFailure) -> None:
        if message.number not in (self.number, -1):
            return
        self.answered = message.number
        place = f" (at {self.query_text[message.at :].split(' ')[0]})" if message.at >= 0 else ""
        self._told = f"{message.reason}{place}"
        self._tell(bad=True)

    def building(self, message: Building) -> None:
        if message.is_done:
            self._progress = ""
            if message.reason:
                self.failed(SearchFailure(-1, message.reason))
            else:
                self.ask(again=True)
        else:
            share = min(1.0, message.done / message.total) if message.total else 1.0
            is_first = not self._progress
            self._progress = f"reading {message.total / 1e6:.0f} MB {share:.0%}"
            if not is_first and self.answered == self.number and self.query_text.strip():
                self.ask(again=True)
        self._tell(bad=self.query_one("#state").has_class("-bad"))

    def _tell(self, bad: bool = False) -> None:
        state = self.query_one("#state", Static)
        state.set_class(bad, "-bad")
        state.update(" · ".join(part for part in (self._told, self._progress) if part))

    # -- the preview

    def on_virtual_moved(self, event: Virtual.Moved) -> None:
        self._peek()

    def _peek(self, now: bool = False) -> None:
        """Show the chosen session in the preview, once the cursor rests."""
        if self._rested:
            self._rested.stop()
        self._rested = self.set_timer(0.001 if now else REST, self._look)

    def _look(self) -> None:
        preview = self.query_one(Preview)
        if preview.display:
            preview.show(self.hits.current, self.app.reveal)

    # -- keys

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_open()

    def on_virtual_chosen(self, event: Virtual.Chosen) -> None:
        self.action_open()

    def action_open(self) -> None:
        hit = self.hits.current
        if hit and not hit.path:
            self.app.refuse_gone(hit)
        elif hit:
            self.app.push_screen(ReaderScreen(hit, query=bool(hit.passages)))

    def action_list(self, what: str, step: int) -> None:
        hits = self.hits
        if what == "move":
            hits.action_move(step)
        elif what == "page":
            hits.action_page(step)
        elif what == "first":
            hits.action_first()
        else:
            hits.action_last()

    def action_switch(self) -> None:
        box = self.query_one("#query", Input)
        (self.hits if box.has_focus else box).focus()

    def action_project(self) -> None:
        hit = self.hits.current
        if has_filter(self.query_text, "project"):
            self._put(filtered(self.query_text, "project", ""))
        elif hit and hit.project:
            self._put(filtered(self.query_text, "project", hit.project.replace('"', "")))

    def action_since(self) -> None:
        self._put(next_since(self.query_text))

    def _put(self, text: str) -> None:
        box = self.query_one("#query", Input)
        box.value = text
        box.cursor_position = len(text)

    def action_refresh(self) -> None:
        self.app.seeker.refresh()

    def action_preview(self) -> None:
        if self.has_class("-wide") or self.has_class("-tall"):
            self.toggle_class("-without")
        else:
            self.add_class("-tall")
        self._peek(now=True)

    def action_reveal(self) -> None:
        self.app.reveal = not self.app.reveal
        self.hits.reveal = self.app.reveal
        self.hits.redraw()
        self._peek(now=True)

    def on_screen_resume(self) -> None:
        self.hits.reveal = self.app.reveal
        self.hits.redraw()

    def action_copy(self) -> None:
        hit = self.hits.current
        if hit and not hit.command:
            self.app.refuse_gone(hit)
        elif hit:
            self.app.copy_to_clipboard(hit.command)
            self.notify(f"Copied the command that {_PURPOSE.get(hit.gone, 'resumes')} it.")

    def action_back(self) -> None:
        if self.query_text:
            self._put("")
            self.query_one("#query", Input).focus()
        else:
            self.app.exit()

    @property
    def chosen(self) -> SessionItem | None:
        return self.hits.current
