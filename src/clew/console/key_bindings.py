"""Keys: what each does at the prompt, in a question, and while the model works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prompt_toolkit.application.current import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from clew.console.ui import Typed

if TYPE_CHECKING:
    from clew.console.menu import Menu
    from clew.console.screen import Screen

AGAIN = 3.0  # seconds in which a key has to come again
_NEWLINE = (Keys.Escape, Keys.ControlM)
_SHIFT_ENTER = ("\x1b[27;2;13~", "\x1b[13;2u", "\x1b[27;5;13~", "\x1b[13;5u")  # as terminals tell it, if they do


@dataclass(frozen=True)
class Actions:
    """What keys can set going."""

    submit: Callable[[Typed], None]
    interrupt: Callable[[], bool]  # whether there was something to break off
    cycle: Callable[[], None]
    aside: Callable[[], None]
    rewind: Callable[[], None]
    verbose: Callable[[], None]
    recall: Callable[[], None]
    leave: Callable[[], None]


class Twice:
    """A key that does something when it is pressed a second time."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._armed = ""

    def press(self, key: str, remark: str) -> bool:
        """Whether this is the second time; else the remark says what the second would do."""
        if self._armed == key:
            self.forget()
            return True
        self._armed = key
        self._screen.line.remark = remark
        asyncio.get_running_loop().call_later(AGAIN, self._late, key)
        return False

    def forget(self) -> None:
        self._armed = ""
        self._screen.line.remark = ""

    def _late(self, key: str) -> None:
        if self._armed == key:
            self.forget()
            self._screen.touch()


def bindings(screen: Screen, actions: Actions) -> KeyBindings:
    for sequence in _SHIFT_ENTER:
        ANSI_SEQUENCES[sequence] = _NEWLINE
    keys = KeyBindings()
    twice = Twice(screen)
    _typing(keys, screen, actions, twice)
    _offering(keys, screen)
    _ending(keys, screen, actions, twice)
    _choosing(keys, screen)
    _writing(keys, screen)
    _anywhere(keys, screen, actions, twice)
    return keys


def _typing(keys: KeyBindings, screen: Screen, actions: Actions, twice: Twice) -> None:
    typing = Condition(lambda: screen.menu is None)
    line = screen.line

    @keys.add("enter", filter=typing)
    def _(event: KeyPressEvent) -> None:
        if line.offers and not line.take_offer():
            return
        if (typed := line.submit()) is not None:
            twice.forget()
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

    @keys.add("c-g", filter=typing)
    def _(event: KeyPressEvent) -> None:
        line.buffer.open_in_editor()


def _offering(keys: KeyBindings, screen: Screen) -> None:
    offering = Condition(lambda: screen.menu is None and bool(screen.line.offers))
    line = screen.line

    @keys.add("tab", filter=offering)
    def _(event: KeyPressEvent) -> None:
        line.take_offer()

    @keys.add("up", filter=offering)
    @keys.add("c-p", filter=offering)
    def _(event: KeyPressEvent) -> None:
        line.move_offer(-1)

    @keys.add("down", filter=offering)
    @keys.add("c-n", filter=offering)
    def _(event: KeyPressEvent) -> None:
        line.move_offer(1)


def _ending(keys: KeyBindings, screen: Screen, actions: Actions, twice: Twice) -> None:
    typing = Condition(lambda: screen.menu is None)
    line = screen.line

    @keys.add("escape", filter=typing)
    def _(event: KeyPressEvent) -> None:
        if line.offers:
            line.close_offers()
        elif actions.interrupt():
            twice.forget()
        elif line.buffer.text:
            if twice.press("escape", "esc again to empty the prompt"):
                line.buffer.reset(append_to_history=True)
        elif twice.press("escape", "esc again to go back to an earlier prompt"):
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
        screen.note()
    elif (answer := menu.answer(screen.line.note.text.strip())) is not None:
        screen.settle(answer)


def _choosing(keys: KeyBindings, screen: Screen) -> None:
    asking = Condition(lambda: screen.menu is not None)
    choosing = asking & ~Condition(lambda: screen.line.is_noting)

    @keys.add("enter", filter=asking, eager=True)
    def _(event: KeyPressEvent) -> None:
        if screen.takes_key():
            _choose(screen)

    @keys.add("up", filter=choosing)
    @keys.add("c-p", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.move(-1)

    @keys.add("down", filter=choosing)
    @keys.add("c-n", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.move(1)

    @keys.add("pageup", filter=asking)
    def _(event: KeyPressEvent) -> None:
        screen.scroll(-1)

    @keys.add("pagedown", filter=asking)
    def _(event: KeyPressEvent) -> None:
        screen.scroll(1)

    @keys.add("tab", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        if screen.menu and screen.menu.current and screen.menu.current.takes and screen.takes_key():
            screen.note()

    @keys.add("escape", filter=choosing)
    def _(event: KeyPressEvent) -> None:
        screen.settle(None)


def _writing(keys: KeyBindings, screen: Screen) -> None:
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
            screen.draft(" ")

    @keys.add("escape", filter=noting)
    def _(event: KeyPressEvent) -> None:
        screen.close_note()

    @keys.add("backspace", filter=seeking)
    def _(event: KeyPressEvent) -> None:
        if screen.menu:
            screen.menu.seek(screen.menu.sought[:-1])

    @keys.add("backspace", filter=choosing & ~seeking)
    def _(event: KeyPressEvent) -> None:
        screen.undraft()

    @keys.add(Keys.BracketedPaste, filter=choosing)
    def _(event: KeyPressEvent) -> None:
        if screen.menu and screen.menu.is_sought and screen.is_listening:
            screen.menu.seek(screen.menu.sought + " ".join(event.data.split()))
        else:
            screen.draft("")
            screen.line.paste(event.data)

    @keys.add(Keys.Any, filter=choosing)
    def _(event: KeyPressEvent) -> None:
        if screen.menu is not None and event.data and event.data.isprintable():
            _typed(screen, screen.menu, event.data)


def _typed(screen: Screen, menu: Menu, text: str) -> None:
    """A letter that is typed while a menu is open: it searches, is the number of an option, or is kept for the prompt."""
    if menu.is_sought and screen.is_listening:
        menu.seek(menu.sought + text)
    elif not _is_number(text) or screen.is_drafting or not screen.is_listening or not screen.select(text):
        screen.draft(text)
    elif menu.is_many:
        menu.toggle()


def _is_number(text: str) -> bool:
    return text in tuple("123456789")


def _anywhere(keys: KeyBindings, screen: Screen, actions: Actions, twice: Twice) -> None:
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
            screen.settle(None)
        elif actions.interrupt():
            twice.forget()
        elif screen.line.buffer.text:
            screen.line.buffer.reset()
        elif twice.press("c-c", "ctrl+c again to leave"):
            actions.leave()
