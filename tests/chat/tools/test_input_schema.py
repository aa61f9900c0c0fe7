"""Inputs: what is taken for what, and what is told of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from clew.chat.tools.builtin.bash import BASH
from clew.chat.tools.builtin.edit_file import EDIT, MULTI_EDIT
from clew.chat.tools.builtin.read_file import READ
from clew.chat.tools.builtin.todo_write import TODO_WRITE
from clew.chat.tools.input_schema import failure_result, unknown_tool_error, validate_input
from clew.chat.tools.tool import ToolFailed


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"file_path": "/a", "limit": "5"}, {"file_path": "/a", "limit": 5}),
        ({"file_path": "/a", "limit": 5.0}, {"file_path": "/a", "limit": 5}),
        ({"file_path": "/a", "limit": None}, {"file_path": "/a"}),
    ],
)
def test_numbers_may_come_as_texts(given: Any, made: Any) -> None:
    assert validate_input(READ, given) == made


def test_truths_and_lists_may_come_as_texts_and_defaults_are_filled_in() -> None:
    assert validate_input(BASH, {"command": "5", "run_in_background": "True"}) == {
        "command": "5",
        "run_in_background": True,
    }
    assert validate_input(EDIT, {"file_path": "a", "old_string": "1", "new_string": ""})["replace_all"] is False
    edits = '[{"old_string": "a", "new_string": "b", "replace_all": "true"}]'
    assert validate_input(MULTI_EDIT, {"file_path": "a", "edits": edits})["edits"] == [
        {"old_string": "a", "new_string": "b", "replace_all": True}
    ]


def test_the_given_input_is_left_as_it_is() -> None:
    given = {"file_path": "/a", "limit": "5"}
    validate_input(READ, given)
    assert given == {"file_path": "/a", "limit": "5"}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "issue:\nThe required parameter `file_path` is missing"),
        ({"file_path": 5}, "issue:\nThe parameter `file_path` type is expected as `string` but provided as `number`"),
        (
            {"path": "/a"},
            "issues:\nThe required parameter `file_path` is missing\nAn unexpected parameter `path` was provided",
        ),
        (
            {"file_path": "/a", "limit": "five"},
            "issue:\nThe parameter `limit` type is expected as `number` but provided as `string`",
        ),
        (
            {"file_path": "/a", "limit": True},
            "issue:\nThe parameter `limit` type is expected as `number` but provided as `boolean`",
        ),
        ({"file_path": "/a", "limit": 0}, "issue:\nThe parameter `limit` must be at least 1"),
        ("/a", "issue:\nThe input type is expected as `object` but provided as `string`"),
        (None, "issue:\nThe input type is expected as `object` but provided as `null`"),
    ],
)
def test_what_is_wrong_is_told_all_at_once(given: Any, text: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        validate_input(READ, given)
    assert failed.value.text == f"InputValidationError: Read failed due to the following {text}"
    result = failure_result(failed.value)
    assert result.content == f"<tool_use_error>{failed.value.text}</tool_use_error>"
    assert result.detail == failed.value.text
    assert result.is_error


def test_places_inside_lists_are_named() -> None:
    with pytest.raises(ToolFailed) as failed:
        validate_input(TODO_WRITE, {"todos": [{"content": "a", "status": "later", "activeForm": "b"}, {"content": ""}]})
    assert failed.value.text.splitlines()[1:] == [
        'The parameter `todos[0].status` must be one of "pending", "in_progress", "completed"',
        "The required parameter `todos[1].status` is missing",
        "The required parameter `todos[1].activeForm` is missing",
        "The parameter `todos[1].content` must not be empty",
    ]


def test_a_tool_that_is_not_there() -> None:
    result = failure_result(unknown_tool_error("Fly"))
    assert result.content == "<tool_use_error>Error: No such tool available: Fly</tool_use_error>"
    assert result.detail == "Error: No such tool available: Fly"
