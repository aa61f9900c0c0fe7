"""Menus: a question with numbered answers, and what it is about.

No option is selected at first, so Enter alone answers nothing. A menu whose options can be searched is the exception: it
opens on the first match. How menus are drawn, and which keys they take, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

ROOM = 10  # options that are shown at once
PAUSE = 0.7  # seconds without a key until a question that opened by itself takes keys
NOTHING = -1  # no option is selected


@dataclass(frozen=True, slots=True)
class QuestionLine:
    """One line of what a question is about, already escaped. `mark` stands before it and is repeated nowhere."""

    text: str
    mark: str = ""
    style: str = ""  # fact, added, removed or note


@dataclass(frozen=True, slots=True)
class Option:
    """One answer. `takes` says what can be written behind it: by Tab, or at once if it `opens`; if `needs_text`, it must."""

    label: str
    value: Any = None
    about: str = ""
    takes: str = ""
    opens: bool = False
    needs_text: bool = False


@dataclass(frozen=True, slots=True)
class MenuAnswer:
    """What was chosen, and what was written behind it."""

    values: tuple[Any, ...]
    text: str = ""

    @property
    def value(self) -> Any:
        return self.values[0] if self.values else None


@dataclass
class Menu:
    """A question while it is being answered.

    `is_sudden` questions open without a request of the user, who may be typing at that moment: they take keys only after a
    pause.
    """

    title: str
    options: Sequence[Option]
    about: str = ""
    is_many: bool = False  # several can be chosen
    is_sought: bool = False  # typing looks for an option
    is_sudden: bool = False
    details: Sequence[QuestionLine] = ()
    count: str = ""  # such as "1 of 2"
    at: int = NOTHING
    chosen: set[int] = field(default_factory=set)
    sought: str = ""
    top: int = 0  # the first line of the details on the screen

    def __post_init__(self) -> None:
        if self.is_sought and self.at == NOTHING and self.options:
            self.at = 0

    @property
    def shown(self) -> list[int]:
        """The options that fit what is sought, by their numbers."""
        wanted = self.sought.casefold().split()
        return [
            index
            for index, option in enumerate(self.options)
            if all(word in f"{option.label} {option.about}".casefold() for word in wanted)
        ]

    @property
    def window(self) -> list[int]:
        """Those that there is room for, around the one pointed at."""
        shown = self.shown
        place = shown.index(self.at) if self.at in shown else 0
        first = max(0, min(place - ROOM // 2, len(shown) - ROOM))
        return shown[first : first + ROOM]

    @property
    def current(self) -> Option | None:
        return self.options[self.at] if self.at in self.shown else None

    def move(self, by: int) -> None:
        shown = self.shown
        if shown and self.at in shown:
            self.at = shown[(shown.index(self.at) + by) % len(shown)]
        elif shown:
            self.at = shown[0 if by > 0 else -1]

    def deselect(self) -> None:
        if not self.is_sought:
            self.at = NOTHING

    def seek(self, text: str) -> None:
        self.sought = text
        shown = self.shown
        if shown and self.at not in shown:
            self.at = shown[0]

    def toggle(self) -> None:
        """Choose or unchoose the option pointed at; one that takes text is chosen by that."""
        if self.current is not None and not self.current.needs_text:
            self.chosen ^= {self.at}

    def point(self, number: int) -> bool:
        """Point at an option by its number as it is shown, from 1; whether there is one."""
        if not 1 <= number <= len(self.options) or self.is_sought:
            return False
        self.at = number - 1
        return True

    def answer(self, text: str = "") -> MenuAnswer | None:
        """The answer as it stands; None if something is missing."""
        option = self.current
        if option is None or (option.needs_text and not text):
            return None
        if not self.is_many:
            return MenuAnswer((option.value,), text)
        picked = sorted(self.chosen) or ([] if option.needs_text else [self.at])
        return MenuAnswer(tuple(self.options[i].value for i in picked), text)
