"""A dialog that lets the user choose from a list, which narrows while they type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from clew.tui.dialogs import box_css


class Choice(ModalScreen[str | None]):
    """Returns the value of the chosen option; with `takes_text` also a text that is not in the list; None for none."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Close", show=False),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("up", "move(-1)", "Up", show=False, priority=True),
    ]
    DEFAULT_CSS = (
        box_css("Choice")
        + """
    Choice #heading { text-style: bold; color: $text-primary; }
    Choice Input { background: $panel; }
    Choice OptionList, Choice OptionList:focus {
        height: auto; max-height: 14; border: none; padding: 0; background: $surface;
    }
    Choice #hint { color: $muted; }
    """
    )

    def __init__(
        self,
        heading: str,
        options: Sequence[tuple[str, str]],
        current: str = "",
        *,
        hint: str = "",
        takes_text: bool = False,
    ) -> None:
        super().__init__()
        self._heading, self._options, self._current = heading, options, current
        self._hint, self._takes_text = hint, takes_text
        self._shown = list(options)

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(self._heading, id="heading", markup=False)
            yield Input(placeholder="type to narrow the list", compact=True)
            yield OptionList(*(Option(label) for label, _ in self._options), markup=False)
            if self._hint:
                yield Static(self._hint, id="hint", markup=False)

    def on_mount(self) -> None:
        values = [value for _, value in self._options]
        self._highlight(values.index(self._current) if self._current in values else 0)
        self.query_one(OptionList).can_focus = False
        self.query_one(Input).focus()

    def _highlight(self, index: int) -> None:
        self.query_one(OptionList).highlighted = index if self._shown else None

    def action_move(self, step: int) -> None:
        at = self.query_one(OptionList).highlighted or 0
        self._highlight(max(0, min(at + step, len(self._shown) - 1)))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        words = event.value.lower().split()
        self._shown = [option for option in self._options if all(word in option[0].lower() for word in words)]
        listed = self.query_one(OptionList)
        listed.clear_options()
        listed.add_options([Option(label) for label, _ in self._shown])
        self._highlight(0)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        at = self.query_one(OptionList).highlighted
        if self._shown and at is not None:
            self.dismiss(self._shown[at][1])
        elif self._takes_text and event.value.strip():
            self.dismiss(event.value.strip())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._shown[event.option_index][1])
