"""Bind keys: at the prompt, in a question, and while the model works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from prompt_toolkit.application.current import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from clew.console.menu import MenuAnswer
from clew.console.ui import UserInput

if TYPE_CHECKING:
    from clew.console.menu import Menu
    from clew.console.screen import Screen

REPEAT_TIMEOUT = 3.0  # seconds
_NEWLINE = (Keys.Escape, Keys.ControlM)
_SHIFT_ENTER = (
    "\x1b[27;2;13~",
    "\x1b[13;2u",
    "\x1b[27;5;13~",
    "\x1b[13;5u",
)  # sent by terminals that distinguish these keys


class Actions(Struct, frozen=True):
    """The functions that keys call."""

    submit: Callable[[UserInput], None]
    interrupt: Callable[[], bool]  # returns whether something was interrupted
    cycle: Callable[[], None]
    aside: Callable[[], None]
    rewind: Callable[[], None]
    verbose: Callable[[], None]
    recall: Callable[[], None]
    unqueue: Callable[[], str]  # takes the newest queued line back, to be edited
    leave: Callable[[], None]


class RepeatedKey:
    """A key that acts when it is pressed a second time within a few seconds."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._armed = ""

    def press(self, key: str, hint: str) -> bool:
        """Return True the second time; the first time, show what the second press does."""
        if self._armed == key:
            self.reset()
            return True
        self._armed = key
        self._screen.line.remark = hint
        asyncio.get_running_loop().call_later(REPEAT_TIMEOUT, self._expire, key)
        return False

    def reset(self) -> None:
        self._armed = ""
        self._screen.line.remark = ""

    def _expire(self, key: str) -> None:
        if self._armed == key:
            self.reset()
            self._screen.request_redraw()


def create_bindings(screen: Screen, actions: Actions) -> KeyBindings:
    for sequence in _SHIFT_ENTER:
        ANSI_SEQUENCES[sequence] = _NEWLINE
    keys = KeyBindings()
    repeated = RepeatedKey(screen)
    _bind_typing(keys, screen, actions, repeated)
    _bind_completions(keys, screen)
    _bind_escape(keys, screen, actions, repeated)
    _bind_menu(keys, screen)
    _bind_menu_text(keys, screen)
    _bind_global(keys, screen, actions, repeated)
    return keys


def _bind_typing(keys: KeyBindings, screen: Screen, actions: Actions, repeated: RepeatedKey) -> None:
    typing = Condition(lambda: screen.menu is None)
    line = screen.line

    @keys.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        if line.completions and not line.accept_completion():
            return
        if (typed := line.submit()) is not None:
            repeated.reset()
            actions.submit(typed)

    @keys.add("escape", "enter", filter=typing)
    @keys.add("c-j", filter=typing)
    def _(event: KeyPressEvent) -> None:
        line.buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste, filter=typing)
    def _(event: KeyPressEvent) -> None:
        line.paste(event.data)

    @keys.add("backspace", filter=typing)
    def _(event: KeyPressEvent) -> None:
        line.delete()

    @keys.add("c-r", filter=typing)
    def _(event: KeyPressEvent) -> None:
        actions.recall()

    @keys.add("up", filter=typing & Condition(lambda: not line.buffer.text and screen.has_queued))
    def _(event: KeyPressEvent) -> None:
        screen.fill_prompt(actions.unqueue())

    @keys.add("c-g", filter=typing)
    def _(event: KeyPressEvent) -> None:
        line.buffer.open_in_editor()


def _bind_completions(keys: KeyBindings, screen: Screen) -> None:
    has_completions = Condition(lambda: screen.menu is None and bool(screen.line.completions))
    line = screen.line

    @keys.add("tab", filter=has_completions)
    def _(event: KeyPressEvent) -> None:
        line.accept_completion()

    @keys.add("up", filter=has_completions)
    @keys.add("c-p", filter=has_completions)
    def _(event: KeyPressEvent) -> None:
        line.move_completion(-1)

    @keys.add("down", filter=has_completions)
    @keys.add("c-n", filter=has_completions)
    def _(event: KeyPressEvent) -> None:
        line.move_completion(1)


def _bind_escape(keys: KeyBindings, screen: Screen, actions: Actions, repeated: RepeatedKey) -> None:
    typing = Condition(lambda: screen.menu is None)
    line = screen.line

    @keys.add("escape", filter=typing)
    def _(event: KeyPressEvent) -> None:
        if line.completions:
            line.close_completions()
        elif actions.interrupt():
            repeated.reset()
        elif line.buffer.text:
            if repeated.press("escape", "esc again to empty the prompt"):
                line.buffer.reset(append_to_history=True)
        elif repeated.press("escape", "esc again to go back to an earlier prompt"):
            actions.rewind()

    @keys.add("c-d", filter=typing)
    def _(event: KeyPressEvent) -> None:
        if line.buffer.text:
            line.buffer.delete()
        else:
            actions.leave()


def _choose(screen: Screen) -> None:
    menu = screen.menu
    if menu is None or menu.current is None:
        return
    if menu.current.opens and not screen.line.is_noting:
        screen.open_note()
    elif (answer := menu.answer(screen.line.note.text.strip())) is not None:
        screen.close_menu(answer)


def _bind_menu(keys: KeyBindings, screen: Screen) -> None:
    asking = Condition(lambda: screen.menu is not None)
    choosing = asking & ~Condition(lambda: screen.line.is_noting)

    @keys.add("enter", filter=asking, eager=True)
    def _(event: KeyPressEvent) -> None:
        if screen.accepts_key():
            _choose(screen)

    @keys.add("up", filter=choosing)
    @keys.add("c-p", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.move(-1)

    @keys.add("down", filter=choosing)
    @keys.add("c-n", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.move(1)

    tabbed = choosing & Condition(lambda: bool(screen.menu and screen.menu.tabs))

    @keys.add("left", filter=tabbed)
    def _(event: KeyPressEvent) -> None:
        if screen.accepts_key():
            screen.close_menu(MenuAnswer((), move=-1))

    @keys.add("right", filter=tabbed)
    def _(event: KeyPressEvent) -> None:
        if screen.accepts_key():
            screen.close_menu(MenuAnswer((), move=1))

    @keys.add("pageup", filter=asking)
    def _(event: KeyPressEvent) -> None:
        screen.scroll(-1)

    @keys.add("pagedown", filter=asking)
    def _(event: KeyPressEvent) -> None:
        screen.scroll(1)

    @keys.add("tab", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        if screen.menu and screen.menu.current and screen.menu.current.takes and screen.accepts_key():
            screen.open_note()

    @keys.add("escape", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.close_menu(None)


def _bind_menu_text(keys: KeyBindings, screen: Screen) -> None:
    asking = Condition(lambda: screen.menu is not None)
    noting = asking & Condition(lambda: screen.line.is_noting)
    choosing = asking & ~Condition(lambda: screen.line.is_noting)
    many = choosing & Condition(lambda: bool(screen.menu and screen.menu.is_many))
    seeking = choosing & Condition(lambda: bool(screen.menu and screen.menu.is_sought))

    @keys.add("space", filter=many)
    def _(event: KeyPressEvent) -> None:
        if screen.menu and screen.menu.current and screen.is_listening:
            screen.menu.toggle()
        else:
            screen.add_to_draft(" ")

    @keys.add("escape", filter=noting)
    def _(event: KeyPressEvent) -> None:
        screen.close_note()

    @keys.add("backspace", filter=seeking)
    def _(event: KeyPressEvent) -> None:
        if screen.menu:
            screen.menu.seek(screen.menu.sought[:-1])

    @keys.add("backspace", filter=choosing & ~seeking)
    def _(event: KeyPressEvent) -> None:
        screen.delete_from_draft()

    @keys.add(Keys.BracketedPaste, filter=choosing)
    def _(event: KeyPressEvent) -> None:
        if screen.menu and screen.menu.is_sought and screen.is_listening:
            screen.menu.seek(screen.menu.sought + " ".join(event.data.split()))
        else:
            screen.add_to_draft("")
            screen.line.paste(event.data)

    @keys.add(Keys.Any, filter=choosing)
    def _(event: KeyPressEvent) -> None:
        if screen.menu is not None and event.data and event.data.isprintable():
            _type_in_menu(screen, screen.menu, event.data)


def _type_in_menu(screen: Screen, menu: Menu, text: str) -> None:
    """Handle a character typed while a menu is open: it searches, selects an option by number, or is kept for the
    prompt.
    """
    if menu.is_sought and screen.is_listening:
        menu.seek(menu.sought + text)
    elif not _is_number(text) or screen.is_drafting or not screen.is_listening or not screen.select(text):
        screen.add_to_draft(text)
    elif menu.is_many:
        menu.toggle()


def _is_number(text: str) -> bool:
    return text in tuple("123456789")


def _bind_global(keys: KeyBindings, screen: Screen, actions: Actions, repeated: RepeatedKey) -> None:
    typing = Condition(lambda: screen.menu is None)

    @keys.add("s-tab", filter=typing)
    def _(event: KeyPressEvent) -> None:
        actions.cycle()

    @keys.add("c-b", filter=typing & Condition(lambda: not screen.line.buffer.text))
    def _(event: KeyPressEvent) -> None:
        actions.aside()

    @keys.add("c-o")
    def _(event: KeyPressEvent) -> None:
        actions.verbose()

    @keys.add("c-l")
    def _(event: KeyPressEvent) -> None:
        event.app.renderer.clear()

    @keys.add("c-z")
    def _(event: KeyPressEvent) -> None:
        get_app().suspend_to_background()

    @keys.add("c-c")
    @keys.add("<sigint>")
    def _(event: KeyPressEvent) -> None:
        if screen.menu is not None:
            screen.close_menu(None)
        elif actions.interrupt():
            repeated.reset()
        elif screen.line.buffer.text:
            screen.line.buffer.reset()
        elif repeated.press("c-c", "ctrl+c again to leave"):
            actions.leave()
