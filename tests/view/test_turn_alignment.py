"""Aligned turns: equal prompts stand together, similar ones between them, and the rest beside what took its place."""

from __future__ import annotations

import pytest

from clew.conversation.session import Session
from clew.conversation.turns import Turn
from clew.demo.talk import bash, talk
from clew.view import turn_alignment
from clew.view.diff_html import changed_words
from clew.view.turn_alignment import align_turns
from tests.step_count import Work, assert_linear

LONG = "please rename the function in the module and run all tests"


def turns(*prompts: str, seed: str = "a", call: str = "") -> tuple[Turn, ...]:
    told = talk(seed=seed)
    for prompt in prompts:
        told = told.user(prompt)
        told = told.reply("ok", call=bash(call)).result("x") if call else told.reply("ok")
    return Session(told.bytes()).turns


@pytest.mark.parametrize(
    ("left", "right", "kinds"),
    [
        (("a", "b"), ("a", "b"), "same same"),
        (("a", "b"), ("a", "x", "b"), "same right same"),
        (("a", "b", "c"), ("c",), "left left same"),
        (("a", LONG), (LONG + " twice", "a"), "right same left"),
        ((LONG,), (LONG + " twice",), "changed"),
        (("one", LONG, "two"), (LONG + " twice", "three", "four"), "left changed different right"),
        (("a",), ("b",), "different"),
        ((), ("b",), "right"),
        ((), (), ""),
    ],
)
def test_turns_stand_beside_those_that_they_correspond_to(
    left: tuple[str, ...], right: tuple[str, ...], kinds: str
) -> None:
    pairs = align_turns(turns(*left), turns(*right, seed="b"))
    assert " ".join(pair.kind for pair in pairs) == kinds
    assert [pair.left.text for pair in pairs if pair.left] == list(left)
    assert [pair.right.text for pair in pairs if pair.right] == list(right)


def test_a_changed_pair_names_what_differs() -> None:
    (pair,) = align_turns(turns("go", call="ls"), turns("go", call="pwd"))
    assert (pair.kind, pair.differences) == ("changed", ["calls"])
    (pair,) = align_turns(turns(LONG), turns(LONG + " twice"))
    assert pair.differences == ["prompt"]


def test_changed_words_are_found() -> None:
    old, new = changed_words("read the old file now", "read the new file")
    assert [("read the old file now"[a:b]) for a, b in old] == ["old", " now"]
    assert [("read the new file"[a:b]) for a, b in new] == ["new"]
    assert changed_words("one two", "three four five six") == ([], [])


def test_a_prompt_is_compared_with_some_of_the_prompts_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_alignment, "_REACH", 10)

    def prepare(count: int) -> Work:
        left = turns(*(f"one {number} {number}" for number in range(count)))
        right = turns(*(f"other{number} prompt" for number in range(count)))
        return lambda: align_turns(left, right)

    assert_linear(prepare, 15)
