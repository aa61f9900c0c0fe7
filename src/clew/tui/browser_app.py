"""The terminal browser: its screens, and the actions on the selected session."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.theme import Theme

from clew.browse.search_thread import SearchLocation
from clew.browse.session_item import SessionItem, as_sentence
from clew.conversation.session import Session
from clew.tui.dialogs import FileName, Help
from clew.tui.external_programs import ExternalPrograms, ResumeCommand
from clew.tui.home_screen import HomeScreen
from clew.tui.load_rows import session_rows
from clew.tui.reader_screen import ReaderScreen
from clew.tui.search_messages import IndexProgress, SearchAnswered, TuiSearch
from clew.version import JSON_SCHEMA
from clew.view.row_terminal import plain_lines
from clew.view.rows import ViewOptions
from clew.view.turn_json import session_document
from clew.wire.layout import session_at
from clew.wire.session_writer import create

DARK = Theme(
    name="clew-dark",
    primary="#5f87af",
    secondary="#af87af",
    accent="#87afaf",
    warning="#d7af5f",
    error="#d75f5f",
    success="#87af5f",
    foreground="#d0d0d0",
    background="#1c1c1c",
    surface="#212121",
    panel="#2e3236",
    dark=True,
    variables={"muted": "#949494", "faint": "#6c6c6c", "cursor": "#364756", "prompt": "#2b333b"},
)
LIGHT = Theme(
    name="clew-light",
    primary="#005f87",
    secondary="#875f87",
    accent="#00707a",
    warning="#af8700",
    error="#af0000",
    success="#3f7a00",
    foreground="#303030",
    background="#fafafa",
    surface="#f4f4f2",
    panel="#e2e4e4",
    dark=False,
    variables={"muted": "#5f5f5f", "faint": "#9a9a9a", "cursor": "#bcd3e3", "prompt": "#e3ecf2"},
)


class Browser(App[ResumeCommand]):
    """The browser application. It exits with the session to resume, if the user chose one."""

    TITLE = "clew"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+t", "theme", "Light or dark", show=False),
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
    ]
    CSS = """
    HomeScreen, ReaderScreen { background: $background; }
    Footer { background: $panel; }
    Input { scrollbar-size-horizontal: 0; }
    """

    def __init__(
        self,
        location: SearchLocation,
        query: str = "",
        *,
        programs: ExternalPrograms | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__()
        self.programs = programs or ExternalPrograms()
        self.clock = clock
        self.reveal = False
        self.home = HomeScreen(query)
        self.searcher = TuiSearch(location, self.post_message, clock)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our own colours. They are opaque, because lines that we draw ourselves are not blended."""
        return DARK.variables

    def on_mount(self) -> None:
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name
        self.push_screen(self.home)
        self.searcher.start()

    def on_unmount(self) -> None:
        self.searcher.stop()

    # -- messages from the search threads

    def on_search_answered(self, message: SearchAnswered) -> None:
        self.home.show_answer(message.number, message.answer)

    def on_index_progress(self, message: IndexProgress) -> None:
        self.home.show_progress(message.progress)

    # -- actions on the selected or open session

    @property
    def chosen(self) -> SessionItem | None:
        reader = self._reader
        return reader.hit if reader else self.home.chosen

    @property
    def _reader(self) -> ReaderScreen | None:
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, ReaderScreen)), None)

    def notify_gone(self, hit: SessionItem) -> None:
        """Show that the transcript of a session is gone, and what can be done about it."""
        self.notify(as_sentence(hit.note, self.reveal), severity="warning", markup=False)

    def action_resume(self) -> None:
        hit = self.chosen
        if hit and hit.gone:
            self.notify_gone(hit)
        elif hit:
            self.exit(ResumeCommand(hit.session, hit.cwd))

    def action_page(self) -> None:
        """Show the session as plain text in the pager."""
        hit, reader = self.chosen, self._reader
        if hit is None:
            return
        if not hit.path:
            self.notify_gone(hit)
            return
        try:
            if reader:
                text = reader.text()
            else:
                rows = session_rows(_load_session(hit), ViewOptions(), None, self.reveal)
                text = "\n".join(line for row in rows for line in plain_lines(row))
        except OSError as error:
            self.notify(f"{hit.path}: {error.strerror}", severity="error", markup=False)
            return
        self._run_program(self.programs.pager, text)

    def action_edit(self) -> None:
        """Open the session file in the editor."""
        hit = self.chosen
        if hit and hit.gone:
            self.notify_gone(hit)
        elif hit:
            self._run_program((*self.programs.editor, hit.path), None)

    def _run_program(self, arguments: tuple[str, ...], text: str | None) -> None:
        """Run another program in the terminal until it ends."""
        try:
            with self.suspend():
                code = self.programs.run(arguments, text)
        except SuspendNotSupported:
            code = self.programs.run(arguments, text)
        self.refresh(layout=True)
        if code == 127:
            self.notify(f"{arguments[0]} is not on the path.", severity="error", markup=False)

    def action_export(self) -> None:
        """Write the session as JSON lines to a new file that the user names."""
        hit = self.chosen
        if hit is None:
            return
        if not hit.path:
            self.notify_gone(hit)
            return

        def write(name: str | None) -> None:
            if name is None:
                return
            try:
                values = (
                    {"clew": JSON_SCHEMA, **value} for value in session_document(_load_session(hit), not self.reveal)
                )
                path = create(Path(name).expanduser(), values)
                self.notify(f"Wrote {path}", markup=False)
            except OSError as error:
                self.notify(f"{name}: {error.strerror}", severity="error", markup=False)

        self.push_screen(FileName(f"{hit.session[:8]}.json"), write)

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_theme(self) -> None:
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name


def _load_session(hit: SessionItem) -> Session:
    file = session_at(hit.path)
    return Session(file.path, file=file)
