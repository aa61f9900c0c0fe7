"""The list of sessions: one line each, and a second one for the best passage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from clew.browse.session_item import SessionItem, display_title, passage_label, passage_text, screen_text
from clew.tui.line_wrap import fit
from clew.tui.markdown_spans import Span
from clew.tui.row_text import overlay
from clew.tui.session_figures import SessionFigures
from clew.tui.virtual_list import Virtual
from clew.view.sanitize import format_age

ROOMY, WIDE = 64, 90  # columns from which a line shows turns and cost, and the branch
PROJECT, BRANCH, TURNS, COST, WHEN = 16, 18, 4, 7, 4  # largest width of these columns


class HitList(Virtual):
    """The sessions that match the query."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("row--cursor", "row--title", "row--about", "row--passage", "row--match", "row--guide", "row--gone"),
    }
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "choose", "Open", key_display="⏎")]
    DEFAULT_CSS = """
    HitList > .row--cursor { background: $cursor; }
    HitList > .row--title { color: $foreground; }
    HitList > .row--about { color: $muted; }
    HitList > .row--passage { color: $foreground; }
    HitList > .row--guide { color: $accent; }
    HitList > .row--gone { color: $text-warning; }
    HitList > .row--match { color: $text-warning; text-style: bold underline; }
    """

    def __init__(self, clock: Callable[[], datetime], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.hits: Sequence[SessionItem] = ()
        self.reveal = False
        self.figures: dict[str, SessionFigures] = {}  # by path
        self._clock = clock
        self._project = self._branch = 0

    @property
    def current(self) -> SessionItem | None:
        return self.hits[self.cursor] if self.hits else None

    def show(self, hits: Sequence[SessionItem], *, keep: bool) -> None:
        """Show other sessions; with `keep` the cursor stays on its session."""
        held = self.current.session if keep and self.current else None
        self.hits = hits
        self._project = min(PROJECT, max((cell_len(hit.project) for hit in hits), default=0))
        self._branch = min(BRANCH, max((cell_len(hit.branch) for hit in hits), default=0))
        height = 2 if any(hit.passages for hit in hits) else 1
        index = next((i for i, hit in enumerate(hits) if hit.session == held), 0) if held else 0
        top = self.scroll_offset.y
        self.cursor = index
        self.set_starts(range(0, len(hits) * height + 1, height))
        if not keep or not index:
            top = 0
        self.scroll_to(y=top, animate=False)
        self.point(index)

    def on_screen(self) -> Sequence[SessionItem]:
        """Return the sessions on the screen."""
        if not self.hits:
            return ()
        height = self.starts[1]
        first = self.scroll_offset.y // height
        return self.hits[first : first + self.size.height // height + 1]

    def set_figures(self, path: str, figures: SessionFigures) -> None:
        """Show the turns and the cost of a session."""
        self.figures[path] = figures
        self.redraw()

    def draw(self, index: int, width: int) -> Iterator[list[Span]]:
        hit = self.hits[index]
        yield self._heading(hit, width, "▌" if index == self.cursor else " ")
        if self.starts[1] == 2:
            yield self._passage(hit, width)

    def _heading(self, hit: SessionItem, width: int, mark: str) -> list[Span]:
        about = "  " + _pad(fit(screen_text(hit.project, True), self._project), self._project)
        if width >= WIDE:
            branch = min(self._branch, width // 8)
            about += "  " + _pad(fit(screen_text(hit.branch, True), branch), branch)
        if width >= ROOMY:
            figures = self.figures.get(hit.path)
            about += f" {f'{figures.turns:,}t' if figures else '':>{TURNS}} {figures.cost if figures else '':>{COST}}"
        about += f" {format_age(hit.when, self._clock()).rjust(WHEN)} "
        flag = "gone  " if hit.gone else ""
        room = width - cell_len(about) - 1 - len(flag)
        title = display_title(hit, self.reveal)
        title_spans = overlay([(_pad(fit(title, room), room), "title")], self._title_marks(hit, title), "match")
        return [(mark, "guide"), (flag, "gone"), *title_spans, (about, "about")]

    def _title_marks(self, hit: SessionItem, title: str) -> list[tuple[int, int]]:
        """Return the ranges of the title that match the query."""
        passage = next((p for p in hit.passages if p.field == "title"), None)
        text, marks = passage_text(passage, self.reveal) if passage else ("", [])
        if text != screen_text(hit.title, self.reveal):
            return []
        skipped = max(0, text.find(title))
        return [(start - skipped, stop - skipped) for start, stop in marks if start >= skipped]

    def _passage(self, hit: SessionItem, width: int) -> list[Span]:
        best = next((p for p in hit.passages if p.field != "title"), None)
        looseness = screen_text(hit.looseness, self.reveal)
        if best is None:
            label = f"   title{looseness and f' · {looseness}'}" if hit.passages else ""
            return [(fit(label, width), "about")]
        text, marks = passage_text(best, self.reveal)
        name = fit(f"   {looseness and f'{looseness} · '}{passage_label(best)}: ", max(8, width // 2))
        room = max(8, width - cell_len(name) - 1)
        first = marks[0][0] if marks else 0
        skip = max(0, min(first - room // 3, len(text) - room)) if cell_len(text) > room else 0
        if skip and (space := text.find(" ", skip, min(first, skip + 16))) >= 0:
            skip = space + 1
        part = ("…" if skip else "") + text[skip:]
        shift = skip - (1 if skip else 0)
        ranges = [(a - shift, b - shift) for a, b in marks if a >= skip]
        return [(name, "about"), *overlay([(fit(part, room), "passage")], ranges, "match")]

    def action_choose(self) -> None:
        if self.hits:
            self.post_message(self.Chosen(self, self.cursor))


def _pad(text: str, width: int) -> str:
    return text + " " * max(0, width - cell_len(text))
