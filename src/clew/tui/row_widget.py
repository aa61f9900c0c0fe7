"""The widget that shows rows, with calls and agents that fold."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import ClassVar

from textual import events

from clew.tui import folding
from clew.tui.markdown_spans import Span
from clew.tui.row_text import RowState, height, layout, mark_matches, spans
from clew.tui.virtual_list import Virtual
from clew.view.row_types import AgentRow, CallRow, PromptRow, Row
from clew.view.sanitize import clean

_STYLES = (
    *(
        "cursor",
        "guide",
        "rule",
        "prompt",
        "knot",
        "queued",
        "reply",
        "heading",
        "code",
        "thinking",
        "call",
        "failed",
        "failure",
    ),
    *("result", "diff", "added", "removed", "note", "meta", "summary", "error", "agent", "interrupt", "compaction"),
    *("plan", "todo", "match", "title", "about"),
    *("italic", "link", "quote", "fence", "keyword", "name", "string", "number", "comment"),
)


class RowView(Virtual):
    """Rows with folds. `shown_rows` are the indices of the rows that no closed fold hides; the cursor counts among
    these.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"row--{name}" for name in _STYLES}
    DEFAULT_CSS = """
    RowView > .row--cursor { background: $cursor; }
    RowView > .row--rule { color: $faint; }
    RowView > .row--guide { color: $faint; }
    RowView > .row--title { text-style: bold; }
    RowView > .row--about { color: $muted; }
    RowView > .row--prompt { background: $prompt; text-style: bold; }
    RowView > .row--knot { background: $prompt; color: $text-accent; text-style: bold; }
    RowView > .row--queued { text-style: bold; }
    RowView > .row--heading { text-style: bold; }
    RowView > .row--code { color: $code; }
    RowView > .row--italic { text-style: italic; }
    RowView > .row--link { text-style: underline; color: $text-primary; }
    RowView > .row--quote { color: $muted; text-style: italic; }
    RowView > .row--fence { color: $faint; }
    RowView > .row--keyword { color: $text-secondary; }
    RowView > .row--name { color: $text-primary; }
    RowView > .row--string { color: $string; }
    RowView > .row--number { color: $number; }
    RowView > .row--comment { color: $muted; text-style: italic; }
    RowView > .row--thinking { color: $muted; text-style: italic; }
    RowView > .row--call { color: $text-primary; }
    RowView > .row--agent { color: $text-secondary; }
    RowView > .row--failed, RowView > .row--failure, RowView > .row--error, RowView > .row--removed {
        color: $text-error;
    }
    RowView > .row--added { color: $text-success; }
    RowView > .row--result, RowView > .row--note, RowView > .row--meta, RowView > .row--summary { color: $muted; }
    RowView > .row--interrupt, RowView > .row--compaction { color: $text-warning; }
    RowView > .row--match { background: $match; color: $foreground; text-style: bold; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: list[Row] = []
        self.shown_rows: list[int] = []
        self.opened: dict[tuple[str, str], bool] = {}
        self.unlimited: set[int] = set()
        self.is_open = False  # whether folds are open by default
        self.has_agents_open = False
        self.pattern: re.Pattern[str] | None = None
        self.turns = 0
        self._match_cache: tuple[int, list[int]] | None = None  # number of rows searched so far, and the matches
        self._heights: dict[tuple[int, RowState], int] = {}
        self._width = 0

    # -- content

    def show(self, rows: Sequence[Row], heights: dict[tuple[int, RowState], int] | None = None) -> None:
        """Show other rows; `heights` are those measured already."""
        self.rows = list(rows)
        self._match_cache = None
        self.turns = sum(isinstance(row, PromptRow) and row.depth == 0 for row in rows)
        self.unlimited.clear()
        self._heights = heights or {}
        self.recompute()

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows. A call that was the last row may have received its result."""
        first = next((i for i in range(len(self.rows) - 1, -1, -1) if self._is_prompt(i)), 0)
        self.rows += rows
        self.turns += sum(isinstance(row, PromptRow) and row.depth == 0 for row in rows)
        unchanged = bisect_left(self.shown_rows, first)
        self.shown_rows = [*self.shown_rows[:unchanged], *folding.visible_rows(self.rows, self.is_fold_open, first)]
        starts = [*self.starts[:unchanged], self.starts[unchanged]]
        starts += accumulate((self._height(i) for i in self.shown_rows[unchanged:]), initial=starts.pop())
        self.set_starts(starts)

    def recompute(self) -> None:
        """Compute again which rows are shown and how high they are; the cursor keeps its row."""
        held = self.row_index
        self.shown_rows = folding.visible_rows(self.rows, self.is_fold_open)
        if held is not None:
            self.cursor = max(0, bisect_right(self.shown_rows, held) - 1)
        self.set_starts(list(accumulate((self._height(index) for index in self.shown_rows), initial=0)))

    def is_fold_open(self, index: int) -> bool:
        """Whether a fold is open."""
        chosen = self.opened.get(self._key(index))
        if chosen is not None:
            return chosen
        row = self.rows[index]
        if isinstance(row, AgentRow) or self.is_open:
            return True
        return self.has_agents_open and any(
            isinstance(r, AgentRow) for r in self.rows[index + 1 : folding.fold_end(self.rows, index)]
        )

    def _key(self, index: int) -> tuple[str, str]:
        """Return the key of a fold; it stays the same when the rows are loaded again."""
        row = self.rows[index]
        return row.kind, (row.id if isinstance(row, CallRow | AgentRow) else "") or str(index)

    def state(self, index: int) -> RowState:
        row = self.rows[index]
        if isinstance(row, folding.FOLDS) and folding.fold_end(self.rows, index) > index + 1:
            return RowState("open" if self.is_fold_open(index) else "closed")
        return RowState(is_full=index in self.unlimited)

    def _height(self, index: int) -> int:
        key = (index, self.state(index))
        lines = self._heights.get(key)
        if lines is None:
            lines = self._heights[key] = height(self.rows[index], self.room, key[1])
        return lines

    def draw(self, index: int, width: int) -> Iterator[list[Span]]:
        real = self.shown_rows[index]
        row = self.rows[real]
        for line in spans(row, layout(row, width, self.state(real)), width):
            yield mark_matches(line, self.pattern)

    def on_resize(self, event: events.Resize) -> None:
        if self.room == self._width:
            return
        self._width = self.room
        self._heights.clear()
        self.recompute()
        if self.pattern is not None and self.row_index in self.matches():
            self.go_match(self.row_index)
        else:
            self.point(self.cursor)

    # -- where the cursor is

    @property
    def row_index(self) -> int | None:
        return self.shown_rows[self.cursor] if self.shown_rows and self.cursor < len(self.shown_rows) else None

    @property
    def row(self) -> Row | None:
        return None if self.row_index is None else self.rows[self.row_index]

    def prompt_index(self) -> int:
        """Return the index of the prompt of the current turn, or 0."""
        at = self.row_index or 0
        return next((i for i in range(at, -1, -1) if self._is_prompt(i)), 0)

    def turn_rows(self) -> list[Row]:
        """Return the rows of the current turn."""
        first = self.prompt_index()
        last = next((i for i in range(first + 1, len(self.rows)) if self._is_prompt(i)), len(self.rows))
        return self.rows[first:last]

    def _is_prompt(self, index: int) -> bool:
        row = self.rows[index]
        return isinstance(row, PromptRow) and row.depth == 0

    # -- moving

    def go(self, index: int, *, line: int = 0) -> None:
        """Move to a row, and open the folds that contain it."""
        hidden = [i for i in folding.enclosing_folds(self.rows, index) if not self.is_fold_open(i)]
        if hidden:
            self.opened.update((self._key(i), True) for i in hidden)
            self.recompute()
        at = bisect_left(self.shown_rows, index)
        self.point(at)
        if isinstance(self.rows[index], PromptRow) and not line:
            self.scroll_to(y=self.starts[at], animate=False)
        elif line:
            self.point(at, line=line)

    def go_prompt(self, step: int) -> None:
        """Move to the next prompt, or to the previous one."""
        at = self.row_index
        if at is None:
            return
        indices = range(at + 1, len(self.rows)) if step > 0 else range(at - 1, -1, -1)
        prompt = next((i for i in indices if self._is_prompt(i)), None)
        if prompt is not None:
            self.go(prompt)

    def toggle(self) -> None:
        """Open or close the fold at the cursor; of a long text show everything, or the first lines again."""
        at = self.row_index
        if at is None:
            return
        if self.state(at).fold:
            self.opened[self._key(at)] = not self.is_fold_open(at)
        elif self.rows[at].limit is not None:
            self.unlimited ^= {at}
        else:
            return
        self.recompute()
        self.point(self.cursor)

    def open_all(self, is_open: bool) -> None:
        self.is_open = is_open
        self.opened.clear()
        self.recompute()
        self.point(self.cursor)

    def clicked(self, index: int, times: int) -> None:
        if times == 1:
            self.toggle()

    # -- finding

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        self.pattern = pattern
        self._match_cache = None
        self.redraw()

    def matches(self) -> list[int]:
        """Return the indices of the rows with a match, including rows in closed folds."""
        if self.pattern is None:
            return []
        done, indices = self._match_cache or (0, [])
        if done < len(self.rows):
            indices += (i for i in range(done, len(self.rows)) if self.pattern.search(clean(self.rows[i].text)))
            self._match_cache = len(self.rows), indices
        return indices

    def go_match(self, index: int) -> None:
        """Move to a row so that its match is on the screen."""
        row = self.rows[index]
        if row.limit is not None and not isinstance(row, folding.FOLDS) and index not in self.unlimited:
            laid_out = layout(row, self.room, RowState())
            if not any(self.pattern and self.pattern.search(line.text) for line in laid_out):
                self.unlimited.add(index)
                self.recompute()
        self.go(index)
        laid_out = layout(row, self.room, self.state(index))
        lines = (at for at, line in enumerate(laid_out) if self.pattern and self.pattern.search(line.text))
        self.go(index, line=next(lines, 0))
