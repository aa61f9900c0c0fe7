"""The comparison to the letter, without the CLI."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.mock_api import text
from tests.oracle.verbatim import is_beside_left_out, unwritten, without_context, without_opening

Json = dict[str, Any]
NOTE = "<system-reminder>\nnote\n</system-reminder>"


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def system(words: str) -> Json:
    return {"role": "system", "content": [text(words)]}


def result(content: str | list[Json]) -> Json:
    return {"type": "tool_result", "tool_use_id": "t", "content": content}


OURS = [user(result("out")), system("one"), user(text("next"))]
BESIDE = {
    "a reminder": [user(result("out"), text(NOTE)), system("one"), user(text("next"))],
    "a reminder in a result": [user(result(f"out\n\n{NOTE}")), system("one"), user(text("next"))],
    "a system paragraph": [user(result("out")), system("one\n\ntwo"), user(text("next"))],
    "a new line before it": [user(result("out")), system("one"), user(text("next\n"), text(NOTE))],
}
DIFFERENT = {
    "a text": [user(result("out"), text("words")), system("one"), user(text("next"))],
    "less": [user(result("out")), user(text("next"))],
    "two reminders": [user(result("out"), text(NOTE)), system("one"), user(text("next"), text(NOTE))],
    "a new line alone": [user(result("out")), system("one"), user(text("next\n"))],
    "another result": [user(result(f"other\n\n{NOTE}")), system("one"), user(text("next"))],
}


@pytest.mark.parametrize("name", BESIDE)
def test_one_reminder_is_allowed_for_an_attachment_that_is_left_out(name: str) -> None:
    assert is_beside_left_out(OURS, BESIDE[name], 1)
    assert not is_beside_left_out(OURS, BESIDE[name], 0)


@pytest.mark.parametrize("name", DIFFERENT)
def test_nothing_else_is_allowed(name: str) -> None:
    assert not is_beside_left_out(OURS, DIFFERENT[name], 1)


def test_a_reminder_among_the_texts_of_a_result_is_allowed_for_one_that_is_left_out() -> None:
    ours, theirs = [user(result([text("out")]))], [user(result([text("out"), text(NOTE)]))]
    assert is_beside_left_out(ours, theirs, 1)
    assert not is_beside_left_out(ours, theirs, 0)
    assert not is_beside_left_out(ours, [user(result([text("out"), text("words")]))], 1)


def test_the_conversation_alone_keeps_every_word_of_it() -> None:
    said = [user(text(NOTE), text("hi\n")), system("one"), user(result(f"out\n\n{NOTE}"))]
    assert without_context(said) == [user(text("hi\n")), user(result("out"))]


SKILLS = "The following skills are available for use with the Skill tool:\n\n- x"


def contents(said: list[Json]) -> list[str]:
    return [entry.data["attachment"]["content"] for entry in unwritten(said)]


def test_a_listing_beside_the_new_prompt_is_taken_from_the_request() -> None:
    listing = f"<system-reminder>\n{SKILLS}\n</system-reminder>"
    assert contents([user(text("hi")), user(text(f"{listing}\n"), text("next"))]) == [listing]
    assert contents([user(text("next")), system(f"one\n\n{SKILLS}")]) == [SKILLS]
    assert contents([user(text("next")), system(SKILLS)]) == [SKILLS]


def test_other_reminders_and_earlier_messages_are_compared() -> None:
    listing = f"<system-reminder>\n{SKILLS}\n</system-reminder>"
    assert contents([user(text(listing)), user(text(NOTE), text("next"))]) == []


def test_only_the_opening_of_the_first_message_is_left_out() -> None:
    opening = "<system-reminder>\nAs you answer the user's questions, you can use this\n</system-reminder>"
    used: set[str] = set()
    said = [user(text(opening), text(NOTE), text("hi")), user(text(opening))]
    assert without_opening(said, used) == [user(text(NOTE), text("hi")), user(text(opening))]
    assert used == {"opening"}
