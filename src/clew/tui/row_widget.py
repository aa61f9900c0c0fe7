"""The rows of a session on the screen, with calls and agents that fold."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import ClassVar

from textual import events

from clew.tui import folding
from clew.tui.row_text import RowState, Span, height, layout, marked, spans
from clew.tui.virtual_list import Virtual
from clew.view.rows import Row
from clew.view.sanitize import clean

_STYLES = (
    *(
        "cursor",
        "guide",
        "rule",
        "prompt",
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
)


class RowView(Virtual):
    """Rows of the view. `seen` are the indices of those that no fold hides; the cursor counts among these."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"row--{name}" for name in _STYLES}
    DEFAULT_CSS = """
    RowView > .row--cursor { background: $cursor; }
    RowView > .row--rule { color: $faint; }
    RowView > .row--guide { color: $faint; }
    RowView > .row--title { text-style: bold; }
    RowView > .row--about { color: $muted; }
    RowView > .row--prompt { background: $prompt; text-style: bold; }
    RowView > .row--queued { text-style: bold; }
    RowView > .row--heading { text-style: bold; }
    RowView > .row--code { color: $text-accent; }
    RowView > .row--thinking { color: $muted; text-style: italic; }
    RowView > .row--call { color: $text-primary; }
    RowView > .row--agent { color: $text-secondary; }
    RowView > .row--failed, RowView > .row--failure, RowView > .row--error, RowView > .row--removed {
        color: $text-error;
    }
    RowView > .row--added { color: $text-success; }
    RowView > .row--result, RowView > .row--note, RowView > .row--meta, RowView > .row--summary { color: $muted; }
    RowView > .row--interrupt, RowView > .row--compaction { color: $text-warning; }
    RowView > .row--match { background: $warning; color: $background; text-style: bold; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows: list[Row] = []
        self.seen: list[int] = []
        self.opened: dict[tuple[str, str], bool] = {}
        self.whole: set[int] = set()
        self.is_open = False  # whether folds are open unless told otherwise
        self.has_agents_open = False
        self.pattern: re.Pattern[str] | None = None
        self.turns = 0
        self._found: tuple[int, list[int]] | None = None  # how many rows have been looked through, and the matches
        self._heights: dict[tuple[int, RowState], int] = {}
        self._width = 0

    # -- what is shown

    def show(self, rows: Sequence[Row], heights: dict[tuple[int, RowState], int] | None = None) -> None:
        """Take on other rows; what has been measured of them already need not be again."""
        self.rows = list(rows)
        self._found = None
        self.turns = sum(row.kind == "prompt" and row.depth == 0 for row in rows)
        self.whole.clear()
        self._heights = heights or {}
        self.settle()

    def add(self, rows: Sequence[Row]) -> None:
        """More rows at the end. A call that was the last may have got its result."""
        first = next((i for i in range(len(self.rows) - 1, -1, -1) if self._is_prompt(i)), 0)
        self.rows += rows
        self.turns += sum(row.kind == "prompt" and row.depth == 0 for row in rows)
        kept = bisect_left(self.seen, first)
        self.seen = [*self.seen[:kept], *folding.seen(self.rows, self.opens, first)]
        starts = [*self.starts[:kept], self.starts[kept]]
        starts += accumulate((self._height(i) for i in self.seen[kept:]), initial=starts.pop())
        self.place(starts)

    def settle(self) -> None:
        """Find out again which rows are seen and how high they are; the cursor keeps its row."""
        held = self.row_index
        self.seen = folding.seen(self.rows, self.opens)
        if held is not None:
            self.cursor = max(0, bisect_right(self.seen, held) - 1)
        self.place(list(accumulate((self._height(index) for index in self.seen), initial=0)))

    def opens(self, index: int) -> bool:
        """Whether a fold is open."""
        told = self.opened.get(self._key(index))
        if told is not None:
            return told
        row = self.rows[index]
        if row.kind == "agent" or self.is_open:
            return True
        return self.has_agents_open and any(
            r.kind == "agent" for r in self.rows[index + 1 : folding.end(self.rows, index)]
        )

    def _key(self, index: int) -> tuple[str, str]:
        """What a fold is known by, also when the rows are made anew."""
        row = self.rows[index]
        return row.kind, str(row.facts.get("id") or index)

    def state(self, index: int) -> RowState:
        row = self.rows[index]
        if row.kind in ("call", "agent") and folding.end(self.rows, index) > index + 1:
            return RowState("open" if self.opens(index) else "closed")
        return RowState(whole=index in self.whole)

    def _height(self, index: int) -> int:
        key = (index, self.state(index))
        found = self._heights.get(key)
        if found is None:
            found = self._heights[key] = height(self.rows[index], self.room, key[1])
        return found

    def draw(self, index: int, width: int) -> Iterator[list[Span]]:
        real = self.seen[index]
        row = self.rows[real]
        for line in spans(row, layout(row, width, self.state(real))):
            yield marked(line, self.pattern)

    def on_resize(self, event: events.Resize) -> None:
        if self.room == self._width:
            return
        self._width = self.room
        self._heights.clear()
        self.settle()
        if self.pattern is not None and self.row_index in self.matches():
            self.go_match(self.row_index)
        else:
            self.point(self.cursor)

    # -- where the cursor is

    @property
    def row_index(self) -> int | None:
        return self.seen[self.cursor] if self.seen and self.cursor < len(self.seen) else None

    @property
    def row(self) -> Row | None:
        return None if self.row_index is None else self.rows[self.row_index]

    def prompt_index(self) -> int:
        """The prompt that the cursor's row came of, or the beginning."""
        at = self.row_index or 0
        return next((i for i in range(at, -1, -1) if self._is_prompt(i)), 0)

    def turn_rows(self) -> list[Row]:
        """The rows of the turn that the cursor is in."""
        first = self.prompt_index()
        last = next((i for i in range(first + 1, len(self.rows)) if self._is_prompt(i)), len(self.rows))
        return self.rows[first:last]

    def _is_prompt(self, index: int) -> bool:
        row = self.rows[index]
        return row.kind == "prompt" and row.depth == 0

    # -- going somewhere

    def go(self, index: int, *, line: int = 0) -> None:
        """To a row, through the folds it lies in."""
        hidden = [i for i in folding.around(self.rows, index) if not self.opens(i)]
        if hidden:
            self.opened.update((self._key(i), True) for i in hidden)
            self.settle()
        at = bisect_left(self.seen, index)
        self.point(at)
        if self.rows[index].kind == "prompt" and not line:
            self.scroll_to(y=self.starts[at], animate=False)
        elif line:
            self.point(at, line=line)

    def go_prompt(self, step: int) -> None:
        """To the next prompt, or the one before."""
        at = self.row_index
        if at is None:
            return
        where = range(at + 1, len(self.rows)) if step > 0 else range(at - 1, -1, -1)
        found = next((i for i in where if self._is_prompt(i)), None)
        if found is not None:
            self.go(found)

    def toggle(self) -> None:
        """Open or close the fold at the cursor; of a long text show all, or the first lines again."""
        at = self.row_index
        if at is None:
            return
        if self.state(at).fold:
            self.opened[self._key(at)] = not self.opens(at)
        elif self.rows[at].limit is not None:
            self.whole ^= {at}
        else:
            return
        self.settle()
        self.point(self.cursor)

    def open_all(self, is_open: bool) -> None:
        self.is_open = is_open
        self.opened.clear()
        self.settle()
        self.point(self.cursor)

    def clicked(self, index: int, times: int) -> None:
        if times == 1:
            self.toggle()

    # -- finding

    def mark(self, pattern: re.Pattern[str] | None) -> None:
        self.pattern = pattern
        self._found = None
        self.redraw()

    def matches(self) -> list[int]:
        """The rows that the pattern is found in, also those in folds."""
        if self.pattern is None:
            return []
        done, found = self._found or (0, [])
        if done < len(self.rows):
            found += (i for i in range(done, len(self.rows)) if self.pattern.search(clean(self.rows[i].text)))
            self._found = len(self.rows), found
        return found

    def go_match(self, index: int) -> None:
        """To a row with a match, so that the match itself is on the screen."""
        row = self.rows[index]
        if row.limit is not None and row.kind not in ("call", "agent") and index not in self.whole:
            made = layout(row, self.room, RowState())
            if not any(self.pattern and self.pattern.search(line.text) for line in made):
                self.whole.add(index)
                self.settle()
        self.go(index)
        made = layout(row, self.room, self.state(index))
        lines = (at for at, line in enumerate(made) if self.pattern and self.pattern.search(line.text))
        self.go(index, line=next(lines, 0))
