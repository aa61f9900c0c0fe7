"""The screen that shows one session."""

from __future__ import annotations

import re
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec import structs
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Footer, Input, Static

from clew.browse.session_item import SessionItem, display_title, match_pattern, screen_text
from clew.conversation.branches import Branch
from clew.conversation.session import Session
from clew.system.plural import plural
from clew.tui.dialogs import Branches
from clew.tui.load_rows import Load, Loaded, session_rows
from clew.tui.row_text import RowState, height
from clew.tui.row_widget import RowView
from clew.tui.virtual_list import Virtual
from clew.view.depths import DEPTHS
from clew.view.row_markdown import markdown_pieces
from clew.view.row_terminal import plain_lines
from clew.view.row_types import AgentRow, PromptRow, Row
from clew.view.rows import ViewOptions
from clew.view.sanitize import clean
from clew.wire.layout import session_at

if TYPE_CHECKING:
    from clew.tui.browser_app import Browser

LINES = 12  # lines of a result in an open call


class ReaderScreen(Screen[None]):
    """The rows of a session, with keys to fold, find, copy and resume."""

    app: Browser
    AUTO_FOCUS = "#rows"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "fold", "Open", key_display="⏎"),
        Binding("slash", "find", "Find", priority=True),
        Binding("n", "match(1)", "Next match", show=False),
        Binding("N", "match(-1)", "Previous match", show=False),
        Binding("right_square_bracket", "prompt(1)", "Turn", key_display="[ ]"),
        Binding("left_square_bracket", "prompt(-1)", "Previous prompt", show=False),
        Binding("d", "depth", "Depth"),
        Binding("t", "option('thinking')", "Think"),
        Binding("a", "agents", "Agents"),
        Binding("m", "option('meta')", "Meta", show=False),
        Binding("x", "all", "All", show=False),
        Binding("b", "branches", "Branch"),
        Binding("y", "copy('row')", "Copy", show=False),
        Binding("Y", "copy('turn')", "Copy turn", show=False),
        Binding("c", "app.copy", "Copy", show=False),
        Binding("o", "app.page", "Pager", show=False),
        Binding("O", "app.edit", "Editor", show=False),
        Binding("r", "app.resume", "Resume"),
        Binding("R", "app.resume_with_flags", "Resume with flags", show=False),
        Binding("e", "app.export", "Export", show=False),
        Binding("S", "reveal", "Secrets", show=False),
        Binding("question_mark,f1", "app.help", "Help", key_display="?"),
        Binding("q,escape", "back", "Back", key_display="q"),
    ]
    DEFAULT_CSS = """
    ReaderScreen #head { height: 1; background: $panel; }
    ReaderScreen #title { width: 1fr; height: 1; padding: 0 1; text-style: bold; text-wrap: nowrap;
                          text-overflow: ellipsis; }
    ReaderScreen #facts { width: auto; max-width: 50%; height: 1; padding: 0 1; color: $muted; text-wrap: nowrap;
        text-overflow: ellipsis; }
    ReaderScreen #rows { height: 1fr; padding: 0 0 0 1; }
    ReaderScreen #state { height: 1; padding: 0 1; color: $muted; background: $panel; text-wrap: nowrap; }
    ReaderScreen #find { height: 1; display: none; padding: 0 1; background: $boost; }
    """

    def __init__(self, hit: SessionItem, query: bool = False) -> None:
        super().__init__()
        self.hit = hit
        self.session = Session(Path(hit.path))
        self.options = ViewOptions(lines=LINES)
        self.branch: Branch | None = None
        self._search_pattern = match_pattern(hit.passages, False) if query else None
        self._number = 0
        self._load: Load | None = None
        self._waiting: list[Row] | None = None  # rows of a reload, until all are loaded
        self._heights: dict[tuple[int, RowState], int] = {}
        self._is_loading = True
        self._is_all = False
        self._matches: list[int] = []

    def compose(self) -> ComposeResult:
        with Horizontal(id="head"):
            yield Static(display_title(self.hit, self.app.reveal), id="title", markup=False)
            facts = ("the transcript is gone" if self.hit.gone else "", self.hit.project, self.hit.branch)
            about = " · ".join(screen_text(part, True) for part in facts if part)
            yield Static(about, id="facts", markup=False)
        yield RowView(id="rows")
        yield Input(placeholder="find in this session", id="find", compact=True)
        yield Static("", id="state", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    @property
    def view(self) -> RowView:
        return self.query_one("#rows", RowView)

    def on_mount(self) -> None:
        try:
            file = session_at(self.hit.path)
            self.session = Session(file.path, file=file)
        except OSError as error:
            self.notify(f"{self.hit.path}: {error.strerror}", severity="error", markup=False)
        self.view.mark(self._search_pattern)
        self.load()

    def on_unmount(self) -> None:
        if self._load:
            self._load.cancel()

    # -- loading

    def load(self) -> None:
        """Load the rows for the current options. The old rows stay until all new ones are loaded."""
        if self._load:
            self._load.cancel()
        self._number += 1
        self._waiting = [] if self.view.rows else None
        self._heights = {}
        self._is_loading = True
        session, options, branch, reveal = self.session, self.options, self.branch, self.app.reveal
        self._load = Load(self._number, lambda: session_rows(session, options, branch, reveal), self.post_message)
        self.update_state()

    def on_loaded(self, message: Loaded) -> None:
        message.stop()
        if message.number != self._number:
            return
        if self._waiting is not None:
            self._measure(len(self._waiting), message.rows)
            self._waiting += message.rows
            if message.is_done:
                self._swap(self._waiting)
                self._waiting = None
        else:
            self.view.add(message.rows)
        if message.reason:
            self.notify(message.reason, severity="error", markup=False)
        self._is_loading = not message.is_done
        self._go_to_passage(message.is_done)
        self.update_state()

    def _measure(self, first: int, rows: list[Row]) -> None:
        """Measure rows as they arrive, so that the screen does not freeze when they replace the old ones."""
        room = self.view.room
        for index, row in enumerate(rows, first):
            self._heights[index, RowState()] = height(row, room, RowState())

    def _swap(self, rows: list[Row]) -> None:
        """Replace the rows, and keep the cursor at the same point of the conversation."""
        view = self.view
        held, number = view.row, _turn_number(view.rows[view.prompt_index()])
        view.is_open = self._is_all or self.options.level >= 3
        view.show(rows, self._heights)
        first = next((i for i, r in enumerate(rows) if isinstance(r, PromptRow) and r.number == number), 0)
        same = (i for i in range(first, len(rows)) if held and (rows[i].kind, rows[i].text) == (held.kind, held.text))
        at = next(same, first)
        if rows:
            view.go(view.shown_rows[bisect_right(view.shown_rows, at) - 1])
        self._matches = view.matches()

    def _go_to_passage(self, is_done: bool) -> None:
        """Go to the passage that the search found, as soon as its row is loaded."""
        view = self.view
        if self._search_pattern is None or view.pattern is not self._search_pattern:
            return
        best = self.hit.passages[0]
        self._matches = view.matches()
        at = next((i for i in self._matches if best.offset >= 0 and _has_time(view.rows[i], best.time)), None)
        if at is None and is_done and best.offset >= 0:
            at = next(iter(self._matches), None)
        if at is not None or is_done:
            self._search_pattern = None
        if at is not None:
            view.go_match(at)

    # -- the state line

    def update_state(self) -> None:
        """Show the position, the options and the matches in the state line."""
        view = self.view
        if not self.is_mounted:
            return
        number = (_turn_number(view.rows[view.prompt_index()]) if view.rows else 0) or 0
        parts = [f"turn {number} of {view.turns}{'…' if self._is_loading else ''}", self.options.depth]
        parts += [name for name in ("thinking", "meta") if getattr(self.options, name)]
        parts += ["agents"] if view.has_agents_open else []
        parts += [f"branch {self.branch.number}"] if self.branch and not self.branch.is_active else []
        parts += ["secrets shown"] if self.app.reveal else []
        if view.pattern is not None and not self._search_pattern:
            at = self._matches.index(view.row_index) + 1 if view.row_index in self._matches else 0
            many = plural(len(self._matches), "match") if self._matches else "no match"
            parts.append(f"match {at} of {len(self._matches)}" if at else many)
        self.query_one("#state", Static).update(" · ".join(str(part) for part in parts))

    def on_virtual_moved(self, event: Virtual.Moved) -> None:
        self.update_state()

    # -- keys

    def action_fold(self) -> None:
        self.view.toggle()

    def action_all(self) -> None:
        self._is_all = not self.view.is_open
        self.view.open_all(self._is_all)

    def action_prompt(self, step: int) -> None:
        self.view.go_prompt(step)

    def action_depth(self) -> None:
        depth = DEPTHS[(self.options.level + 1) % len(DEPTHS)]
        limit = None if depth == "full" else LINES
        self.options = replace(self.options, depth=depth, lines=limit, diff_lines=None if limit is None else 40)
        self.load()

    def action_option(self, name: str) -> None:
        if name == "thinking":
            self.options = replace(self.options, thinking=not self.options.thinking)
        else:
            self.options = replace(self.options, meta=not self.options.meta)
        self.load()

    def action_agents(self) -> None:
        view = self.view
        view.has_agents_open = not view.has_agents_open
        view.opened.clear()
        view.recompute()
        view.point(view.cursor)
        if not any(isinstance(row, AgentRow) for row in view.rows):
            self.notify("No agents in this session." if not self._is_loading else "Still reading.")
        self.update_state()

    def action_reveal(self) -> None:
        self.app.reveal = not self.app.reveal
        self.query_one("#title", Static).update(display_title(self.hit, self.app.reveal))
        self.load()

    def action_branches(self) -> None:
        if self._is_loading:
            self.notify("Still reading.")
            return
        try:
            branches = self.session.branches
        except OSError:
            branches = ()
        if len(branches) < 2:
            self.notify("This session has one branch.")
            return
        active = next((b.number for b in branches if b.is_active), None)
        screen = Branches(branches, self.branch.number if self.branch else active, self.app.reveal)
        self.app.push_screen(screen, self._switch)

    def _switch(self, branch: Branch | None) -> None:
        if branch is not None:
            self.branch = branch
            self.load()

    def action_copy(self, scope: str) -> None:
        view = self.view
        if view.row is None:
            return
        text = clean(view.row.text) if scope == "row" else "".join(markdown_pieces(view.turn_rows()))
        self.app.copy_to_clipboard(text)
        self.notify(f"Copied {'the row' if scope == 'row' else 'the turn'}, {plural(len(text), 'character')}.")

    def action_back(self) -> None:
        if self.query_one("#find", Input).display:
            self._close_find()
            self.view.mark(None)
            self.update_state()
        else:
            self.app.pop_screen()

    # -- finding

    def action_find(self) -> None:
        box = self.query_one("#find", Input)
        box.display = True
        self.set_focus(box)  # immediately: keys typed ahead belong to the box

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not (action == "find" and isinstance(self.focused, Input))

    def on_input_changed(self, event: Input.Changed) -> None:
        self._search_pattern = None
        self.view.mark(_compile_search(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_find()
        self._matches = self.view.matches()
        self.action_match(0)

    def action_match(self, step: int) -> None:
        """Go to the next row with a match, and wrap at the end; step 0 stays if the cursor is on a match."""
        view = self.view
        self._matches = view.matches()
        if not self._matches:
            self.update_state()
            return
        current = view.row_index or 0
        if step > 0:
            at = next((i for i in self._matches if i > current), self._matches[0])
        elif step < 0:
            at = next((i for i in reversed(self._matches) if i < current), self._matches[-1])
        else:
            at = next((i for i in self._matches if i >= current), self._matches[0])
        view.go_match(at)
        self.update_state()

    def _close_find(self) -> None:
        self.query_one("#find", Input).display = False
        self.set_focus(self.view)

    def text(self) -> str:
        """Return the session as plain text, with every fold open."""
        return "\n".join(line for row in self.view.rows for line in plain_lines(structs.replace(row, limit=None)))


def _has_time(row: Row, time: int | None) -> bool:
    return row.time is not None and time is not None and int(row.time.timestamp()) == time


def _compile_search(text: str) -> re.Pattern[str] | None:
    """Compile a search for literal text; it is case-sensitive only if the text contains capitals."""
    if not text.strip():
        return None
    return re.compile(re.escape(text), 0 if text != text.lower() else re.IGNORECASE)


def _turn_number(row: Row) -> int | None:
    return row.number if isinstance(row, PromptRow) else None
