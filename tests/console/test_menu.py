"""Questions with numbered answers."""

from __future__ import annotations

from typing import Any

from clew.chat import events
from clew.chat.permission.decision import Decision
from clew.console.ask_user_dialog import ALWAYS, MODE, NO, YES, permission_menu
from clew.console.menu import MAX_VISIBLE_OPTIONS, Menu, Option
from clew.console.questionnaire import question_menu


def menu(count: int = 3, **more: Any) -> Menu:
    return Menu("Which?", [Option(f"option {n}", n) for n in range(1, count + 1)], **more)


def test_pointing_moving_and_choosing() -> None:
    made = menu()
    made.move(-1)
    answer = made.answer()
    assert answer is not None
    assert answer.value == 3
    assert made.point(2)
    assert not made.point(4)
    answer = made.answer("and words")
    assert answer is not None
    assert (answer.value, answer.text) == (2, "and words")


def test_several_can_be_marked() -> None:
    made = menu(is_many=True)
    made.toggle()  # nothing is selected yet
    made.move(1)
    made.toggle()
    made.point(3)
    made.toggle()
    answer = made.answer()
    assert answer is not None
    assert answer.values == (1, 3)


def test_what_is_sought_narrows_and_numbers_are_letters_then() -> None:
    made = menu(30, is_sought=True)
    assert len(made.window) == MAX_VISIBLE_OPTIONS
    made.seek("option 29")
    assert [made.options[i].value for i in made.shown] == [29]
    assert made.current is not None
    assert not made.point(1)
    made.seek("nothing")
    assert made.answer() is None


def test_an_answer_that_needs_words_is_none_without_them() -> None:
    made = Menu("Which?", [Option("Other", None, takes="say what", opens=True, needs_text=True)])
    assert made.answer("this") is None  # nothing is selected yet
    made.point(1)
    assert made.answer() is None
    answer = made.answer("this")
    assert answer is not None
    assert answer.text == "this"


def asked(name: str, rules: tuple[str, ...], **given: Any) -> events.PermissionRequested:
    decision = Decision("ask", "not allowed yet", suggestions=rules)
    waiting: Any = None
    return events.PermissionRequested(
        call_id="c", name=name, input=given, decision=decision, answer=waiting, folder="/p"
    )


def test_what_can_be_answered_to_a_call() -> None:
    bash = permission_menu(asked("Bash", ("Bash(make:*)",), command="make"), "default")
    assert [o.value for o in bash.options] == [YES, ALWAYS, NO]
    assert "Bash(make:*)" in bash.options[1].label
    edit = permission_menu(asked("Edit", ("Edit(/**)",)), "default")
    assert [o.value for o in edit.options] == [YES, MODE, NO]
    assert [o.value for o in permission_menu(asked("Bash", ()), "default").options] == [YES, NO]
    assert [o.value for o in permission_menu(asked("ExitPlanMode", ()), "plan").options] == [MODE, YES, NO]


def test_a_question_of_the_model_has_always_another_answer() -> None:
    made = question_menu({"question": "Q?", "header": "H", "options": [{"label": "A"}], "multiSelect": True})
    assert made.title == "[H] Q?"
    assert made.is_many
    assert [o.label for o in made.options] == ["A", "Something else"]
    assert made.options[-1].needs_text
