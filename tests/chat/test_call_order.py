"""The order of checks of a tool call: input, then hooks, then permission. A wrong call asks nobody and runs no hook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chat.set_up import CLEW, Place, Ran
from tests.oracle.mock_api import Reply, text, tool_use

EVENTS = ("PreToolUse", "PermissionRequest", "PostToolUse", "PostToolUseFailure")


def calls_in(place: Place, *calls: Any, deny: tuple[str, ...] = ()) -> tuple[Ran, list[str], list[Any]]:
    """Run one call after the other; return the run, the hooks that ran, and the denials."""
    log = place.home / "hooks.log"
    hooks = {name: [{"hooks": [{"type": "command", "command": f"echo {name} >> {log}"}]}] for name in EVENTS}
    place.user({"hooks": hooks, "permissions": {"deny": list(deny)}})
    replies = [*(Reply([call]) for call in calls), Reply([text("Done.")])]
    ran = place.run(CLEW, "go", "--output-format", "json", replies=replies)
    return ran, log.read_text().split() if log.exists() else [], json.loads(ran.stdout)["permission_denials"]


def test_a_wrong_call_asks_nobody_and_runs_no_hook(tmp_path: Path) -> None:
    place = Place(tmp_path)
    file = str(place.write("project/a.txt", "one\ntwo\n"))
    calls = (
        tool_use("Edit", file_path=file, old_string="one", new_string="1"),
        tool_use("Edit", file_path=file, old_string="one", new_string="one"),
        tool_use("Edit", file_path=file + ".none", old_string="one", new_string="1"),
        tool_use("MultiEdit", file_path=file, edits=[{"old_string": "one", "new_string": "1"}]),
        tool_use("Write", file_path=file, content="x"),
        tool_use("NotebookEdit", notebook_path=file, new_source="x", cell_id="x"),
        tool_use("WebFetch", url="nowhere", prompt="x"),
        tool_use("Skill", skill="none"),
        tool_use("TaskStop", task_id="none"),
        tool_use("Edit", file_path=file),
    )
    ran, hooks, denials = calls_in(place, *calls)
    assert (hooks, denials) == ([], [])
    assert len(ran.results) == len(calls)
    assert all(result.startswith("<tool_use_error>") for result in ran.results), ran.results


def test_a_text_that_is_not_in_the_file_is_told_before_the_permission(tmp_path: Path) -> None:
    place = Place(tmp_path)
    file = str(place.write("project/a.txt", "one\ntwo\n"))
    edit = tool_use("Edit", file_path=file, old_string="none", new_string="1")
    ran, hooks, denials = calls_in(place, tool_use("Read", file_path=file), edit)
    assert "String to replace not found" in ran.results[-1]
    assert (hooks, denials) == (["PreToolUse", "PostToolUse"], [])  # those of the read


def test_a_wrong_call_in_plan_mode_is_no_denial(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.user({"permissions": {"defaultMode": "plan"}})
    edit = tool_use("Edit", file_path=str(place.write("project/a.txt", "one\n")), old_string="one", new_string="one")
    ran = place.run(CLEW, "go", "--output-format", "json", replies=[Reply([edit]), Reply([text("Done.")])])
    assert json.loads(ran.stdout)["permission_denials"] == []
    assert "exactly the same" in ran.results[0]


@pytest.mark.parametrize("name", ["a.txt", "none.txt"])
def test_the_error_of_a_denied_file_does_not_tell_whether_it_is_there(tmp_path: Path, name: str) -> None:
    place = Place(tmp_path)
    place.write("project/a.txt", "one\n")
    edit = tool_use("Edit", file_path=str(place.project / name), old_string="one", new_string="1")
    ran, _, denials = calls_in(place, edit, deny=("Edit(/**)", "Read(/**)", "Edit(./**)", "Read(./**)"))
    assert len(denials) == 1
    assert "exist" not in ran.results[-1] and "read yet" not in ran.results[-1]


def test_a_right_call_runs_hooks_and_asks(tmp_path: Path) -> None:
    place = Place(tmp_path)
    _, hooks, denials = calls_in(place, tool_use("Write", file_path=str(place.project / "new.txt"), content="x"))
    assert (hooks, len(denials)) == (["PreToolUse", "PermissionRequest"], 1)
