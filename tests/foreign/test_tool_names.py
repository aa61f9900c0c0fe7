"""Tools of other programs, and those of Claude Code that mean the same."""

from __future__ import annotations

from typing import Any

import pytest

from clew.foreign.codex_patch import translate_patch
from clew.foreign.tool_names import translate_call

CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("shell", {"command": ["bash", "-lc", "ls | wc"]}, "Bash", {"command": "ls | wc"}),
    ("shell", {"command": ["git", "log", "-1"], "workdir": "/w"}, "Bash", {"command": "git log -1"}),
    ("shell", {"command": ["ls"], "workdir": "sub"}, "Bash", {"command": "cd sub && ls"}),
    ("run_shell_command", {"command": "ls", "description": "d"}, "Bash", {"command": "ls", "description": "d"}),
    ("shell", {"command": []}, "shell", {"command": []}),
    ("read", {"filePath": "a.py", "limit": 5}, "Read", {"file_path": "/w/a.py", "limit": 5}),
    ("read_file", {"absolute_path": "/a", "start_line": 3}, "read_file", {"absolute_path": "/a", "start_line": 3}),
    ("write_file", {"file_path": "/a", "content": ""}, "Write", {"file_path": "/a", "content": ""}),
    ("write", {"filePath": "/a"}, "write", {"filePath": "/a"}),
    ("grep", {"pattern": "x", "include": "*.py"}, "Grep", {"pattern": "x", "glob": "*.py"}),
    ("list_directory", {"dir_path": "sub"}, "LS", {"path": "/w/sub"}),
    (
        "replace",
        {"file_path": "/a", "old_string": "b", "new_string": "c", "expected_replacements": 2},
        "replace",
        {"file_path": "/a", "old_string": "b", "new_string": "c", "expected_replacements": 2},
    ),
    (
        "todowrite",
        {"todos": [{"content": "a", "status": "cancelled"}]},
        "todowrite",
        {"todos": [{"content": "a", "status": "cancelled"}]},
    ),
    ("server.tool/x", {"a": 1}, "server_tool_x", {"a": 1}),
    ("", {}, "tool", {}),
]


@pytest.mark.parametrize(("name", "given", "ours", "made"), CASES)
def test_a_tool_has_the_name_that_means_the_same(name: str, given: Any, ours: str, made: Any) -> None:
    assert translate_call(name, given, "/w") == (ours, made)


def test_every_tool_that_is_named_has_the_inputs_it_needs() -> None:
    from clew.facts.tool_catalog import TOOLS

    for name, given, ours, made in CASES:
        if ours != name and ours in TOOLS:
            assert {*TOOLS[ours].required} <= made.keys(), (name, given)


@pytest.mark.parametrize(
    "body",
    [
        "*** Delete File: a\n",
        "*** Add File: a\n+x\n*** Add File: b\n+y\n",
        "*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n",
        "*** Update File: a\n@@ def f():\n-x\n+y\n",
        "*** Update File: a\n@@\n-x\n+y\n@@\n-z\n+w\n",
        "*** Update File: a\n@@\n+y\n",
        "",
    ],
)
def test_a_patch_that_does_more_than_one_thing_stays_a_patch(body: str) -> None:
    assert translate_patch(f"*** Begin Patch\n{body}*** End Patch") is None


def test_a_patch_that_changes_one_place() -> None:
    patch = "*** Begin Patch\n*** Update File: a\n@@\n one\n-two\n+2\n+3\n\n four\n*** End of File\n*** End Patch"
    made = {"file_path": "a", "old_string": "one\ntwo\n\nfour", "new_string": "one\n2\n3\n\nfour"}
    assert translate_patch(patch) == ("Edit", made)
