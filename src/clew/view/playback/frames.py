"""Convert a session to timed frames, and keep the state of playing them.

Frames keep the pace of the session, except that idle time is shortened. The state knows neither clock nor keyboard:
it receives elapsed seconds and pressed keys, and returns what to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.view.row_types import AboutRow, PromptRow, Row, ThinkingRow
from clew.view.rows import ViewOptions, preamble_rows, rows
from clew.view.sanitize import format_duration

MAX_IDLE = 2.0  # seconds
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


class Frame(Struct, frozen=True):
    """A row and its time in seconds from the start. `turn` is 0 before the first prompt."""

    at: float
    turn: int
    row: Row


class KeyResult(Struct, frozen=True):
    """The effect of a key: frames to show, on a cleared screen or below the others, or the end."""

    frames: tuple[Frame, ...] = ()
    clears: bool = False
    ends: bool = False


def player_rows(session: Session, turns: Sequence[Turn], options: ViewOptions, is_whole: bool) -> Iterator[Row]:
    """Yield the rows of a session, with a marker for thinking, and the duration of each turn."""
    shown = replace(options, thinking=True)
    for row in preamble_rows(session, shown) if is_whole else ():
        yield _hide_thinking(row, options)
    for turn in turns:
        for row in rows(session, [turn], shown):
            yield _hide_thinking(row, options)
        has_duration = any(entry.subtype == "turn_duration" for entry in turn.entries)
        if not has_duration and turn.seconds is not None and turn.seconds >= 1:
            yield AboutRow(f"  {format_duration(turn.seconds)}", time=turn.entries[-1].time)


def _hide_thinking(row: Row, options: ViewOptions) -> Row:
    return structs.replace(row, text="thinking") if isinstance(row, ThinkingRow) and not options.thinking else row


def time_frames(rows: Iterable[Row], max_idle: float = MAX_IDLE) -> Iterator[Frame]:
    """Yield rows with their times, at most `max_idle` apart. Time never decreases; rows without a time follow
    immediately.
    """
    at, turn, last = 0.0, 0, None
    for row in rows:
        if isinstance(row, PromptRow) and row.depth == 0:
            turn = row.number or turn + 1
        if row.time is not None:
            if last is not None and row.time > last:
                at += min((row.time - last).total_seconds(), max_idle)
            last = row.time if last is None else max(last, row.time)
        yield Frame(round(at, 3), turn, row)


class Playing(Struct):
    """The state of a playback."""

    frames: Sequence[Frame]
    speed: float = 1.0
    place: int = 0  # frames that were shown
    clock: float = 0.0  # seconds of the recording that have passed
    is_paused: bool = False
    typed: str = ""  # the number of a turn, as far as it was typed

    @property
    def is_over(self) -> bool:
        return self.place >= len(self.frames)

    @property
    def turn(self) -> int:
        return self.frames[self.place - 1].turn if self.place else 0

    @property
    def length(self) -> float:
        return self.frames[-1].at if self.frames else 0.0

    def wait(self) -> float | None:
        """Return the seconds until the next frame is due; None if a key is awaited."""
        if self.is_paused or self.is_over:
            return None
        return max(0.0, (self.frames[self.place].at - self.clock) / self.speed)

    def pass_time(self, seconds: float) -> tuple[Frame, ...]:
        """Advance the clock. Return the frames that are due."""
        if self.is_paused:
            return ()
        self.clock += seconds * self.speed
        start = self.place
        while not self.is_over and self.frames[self.place].at <= self.clock:
            self.place += 1
        return tuple(self.frames[start : self.place])

    def press(self, key: str) -> KeyResult:
        """Handle a key. Digits followed by `g` or Enter jump to a turn."""
        if key.isdigit():
            self.typed += key
            return KeyResult()
        typed, self.typed = self.typed, ""
        if key in ("g", "enter") and typed:
            return self.jump(int(typed))
        match key:
            case "q" | "escape":
                return KeyResult(ends=True)
            case " ":
                self.is_paused = not self.is_paused
            case "." | "right" | "n":
                return self.step()
            case "+" | "=" | "up":
                self.speed = next((s for s in SPEEDS if s > self.speed), self.speed)
            case "-" | "down":
                self.speed = next((s for s in reversed(SPEEDS) if s < self.speed), self.speed)
            case "]":
                return self.jump(self._next_turn())
            case "[":
                return self.jump(self._previous_turn())
        return KeyResult()

    def step(self) -> KeyResult:
        """Show the next frame and pause."""
        self.is_paused = True
        if self.is_over:
            return KeyResult()
        frame = self.frames[self.place]
        self.place, self.clock = self.place + 1, frame.at
        return KeyResult((frame,))

    def jump(self, turn: int) -> KeyResult:
        """Jump to the start of a turn; a number after the last turn means the last one."""
        numbers = [frame.turn for frame in self.frames]
        if not numbers:
            return KeyResult()
        turn = max(min(turn, max(numbers)), min(numbers))
        position = next(i for i, number in enumerate(numbers) if number >= turn)
        target = self.frames[position]
        self.place, self.clock = position + 1, target.at
        return KeyResult((target,), clears=True)

    def _next_turn(self) -> int:
        later = [frame.turn for frame in self.frames if frame.turn > self.turn]
        return min(later, default=self.turn)

    def _previous_turn(self) -> int:
        """Return the current turn, or the one before if only the first frame of the current one was shown."""
        has_only_begun = self.place and (self.place < 2 or self.frames[self.place - 2].turn != self.turn)
        earlier = [frame.turn for frame in self.frames if frame.turn < self.turn]
        return max(earlier, default=self.turn) if has_only_begun else self.turn
