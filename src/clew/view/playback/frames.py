"""The player: a session as frames with their times, and the state of playing them.

Frames keep the pace of the session, but for the time in which nothing happened: nobody wants to wait for lunch. The state
knows no clock and no keyboard. It is told how many seconds have passed and what was pressed, and says what to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from msgspec import Struct

from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.view.rows import Row, ViewOptions, first_rows, rows
from clew.view.sanitize import duration

MAX_IDLE = 2.0  # seconds
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


class Frame(Struct, frozen=True):
    """One thing that is shown at a time, in seconds from the beginning. `turn` is 0 before the first prompt."""

    at: float
    turn: int
    row: Row


class Shown(Struct, frozen=True):
    """What a key came to: frames to show now, on a cleared screen or below the others, or the end."""

    frames: tuple[Frame, ...] = ()
    clears: bool = False
    ends: bool = False


def player_rows(session: Session, turns: Sequence[Turn], options: ViewOptions, is_whole: bool) -> Iterator[Row]:
    """The rows of a session with a mark where the model thought, and what each turn took."""
    shown = replace(options, thinking=True)
    for row in first_rows(session, shown) if is_whole else ():
        yield _marked(row, options)
    for turn in turns:
        for row in rows(session, [turn], shown):
            yield _marked(row, options)
        is_told = any(entry.subtype == "turn_duration" for entry in turn.entries)
        if not is_told and turn.seconds is not None and turn.seconds >= 1:
            yield Row("about", f"  {duration(turn.seconds)}", time=turn.entries[-1].time)


def _marked(row: Row, options: ViewOptions) -> Row:
    return replace(row, text="thinking") if row.kind == "thinking" and not options.thinking else row


def frames(rows: Iterable[Row], max_idle: float = MAX_IDLE) -> Iterator[Frame]:
    """Rows at their times, no two further apart than `max_idle`. Time never runs back; what has none comes at once."""
    at, turn, last = 0.0, 0, None
    for row in rows:
        if row.kind == "prompt" and row.depth == 0:
            turn = int(row.facts.get("number") or turn + 1)
        if row.time is not None:
            if last is not None and row.time > last:
                at += min((row.time - last).total_seconds(), max_idle)
            last = row.time if last is None else max(last, row.time)
        yield Frame(round(at, 3), turn, row)


class Playing(Struct):
    """Frames being played."""

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
        """Seconds until the next frame is due; None if it waits for a key."""
        if self.is_paused or self.is_over:
            return None
        return max(0.0, (self.frames[self.place].at - self.clock) / self.speed)

    def pass_time(self, seconds: float) -> tuple[Frame, ...]:
        """The frames that are due after so many seconds."""
        if self.is_paused:
            return ()
        self.clock += seconds * self.speed
        start = self.place
        while not self.is_over and self.frames[self.place].at <= self.clock:
            self.place += 1
        return tuple(self.frames[start : self.place])

    def press(self, key: str) -> Shown:
        """What a key does. Digits and `g` or Enter go to a turn."""
        if key.isdigit():
            self.typed += key
            return Shown()
        typed, self.typed = self.typed, ""
        if key in ("g", "enter") and typed:
            return self.jump(int(typed))
        match key:
            case "q" | "escape":
                return Shown(ends=True)
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
                return self.jump(self._turn_before())
        return Shown()

    def step(self) -> Shown:
        """The next frame, and then stand still."""
        self.is_paused = True
        if self.is_over:
            return Shown()
        found = self.frames[self.place]
        self.place, self.clock = self.place + 1, found.at
        return Shown((found,))

    def jump(self, turn: int) -> Shown:
        """Go to the beginning of a turn; behind the last one to its beginning."""
        numbers = [frame.turn for frame in self.frames]
        if not numbers:
            return Shown()
        turn = max(min(turn, max(numbers)), min(numbers))
        place = next(i for i, number in enumerate(numbers) if number >= turn)
        found = self.frames[place]
        self.place, self.clock = place + 1, found.at
        return Shown((found,), clears=True)

    def _next_turn(self) -> int:
        later = [frame.turn for frame in self.frames if frame.turn > self.turn]
        return min(later, default=self.turn)

    def _turn_before(self) -> int:
        """The beginning of this turn, or of the one before if this one has only begun."""
        has_only_begun = self.place and (self.place < 2 or self.frames[self.place - 2].turn != self.turn)
        earlier = [frame.turn for frame in self.frames if frame.turn < self.turn]
        return max(earlier, default=self.turn) if has_only_begun else self.turn
