"""Define menus: a question with numbered options.

No option is selected at first, so Enter alone answers nothing. A menu whose options can be searched is the
exception: it opens on the first match. `question_box` and `styles` draw menus, `key_bindings` handles their keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

MAX_VISIBLE_OPTIONS = 10  # options on the screen
PAUSE = 0.7  # seconds without a key until a question that opened by itself takes keys
NO_SELECTION = -1  # no option is selected


class QuestionLine(Struct, frozen=True):
    """One line about the subject of a question, already escaped. `mark` is its prefix."""

    text: str
    mark: str = ""
    style: str = ""  # fact, added, removed or note
    is_context: bool = False  # comes after the subject where there is little room


class Option(Struct, frozen=True):
    """One option. `takes` describes text that can be added: with Tab, or directly if it `opens`; required if
    `needs_text`.
    """

    label: str
    value: Any = None
    about: str = ""
    takes: str = ""
    opens: bool = False
    needs_text: bool = False


class MenuAnswer(Struct, frozen=True):
    """The chosen values, and the text that was added."""

    values: tuple[Any, ...]
    text: str = ""
    move: int = 0  # go to another tab instead of answering: -1 to the previous, 1 to the next

    @property
    def value(self) -> Any:
        return self.values[0] if self.values else None


class Menu(Struct):
    """A question while it is being answered.

    `is_sudden` questions open without a request of the user, who may be typing at that moment: they take keys only after a
    pause.
    """

    title: str
    options: Sequence[Option]
    about: str = ""
    is_many: bool = False  # several can be chosen
    is_sought: bool = False  # typing searches the options
    is_sudden: bool = False
    details: Sequence[QuestionLine] = ()
    count: str = ""  # such as "1 of 2"
    tabs: Sequence[tuple[str, bool]] = ()  # of several questions: their names, and whether they are answered
    tab: int = 0  # the one that is shown
    at: int = NO_SELECTION
    chosen: set[int] = field(default_factory=set)
    sought: str = ""
    top: int = 0  # the first line of the details on the screen

    def __post_init__(self) -> None:
        if self.is_sought and self.at == NO_SELECTION and self.options:
            self.at = 0

    @property
    def shown(self) -> list[int]:
        """The indices of the options that match the search."""
        terms = self.sought.casefold().split()
        return [
            index
            for index, option in enumerate(self.options)
            if all(word in f"{option.label} {option.about}".casefold() for word in terms)
        ]

    @property
    def window(self) -> list[int]:
        """The indices of the options that fit on the screen, around the selected one."""
        shown = self.shown
        position = shown.index(self.at) if self.at in shown else 0
        first = max(0, min(position - MAX_VISIBLE_OPTIONS // 2, len(shown) - MAX_VISIBLE_OPTIONS))
        return shown[first : first + MAX_VISIBLE_OPTIONS]

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
            self.at = NO_SELECTION

    def seek(self, text: str) -> None:
        self.sought = text
        shown = self.shown
        if shown and self.at not in shown:
            self.at = shown[0]

    def toggle(self) -> None:
        """Mark or unmark the selected option; an option that needs text is marked by its text."""
        if self.current is not None and not self.current.needs_text:
            self.chosen ^= {self.at}

    def point(self, number: int) -> bool:
        """Select an option by its number, from 1; return False if there is none."""
        if not 1 <= number <= len(self.options) or self.is_sought:
            return False
        self.at = number - 1
        return True

    def answer(self, text: str = "") -> MenuAnswer | None:
        """Return the current answer; None if something is missing."""
        option = self.current
        if option is None or (option.needs_text and not text):
            return None
        if not self.is_many:
            return MenuAnswer((option.value,), text)
        picked = sorted(self.chosen) or ([] if option.needs_text else [self.at])
        return MenuAnswer(tuple(self.options[i].value for i in picked), text)
