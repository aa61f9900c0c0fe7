"""Keys at the prompt and in questions, through a pipe in the place of the keyboard."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from clew.console.key_bindings import Actions
from clew.console.menu import Menu, MenuAnswer, Option, QuestionLine
from clew.console.pasted_text import Pastes
from clew.console.prompt_completion import NamedCommand
from clew.console.prompt_editor import PromptEditor
from clew.console.screen import Screen
from clew.console.ui import UserInput

PATIENCE = 30.0
ENTER, ESC, TAB, DOWN, SHIFT_TAB, CTRL_C = "\r", "\x1b", "\t", "\x1b[B", "\x1b[Z", "\x03"


class Desk:
    """A screen that nobody sees, and what was set going on it."""

    def __init__(self, keyboard: PipeInput, cwd: Path) -> None:
        self.keyboard = keyboard
        self.typed: list[UserInput] = []
        self.done: list[str] = []
        self.is_busy = False
        history = InMemoryHistory(["older", "newer"])
        commands = [NamedCommand("status", "how it is"), NamedCommand("stop", "an end")]
        self.line = PromptEditor(cwd, history, lambda: commands, lambda: ["notes.txt", "src/"], Pastes())

        def told(word: str) -> Callable[[], None]:
            return lambda: self.done.append(word)

        actions = Actions(
            submit=self.typed.append,
            interrupt=self._interrupt,
            cycle=told("cycle"),
            aside=told("aside"),
            rewind=told("rewind"),
            verbose=told("verbose"),
            unqueue=lambda: "",
            recall=told("recall"),
            leave=told("leave"),
        )
        self.screen = Screen(
            actions,
            self.line,
            live_lines=lambda get_renderer, room: [],
            status=lambda width: [("", "status")],
            queued=list,
            input=keyboard,
            output=DummyOutput(),
            pause=3600,
        )

    def _interrupt(self) -> bool:
        self.done.append("interrupt")
        return self.is_busy

    def listen(self) -> None:
        """As if no key had been pressed for a while."""
        self.screen._ignore_keys_until = 0.0

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                await asyncio.sleep(0.005)

    async def press(self, keys: str, is_so: Callable[[], bool]) -> None:
        self.keyboard.send_text(keys)
        await self.until(is_so)

    @property
    def text(self) -> str:
        return self.line.buffer.text


def at(tmp_path: Path, drive: Callable[[Desk], Awaitable[None]]) -> Desk:
    async def run() -> Desk:
        with create_pipe_input() as keyboard:
            desk = Desk(keyboard, tmp_path)
            running = asyncio.create_task(desk.screen.app.run_async(set_exception_handler=False))
            async with asyncio.timeout(PATIENCE):
                await desk.screen.is_drawn.wait()
            await drive(desk)
            desk.screen.app.exit(result=0)
            await running
            return desk

    return asyncio.run(run())


def test_lines_go_on_by_four_keys_and_enter_sends(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        await desk.press("a\\\rb\x1b\rc\nd\x1b[13;2ue", lambda: desk.text == "a\nb\nc\nd\ne")
        await desk.press(ENTER, lambda: len(desk.typed) == 1)

    assert at(tmp_path, drive).typed == [UserInput("a\nb\nc\nd\ne", "a\nb\nc\nd\ne")]


def test_a_long_paste_is_folded_and_deleted_as_one(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        await desk.press("\x1b[200~1\r2\r3\r4\r5\x1b[201~", lambda: desk.text == "[Pasted text #1 +4 lines]")
        await desk.press("\x7f", lambda: desk.text == "")
        await desk.press("\x1b[200~1\n2\n3\n4\n5\x1b[201~!", lambda: desk.text.endswith("!"))
        await desk.press(ENTER, lambda: bool(desk.typed))

    (typed,) = at(tmp_path, drive).typed
    assert typed.shown == "[Pasted text #2 +4 lines]!"
    assert typed.full_text == "1\n2\n3\n4\n5!"


def test_offers_are_taken_by_tab_and_commands_run_by_enter(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        await desk.press("see @no", lambda: [o.text for o in desk.line.completions] == ["@notes.txt"])
        await desk.press(TAB, lambda: desk.text == "see @notes.txt ")
        await desk.press(CTRL_C, lambda: desk.text == "")
        await desk.press("/st", lambda: len(desk.line.completions) == 2)
        await desk.press(DOWN, lambda: desk.line.selected == 1)
        await desk.press(ESC, lambda: not desk.line.completions)
        await desk.press("\x7ft", lambda: len(desk.line.completions) == 2)
        await desk.press(ENTER, lambda: bool(desk.typed))

    assert at(tmp_path, drive).typed[0].full_text == "/status"


def test_escape_interrupts_or_asks_to_be_pressed_again(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        desk.is_busy = True
        await desk.press(ESC, lambda: desk.done == ["interrupt"])
        desk.is_busy = False
        await desk.press(ESC + ESC, lambda: "rewind" in desk.done)
        await desk.press("words", lambda: desk.text == "words")
        await desk.press(ESC + ESC, lambda: desk.text == "")
        assert desk.done.count("rewind") == 1
        await desk.press(SHIFT_TAB + "\x02" + "\x0f" + "\x04", lambda: desk.done[-1] == "leave")
        assert desk.done[-4:] == ["cycle", "aside", "verbose", "leave"]
        await desk.press(CTRL_C + CTRL_C, lambda: desk.done.count("leave") == 2)

    at(tmp_path, drive)


def test_the_history_is_walked(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        await desk.until(lambda: len(desk.line.buffer.history.get_strings()) == 2)
        await desk.press("\x1b[A", lambda: desk.text == "newer")
        await desk.press("\x1b[A", lambda: desk.text == "older")
        await desk.press(DOWN, lambda: desk.text == "newer")

    at(tmp_path, drive)


def test_a_question_is_answered_by_number_by_arrows_or_with_words(tmp_path: Path) -> None:
    options = [Option("Yes", "yes", takes="add a word"), Option("No", "no", takes="say why", opens=True)]
    answers: list[MenuAnswer | None] = []

    async def ask(desk: Desk, keys: tuple[str, ...]) -> None:
        asking = asyncio.create_task(desk.screen.choose(Menu("May it?", options)))
        await desk.until(lambda: desk.screen.menu is not None)
        desk.listen()
        for key in keys:
            is_noting = desk.line.is_noting
            desk.keyboard.send_text(key)
            if key == TAB or (key == ENTER and desk.screen.menu and desk.screen.menu.at == 1 and not is_noting):
                await desk.until(lambda: desk.line.is_noting)
            elif key in "12":
                await desk.until(lambda at=int(key) - 1: desk.screen.menu is not None and desk.screen.menu.at == at)  # type: ignore[misc]
        answers.append(await asking)

    async def drive(desk: Desk) -> None:
        for keys in (
            ("1", ENTER),
            (DOWN, DOWN, "\x1b[A", ENTER),
            (DOWN, TAB, "and quickly", ENTER),
            ("2", ENTER, "not now", ENTER),
            (ESC,),
        ):
            await ask(desk, keys)
        await desk.press("typing", lambda: desk.text == "typing")

    at(tmp_path, drive)
    assert answers == [
        MenuAnswer(("yes",)),
        MenuAnswer(("yes",)),
        MenuAnswer(("yes",), "and quickly"),
        MenuAnswer(("no",), "not now"),
        None,
    ]


def test_a_question_that_comes_while_somebody_types_takes_no_key_for_an_answer(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        await desk.press("1 apple and", lambda: desk.text == "1 apple and")
        asking = asyncio.create_task(desk.screen.choose(Menu("May it?", [Option("Yes", "yes")])))
        await desk.until(lambda: desk.screen.menu is not None)
        await desk.press(" 1 pear", lambda: desk.text == "1 apple and 1 pear")
        assert not asking.done()
        desk.screen.close_menu(None)
        assert await asking is None

    at(tmp_path, drive)


def sudden(count: int = 3) -> Menu:
    return Menu("May it?", [Option(f"option {n}", n) for n in range(1, count + 1)], is_sudden=True)


@pytest.mark.parametrize(
    "typed",
    [
        "fix the bug\r",
        "1\r",
        "1 apple\r",
        "y\r",
        "\r\r\r",
        f"{DOWN}\r",
        f"{DOWN}{DOWN}\r1\r",
        "\x1b[200~1\r2\r\x1b[201~\r",
    ],
)
def test_keys_that_come_before_a_pause_are_kept_for_the_prompt(tmp_path: Path, typed: str) -> None:
    """The pause of this screen is an hour: all keys come too early."""

    async def drive(desk: Desk) -> None:
        asking = asyncio.create_task(desk.screen.choose(sudden()))
        await desk.until(lambda: desk.screen.menu is not None)
        desk.keyboard.send_text(typed + "the end")
        await desk.until(lambda: desk.text.endswith("the end"))
        letters = re.sub("\x1b(\\[20[01]~|\\[B)", "", typed)
        assert desk.text.replace("\n", "") == letters.replace("\r", "") + "the end"
        assert not asking.done()
        assert desk.typed == []  # Enter does not send it either
        desk.screen.close_menu(None)
        assert await asking is None
        assert desk.text.endswith("the end")

    at(tmp_path, drive)


@pytest.mark.parametrize(
    "typed", ["fix the bug\r", "1 apple\r", "12 apples\r", "2. more\r", "y\r", "1a1\r", "\x1b[200~1\x1b[201~\r"]
)
def test_a_prompt_that_is_typed_at_an_open_question_does_not_answer_it(tmp_path: Path, typed: str) -> None:
    async def drive(desk: Desk) -> None:
        asking = asyncio.create_task(desk.screen.choose(sudden()))
        await desk.until(lambda: desk.screen.menu is not None)
        desk.listen()
        letters = re.sub("\x1b\\[20[01]~", "", typed).replace("\r", "")
        desk.keyboard.send_text(typed)
        await desk.until(lambda: desk.text == letters)
        desk.listen()  # the user makes a pause, and goes on
        await desk.press("1\r1", lambda: desk.text == letters + "11")
        assert not asking.done()
        desk.listen()
        desk.keyboard.send_text(f"{DOWN}\r")  # which is an answer
        answer = await asking
        assert answer is not None
        assert answer.value == 1
        assert desk.text == letters + "11"

    at(tmp_path, drive)


def test_a_number_selects_and_enter_confirms(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        menu = sudden()
        asking = asyncio.create_task(desk.screen.choose(menu))
        await desk.until(lambda: desk.screen.menu is menu)
        desk.listen()
        await desk.press("2", lambda: menu.at == 1)
        assert not asking.done()
        desk.keyboard.send_text("\r")
        assert await asking == MenuAnswer((2,))
        assert desk.text == ""

    at(tmp_path, drive)


def test_letters_at_a_menu_that_the_user_opened_are_kept_too(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        menu = Menu("Which?", [Option("a", "a"), Option("b", "b")])
        asking = asyncio.create_task(desk.screen.choose(menu))
        await desk.until(lambda: desk.screen.menu is menu)
        await desk.press("\r2 words\r", lambda: desk.text == "2 words")
        assert not asking.done()
        await desk.press("\x7f", lambda: desk.text == "2 word")
        desk.screen.close_menu(None)
        await asking

    at(tmp_path, drive)


def test_a_key_that_is_pressed_twice_does_not_answer_the_next_menu_too(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        asking = asyncio.create_task(desk.screen.choose(Menu("Restore?", [Option("a", 1), Option("b", 2)])))
        await desk.until(lambda: desk.screen.menu is not None)
        desk.keyboard.send_text("2\r")
        assert await asking == MenuAnswer((2,))
        asking = asyncio.create_task(desk.screen.choose(Menu("Delete?", [Option("No", 1), Option("Yes", 2)])))
        await desk.until(lambda: desk.screen.menu is not None)
        await desk.press(f"{DOWN}\r2", lambda: desk.text == "2")
        assert not asking.done()
        desk.screen.close_menu(None)
        await asking

    at(tmp_path, drive)


def test_words_for_a_question_that_goes_away_are_kept(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        menu = Menu("May it?", [Option("No", 1, takes="say why", opens=True)], is_sudden=True)
        asking = asyncio.create_task(desk.screen.choose(menu))
        await desk.until(lambda: desk.screen.menu is menu)
        desk.listen()
        await desk.press("1", lambda: menu.at == 0)
        await desk.press("\r", lambda: desk.line.is_noting)
        await desk.press("because of", lambda: desk.line.note.text == "because of")
        asking.cancel()
        await desk.until(lambda: desk.screen.menu is None)
        assert desk.text == "because of"

    at(tmp_path, drive)


def test_the_mode_cannot_be_changed_while_a_question_is_open(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        asking = asyncio.create_task(desk.screen.choose(sudden()))
        await desk.until(lambda: desk.screen.menu is not None)
        await desk.press(SHIFT_TAB + "x", lambda: desk.text == "x")
        assert "cycle" not in desk.done
        desk.screen.close_menu(None)
        await asking

    at(tmp_path, drive)


def test_a_question_takes_the_place_of_an_open_menu(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        first = asyncio.create_task(desk.screen.choose(Menu("Which?", [Option("a", "a")])))
        await desk.until(lambda: desk.screen.menu is not None)
        menu = sudden()
        second = asyncio.create_task(desk.screen.choose(menu))
        await desk.until(lambda: desk.screen.menu is menu)
        assert await first is None
        assert desk.screen.menu is menu
        desk.listen()
        desk.keyboard.send_text("1\r")
        assert await second == MenuAnswer((1,))

    at(tmp_path, drive)


def test_a_long_question_is_scrolled(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        menu = sudden()
        menu.details = [QuestionLine(f"line {n}", "│") for n in range(200)]
        asking = asyncio.create_task(desk.screen.choose(menu))
        await desk.until(lambda: desk.screen.menu is menu)
        await desk.press("\x1b[6~", lambda: menu.top > 0)
        below = menu.top
        await desk.press("\x1b[6~", lambda: menu.top > below)
        await desk.press("\x1b[5~", lambda: menu.top == below)
        assert not asking.done()
        desk.screen.close_menu(None)
        await asking

    at(tmp_path, drive)


def test_many_answers_are_marked_and_sessions_sought(tmp_path: Path) -> None:
    async def drive(desk: Desk) -> None:
        many = Menu("Which?", [Option("a", "a"), Option("b", "b"), Option("c", "c")], is_many=True)
        asking = asyncio.create_task(desk.screen.choose(many))
        await desk.until(lambda: desk.screen.menu is not None)
        await desk.press(f"{DOWN} {DOWN}{DOWN} ", lambda: many.chosen == {0, 2})
        desk.keyboard.send_text(ENTER)
        assert await asking == MenuAnswer(("a", "c"))
        sought = Menu("Which?", [Option("red one", 1), Option("blue one", 2)], is_sought=True)
        asking = asyncio.create_task(desk.screen.choose(sought))
        await desk.until(lambda: desk.screen.menu is sought)
        await desk.press("blx\x7fu", lambda: sought.sought == "blu")
        desk.keyboard.send_text(ENTER)
        assert await asking == MenuAnswer((2,))

    at(tmp_path, drive)
