"""A list of items of varying height that draws only the items on the screen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from clew.tui.markdown_spans import Span

CACHE_SIZE = 400  # drawn items that are cached


class Virtual(ScrollView, can_focus=True):
    """A scrollable list with a cursor. `starts` has the first line of each item, and the end of the last one."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup,ctrl+b", "page(-1)", "Page up", show=False),
        Binding("pagedown,ctrl+f", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First", show=False),
        Binding("end,G", "last", "Last", show=False),
    ]
    DEFAULT_CSS = """
    Virtual { overflow-x: hidden; overflow-y: auto; scrollbar-gutter: stable; scrollbar-size-vertical: 1; }
    """

    class Moved(Message):
        """The cursor moved to another item."""

        def __init__(self, sender: Virtual, index: int) -> None:
            super().__init__()
            self.sender, self.index = sender, index

        @property
        def control(self) -> Virtual:
            return self.sender

    class Chosen(Message):
        """An item was chosen, by key or mouse."""

        def __init__(self, sender: Virtual, index: int) -> None:
            super().__init__()
            self.sender, self.index = sender, index

        @property
        def control(self) -> Virtual:
            return self.sender

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.starts: Sequence[int] = (0,)
        self.cursor = 0
        self._drawn: dict[int, list[Strip]] = {}

    # -- defined by the lists

    def draw(self, index: int, width: int) -> Iterable[list[Span]]:
        """Return the lines of an item, as spans of text with the names of their styles."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    @property
    def room(self) -> int:
        """The columns of a line, without the scrollbar."""
        return max(1, self.scrollable_content_region.width)

    def set_starts(self, starts: Sequence[int]) -> None:
        """Show other items; the cursor keeps its index if there is still an item there."""
        self.starts = starts
        self.cursor = max(0, min(self.cursor, self.count - 1))
        self.virtual_size = Size(self.room, starts[-1])
        self.redraw()

    def redraw(self) -> None:
        self._drawn.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drawn.clear()

    # -- drawing

    def render_line(self, y: int) -> Strip:
        line = self.scroll_offset.y + y
        width = self.size.width
        if line >= self.starts[-1]:
            return Strip.blank(width, self.rich_style)
        index = bisect_right(self.starts, line) - 1
        strips = self._strips(index)
        at = line - self.starts[index]
        return strips[at].crop(0, width) if at < len(strips) else Strip.blank(width, self.rich_style)

    def _strips(self, index: int) -> list[Strip]:
        drawn = self._drawn.get(index)
        if drawn is None:
            if len(self._drawn) >= CACHE_SIZE:
                self._drawn.clear()
            over = Style()
            if index == self.cursor and self.can_focus:
                over = Style(bgcolor=self.get_component_rich_style("row--cursor", partial=True).bgcolor)
            drawn = [self._strip(spans, over) for spans in self.draw(index, self.room)]
            self._drawn[index] = drawn
        return drawn

    def _strip(self, spans: list[Span], over: Style) -> Strip:
        """Render a line. The background of the cursor covers every style except `match`."""
        base = self.rich_style
        fill = base + over
        segments = []
        for text, name in spans:
            span_style = self.get_component_rich_style(f"row--{name}", partial=True)
            style = base + over + span_style if name == "match" else base + span_style + over
            segments.append(Segment(text, style))
            if name == "prompt":
                fill = style
        return Strip(segments).adjust_cell_length(self.size.width, fill)

    # -- moving

    def point(self, index: int, *, line: int = 0) -> None:
        """Put the cursor on an item and scroll it (or one of its lines) into view."""
        if not self.count:
            return
        index = max(0, min(index, self.count - 1))
        moved = index != self.cursor
        for stale in (self.cursor, index):
            self._drawn.pop(stale, None)
        self.cursor = index
        self._reveal(self.starts[index] + line, self.starts[index + 1] if not line else self.starts[index] + line + 1)
        self.refresh()
        if moved:
            self.post_message(self.Moved(self, index))

    def _reveal(self, top: int, bottom: int) -> None:
        height = max(1, self.size.height)
        at = self.scroll_offset.y
        if top < at or bottom - top >= height:
            self.scroll_to(y=top, animate=False)
        elif bottom > at + height:
            self.scroll_to(y=bottom - height, animate=False)

    def action_move(self, step: int) -> None:
        """Move to the next item; one that is taller than the screen is scrolled to its end first."""
        if not self.count:
            return
        top, height = self.scroll_offset.y, self.size.height
        start, stop = self.starts[self.cursor], self.starts[self.cursor + 1]
        if step > 0 and start < top + height < stop:
            self.scroll_to(y=top + 1, animate=False)
        elif step < 0 and start < top < stop:
            self.scroll_to(y=top - 1, animate=False)
        elif 0 <= self.cursor + step < self.count:
            self._step(step)

    def _step(self, step: int) -> None:
        """Move to a neighbour; of one that does not fit, show the near end."""
        index = self.cursor + step
        height = self.size.height
        start, stop = self.starts[index], self.starts[index + 1]
        self.point(index)
        if step < 0 and stop - start >= height:
            self.scroll_to(y=stop - height, animate=False)

    def action_page(self, step: int) -> None:
        if not self.count:
            return
        height = max(1, self.size.height - 1)
        top = max(0, min(self.scroll_offset.y + step * height, self.starts[-1] - self.size.height))
        self.scroll_to(y=top, animate=False)
        edge = top if step > 0 else top + self.size.height - 1
        if step < 0 and top == 0:
            edge = 0
        elif step > 0 and top + self.size.height >= self.starts[-1]:
            edge = self.starts[-1] - 1
        index = min(bisect_right(self.starts, edge) - 1, self.count - 1)
        for stale in (self.cursor, index):
            self._drawn.pop(stale, None)
        if index != self.cursor:
            self.cursor = index
            self.post_message(self.Moved(self, index))
        self.refresh()

    def action_first(self) -> None:
        self.point(0)
        self.scroll_to(y=0, animate=False)

    def action_last(self) -> None:
        self.point(self.count - 1)
        self.scroll_to(y=max(0, self.starts[-1] - self.size.height), animate=False)

    def on_click(self, event: events.Click) -> None:
        line = self.scroll_offset.y + event.y
        if not self.can_focus or line >= self.starts[-1]:
            return
        index = bisect_right(self.starts, line) - 1
        self.point(index)
        self.clicked(index, event.chain)

    def clicked(self, index: int, times: int) -> None:
        """React to a click on an item, after the cursor has moved there."""
        if times == 2:
            self.post_message(self.Chosen(self, index))
