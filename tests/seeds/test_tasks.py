"""The everyday tasks of people who come from another tool, on trees that were written by hand: see capture.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.seeds.capture import NAMES, Task, matches, plant, tasks, type_command

ALL = [(name, number, task) for name in NAMES for number, task in enumerate(tasks(name))]


@pytest.mark.parametrize(("name", "number", "task"), ALL, ids=[f"{name}: {task.title}" for name, _, task in ALL])
def test_a_task_prints_what_its_file_shows(name: str, number: int, task: Task, tmp_path: Path) -> None:
    plant(name, tmp_path)
    for command in task.commands:
        printed = type_command(command.line, tmp_path, in_shell=number == 0)
        assert matches(command.shown, printed), f"$ {command.line}\n" + "\n".join(printed)


def test_each_tool_has_ten_tasks() -> None:
    assert {name: len(tasks(name)) >= 10 for name in NAMES} == dict.fromkeys(
        ["client", "cloner", "collector", "recall", "rounds"], True
    )


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["a 9mo ago"], ["a 11mo ago"], True),
        (["a"], ["a", "b"], False),
        (["a", "…"], ["a", "b"], True),
        (["a … c"], ["a b c"], True),
        (["a"], ["b"], False),
        ([], ["b"], False),
    ],
)
def test_all_that_is_printed_is_compared(shown: list[str], printed: list[str], same: bool) -> None:
    assert matches(shown, printed) is same
