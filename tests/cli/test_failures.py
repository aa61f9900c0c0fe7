"""Tools that failed, in every form in which Claude Code has written that down, as every command shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.hand_written import ONE, reply, result, text, use, user, write

NOT_FOUND = "Error: File not found: /path/to/missing/file"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def read_missing(claude: Path, record: Any = NOT_FOUND, tool: str = "Read", **block: Any) -> None:
    write(
        claude,
        ONE,
        user(1, "Hello, please read the file"),
        reply(2, use("toolu_1", tool, file_path="/path/to/missing/file"), stop="tool_use"),
        result(3, "toolu_1", "quagga gone", record, **block),
        reply(4, text("It is missing.")),
    )


def failures(clew: Run) -> dict[str, bool]:
    """Whether the one call failed, by each command that says so."""
    (turn,) = map(json.loads, clew("show", ONE, "--json")[1].splitlines())
    exported = [json.loads(line) for line in clew("export", ONE, "--format", "json")[1].splitlines()]
    clew("collect")
    asked = "SELECT c.failed, t.failed, s.failed FROM calls c, turns t, sessions s"
    (row,) = map(json.loads, clew("sql", asked, "--json")[1].splitlines())
    return {
        "show": "FAILED" in clew("show", ONE)[1],
        "show --json": turn["replies"][0]["calls"][0]["failed"],
        "export": exported[1]["replies"][0]["calls"][0]["failed"],
        "search": clew("search", "quagga", "is:error")[0] == 0,
        "search of the call": clew("search", "is:error", "tool:Read", "in:input")[0] == 0,
        "sql": set(row["row"].values()) == {1},
    }


@pytest.mark.req("R108")
@pytest.mark.parametrize("record", [NOT_FOUND, "User rejected tool use", ""])
def test_a_string_for_a_record_is_a_failure_in_every_command(claude: Path, clew: Run, record: str) -> None:
    read_missing(claude, record)
    assert [command for command, is_failure in failures(clew).items() if not is_failure] == []


@pytest.mark.parametrize(
    ("record", "block"),
    [({"type": "text", "file": {"filePath": "/a"}}, {}), (None, {}), (NOT_FOUND, {"is_error": False})],
)
def test_a_structured_record_or_the_word_of_the_result_is_no_failure(
    claude: Path, clew: Run, record: Any, block: dict[str, Any]
) -> None:
    read_missing(claude, record, **block)
    assert [command for command, is_failure in failures(clew).items() if is_failure] == []


@pytest.mark.parametrize(("record", "is_failure"), [("the weather is fine", False), ("Error: no such city", True)])
def test_the_plain_output_of_an_mcp_tool_is_no_failure(claude: Path, clew: Run, record: str, is_failure: bool) -> None:
    read_missing(claude, record, "mcp__weather__read")
    assert ("FAILED" in clew("show", ONE)[1]) is is_failure
    assert (clew("search", "quagga", "is:error")[0] == 0) is is_failure


@pytest.mark.req("R108")
@pytest.mark.parametrize(
    "edit", [("compress", "--bands", "rest:brief", "--tools", "keep", "--extractive"), ("trim", "--copies")]
)
def test_a_failure_is_one_after_an_edit(claude: Path, clew: Run, edit: tuple[str, ...]) -> None:
    read_missing(claude, "Error: " + "File not found: /path/to/missing/file " * 40)
    code, out, err = clew(edit[0], ONE, *edit[1:], "--json")
    assert code == 0, err
    made = json.loads(out.splitlines()[-1])
    assert "FAILED" in clew("show", made["id"])[1]


@pytest.mark.req("R105", "R106")
@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"filenames": ["a"], "durationMs": 5, "numFiles": 1, "truncated": False}, "Glob"),
        ({"stdout": "", "stderr": "", "interrupted": False, "isImage": False}, "Bash"),
        ({"type": "create"}, "Write"),
        ({"type": "update"}, "Write"),
        ({"filePath": "/a", "oldString": "b", "newString": "c"}, "Edit"),
        ({"oldTodos": [], "newTodos": []}, "TodoWrite"),
        ({"status": "completed", "prompt": "p", "agentId": "a1", "content": []}, "Task"),
        (NOT_FOUND, "error"),
        ({"brand": "new"}, None),
    ],
)
def test_the_json_of_a_call_names_the_kind_of_its_record(
    claude: Path, clew: Run, record: Any, kind: str | None
) -> None:
    read_missing(claude, record, "SomeTool")
    (turn,) = map(json.loads, clew("show", ONE, "--json")[1].splitlines())
    assert turn["replies"][0]["calls"][0]["record"] == kind
