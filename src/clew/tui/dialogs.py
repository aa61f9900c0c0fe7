"""Dialogs of the browser: the keys, the branches of a session, and a line of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from clew.browse.session_item import screen_text
from clew.conversation.branches import Branch
from clew.conversation.speaker import prompt_text
from clew.system.plural import plural
from clew.tui.line_wrap import fit

_BOX_CSS = """
{name} { align: center middle; }
{name} > #box {
    width: 74; max-width: 96%; height: auto; max-height: 92%;
    background: $surface; border: round $primary; padding: 0 1;
}
"""


def box_css(name: str) -> str:
    """Return the style of a dialog in a box."""
    return _BOX_CSS.replace("{name}", name)


KEYS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Sessions",
        (
            ("type", 'search: words, "a phrase", -not, a OR b'),
            ("", "project: branch: tool: file: since: in: is: id: …"),
            ("up down", "choose; also page up and page down"),
            ("enter", "read the session"),
            ("tab", "to the list and back; r R o O e c y S work there too"),
            ("f2 f3 f4", "choose a project, a time span, an order"),
            ("f5 f6", "refresh the list; show or hide the preview"),
            ("f7", "search by meaning too, or by words alone again"),
            ("ctrl+r", "resume the chosen session"),
            ("esc", "empty the search; quit if it is empty"),
        ),
    ),
    (
        "Reading",
        (
            ("enter space", "open or close a call or an agent; all of a long text"),
            ("x", "open or close all of them"),
            ("t a m", "thinking, agents, notes to the model: on or off"),
            ("d", "depth: prompts, replies, calls, full"),
            ("/ n N", "find in the session, next, previous"),
            ("[ ]", "previous and next prompt"),
            ("g G", "first and last row"),
            ("b", "another branch"),
            ("y Y", "copy the row, or the whole turn"),
            ("c", "copy the id, the path, the command or the text"),
            ("o O", "the session in the pager, the file in the editor"),
            ("r R", "resume: start claude; R asks for flags first"),
            ("e", "export as Markdown, HTML, JSON or JSONL"),
            ("S", "show secrets, or mask them again"),
            ("q esc", "back"),
        ),
    ),
    ("Everywhere", (("? f1", "this page"), ("ctrl+t", "light or dark"), ("ctrl+q", "quit"))),
)


class Help(ModalScreen[None]):
    """Lists the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,f1,enter", "dismiss", "Close", show=False)]
    DEFAULT_CSS = box_css("Help")

    def compose(self) -> ComposeResult:
        text = Text()
        for name, keys in KEYS:
            text.append(f"{name}\n", "bold")
            for key, meaning in keys:
                text.append(f"  {key:<12}", "bold")
                text.append(f"{meaning}\n")
        text.rstrip()
        with VerticalScroll(id="box"):
            yield Static(text)


class Branches(ModalScreen[Branch | None]):
    """Lets the user choose a branch; each is described by the prompts that only it has."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,b", "dismiss(None)", "Close", show=False)]
    DEFAULT_CSS = (
        box_css("Branches")
        + "Branches OptionList, Branches OptionList:focus { height: auto; max-height: 20; border: none; padding: 0; }"
    )

    def __init__(self, branches: Sequence[Branch], current: int | None, reveal: bool) -> None:
        super().__init__()
        self._branches, self._current, self._reveal = branches, current, reveal

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static("Branches", markup=False)
            yield OptionList(*(Option(self._branch_label(branch)) for branch in self._branches))

    def on_mount(self) -> None:
        numbers = [branch.number for branch in self._branches]
        chosen = self.query_one(OptionList)
        chosen.highlighted = numbers.index(self._current) if self._current in numbers else 0
        chosen.focus()

    def _branch_label(self, branch: Branch) -> Text:
        count = len(branch.prompts)
        about = plural(count, "prompt") + (", active" if branch.is_active else "")
        text = Text(f"{branch.number}  {about}\n")
        for prompt in (branch.own or branch.prompts[-1:])[:3]:
            text.append(f"   ❯ {fit(screen_text(prompt_text(prompt), self._reveal), 62)}\n", "italic")
        text.rstrip()
        return text

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._branches[event.option_index])


class TextDialog(ModalScreen[str | None]):
    """Asks for a line of text, such as the name of a file. Returns None if the user cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Close", show=False)]
    DEFAULT_CSS = box_css("TextDialog") + "TextDialog Input { background: $panel; } TextDialog #hint { color: $muted; }"

    def __init__(self, heading: str, proposal: str = "", hint: str = "", *, may_be_empty: bool = False) -> None:
        super().__init__()
        self._heading, self._proposal, self._hint, self._may_be_empty = heading, proposal, hint, may_be_empty

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(self._heading, markup=False)
            yield Input(self._proposal, compact=True)
            yield Static(self._hint or "Enter confirms, Esc cancels.", id="hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.strip()
        self.dismiss(text if text or self._may_be_empty else None)
