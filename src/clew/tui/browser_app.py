"""The terminal browser: its screens, and the actions on the selected session."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from textual.app import App, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.theme import Theme

from clew.browse.search_thread import SearchLocation
from clew.browse.session_item import SessionItem, as_sentence
from clew.conversation.session import Session
from clew.system import design_tokens
from clew.system.environment import terminal_ground
from clew.system.plural import plural
from clew.tui.choice_dialog import Choice
from clew.tui.dialogs import Help, TextDialog
from clew.tui.external_programs import ExternalPrograms, ResumeCommand
from clew.tui.home_screen import HomeScreen
from clew.tui.load_rows import session_rows
from clew.tui.reader_screen import ReaderScreen
from clew.tui.search_messages import IndexProgress, SearchAnswered, SessionsListed, TuiSearch
from clew.tui.session_figures import FigureCounter, FiguresCounted
from clew.view.export_session import export, export_parts, view_options
from clew.view.header import describe_session
from clew.view.mask_rows import MaskCount
from clew.view.row_terminal import plain_lines
from clew.view.rows import ViewOptions
from clew.wire.layout import session_at
from clew.wire.session_writer import create_exactly

FORMATS = (
    ("Markdown", "markdown", ".md"),
    ("HTML page", "html", ".html"),
    ("JSON lines, one for each turn", "json", ".json"),
    ("JSONL, the file as it is (with its secrets)", "jsonl", ".jsonl"),
)
COPIES = (
    ("session id", "id"),
    ("path of the file", "path"),
    ("command that resumes it", "command"),
    ("text of the conversation, as Markdown", "text"),
)


def _make_theme(name: str, tokens: Mapping[str, str]) -> Theme:
    """Return a theme of the design tokens. Colours of text are set, because they would be blended with the ground."""
    own = {"muted": "quiet", "faint": "edge", "cursor": "accent-ground", "prompt": "prompt"}
    own |= {"match": "mark", "code": "code-number", "string": "code-string", "number": "code-number"}
    own |= {"text-primary": "link", "text-secondary": "code-keyword", "text-accent": "accent"}
    own |= {"text-warning": "warn", "text-error": "bad", "text-success": "good"}
    return Theme(
        name=f"clew-{name}",
        primary=tokens["link"],
        secondary=tokens["code-keyword"],
        accent=tokens["accent"],
        warning=tokens["warn"],
        error=tokens["bad"],
        success=tokens["good"],
        foreground=tokens["text"],
        background=tokens["ground"],
        surface=tokens["raised"],
        panel=tokens["line"],
        dark=name == "dark",
        variables={role: tokens[token] for role, token in own.items()},
    )


DARK = _make_theme("dark", design_tokens.DARK)
LIGHT = _make_theme("light", design_tokens.LIGHT)


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
        self.figures = FigureCounter(location, self.post_message)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return our own colours. They are opaque, because lines that we draw ourselves are not blended."""
        return DARK.variables

    def on_mount(self) -> None:
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = LIGHT.name if terminal_ground() == "light" else DARK.name
        self.push_screen(self.home)
        self.searcher.start()

    def on_unmount(self) -> None:
        self.searcher.stop()
        self.figures.stop()

    # -- messages from the search threads

    @property
    def _is_home_complete(self) -> bool:
        """Whether the parts of the first screen are there: when the application ends they go first, and threads still
        post messages.
        """
        return len(self.home.query("#query, #state, #hits, #preview")) == 4

    def on_search_answered(self, message: SearchAnswered) -> None:
        if self._is_home_complete:
            self.home.show_answer(message.number, message.answer)

    def on_sessions_listed(self, message: SessionsListed) -> None:
        if self._is_home_complete and not message.answer.is_partial:
            self.home.choose_project(message.answer.hits)

    def on_figures_counted(self, message: FiguresCounted) -> None:
        if self._is_home_complete:
            self.home.show_figures(message.path, message.figures)

    def on_index_progress(self, message: IndexProgress) -> None:
        if self._is_home_complete:
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

    def action_resume_with_flags(self) -> None:
        """Resume the session with flags for `claude` that the user types."""
        hit = self.chosen
        if hit is None:
            return
        if hit.gone:
            self.notify_gone(hit)
            return

        def resume(text: str | None) -> None:
            if text is None:
                return
            try:
                self.exit(ResumeCommand(hit.session, hit.cwd, tuple(shlex.split(text))))
            except ValueError as error:
                self.notify(f"The flags cannot be read: {error}.", severity="error", markup=False)

        hint = "For example --model opus, or --fork-session. Enter resumes, Esc cancels."
        self.push_screen(TextDialog("Flags for claude:", "", hint, may_be_empty=True), resume)

    def action_copy(self) -> None:
        """Copy the id, the path, the command or the text of the session."""
        if self.chosen is not None:
            self.push_screen(Choice("Copy", COPIES), self._copy)

    def _copy(self, kind: str | None) -> None:
        hit = self.chosen
        if kind is None or hit is None:
            return
        try:
            text = {"id": hit.session, "path": hit.path, "command": hit.command}.get(kind)
            if text is None and hit.path:
                text = export(_load_session(hit), "markdown", reveal=self.reveal)
        except OSError as error:
            self.notify(f"{hit.path}: {error.strerror}", severity="error", markup=False)
            return
        if not text:
            self.notify_gone(hit)
            return
        self.copy_to_clipboard(text)
        self.notify(f"Copied the {kind}, {plural(len(text), 'character')}.")

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
        """Write the session to a new file, in a format and with a name that the user chooses."""
        hit = self.chosen
        if hit is None:
            return
        if not hit.path:
            self.notify_gone(hit)
            return

        def choose_name(format: str | None) -> None:
            if format is None:
                return
            if format == "jsonl" and not self.reveal:
                self.notify("The file as it is contains its secrets. Show them first with S.", severity="warning")
                return
            suffix = next(suffix for _, name, suffix in FORMATS if name == format)
            heading = (
                "Export to a new file (secrets are shown):" if self.reveal else "Export to a new file (secrets masked):"
            )
            self.push_screen(
                TextDialog(heading, f"{hit.session[:8]}{suffix}"), lambda name: self._write_export(hit, format, name)
            )

        self.push_screen(Choice("Export as", [(label, format) for label, format, _ in FORMATS]), choose_name)

    def _write_export(self, hit: SessionItem, format: str, name: str | None) -> None:
        if name is None:
            return
        try:
            session = _load_session(hit)
            counter = None if self.reveal else MaskCount()
            options = view_options("calls", thinking=False, agents=True)
            header = describe_session(session, counter)
            path = create_exactly(Path(name).expanduser(), export_parts(session, format, header, options, counter))
        except OSError as error:
            self.notify(f"{name}: {error.strerror}", severity="error", markup=False)
            return
        self.notify(f"Wrote {path}", markup=False)

    def action_help(self) -> None:
        self.push_screen(Help())

    def action_theme(self) -> None:
        self.theme = LIGHT.name if self.theme == DARK.name else DARK.name


def _load_session(hit: SessionItem) -> Session:
    file = session_at(hit.path)
    return Session(file.path, file=file)
