"""The records of tools (`toolUseResult`) at the command line: what each is a record of, whatever its tool is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_rounds import ID, Run, replied, said, use, write

READ = {"filePath": "/w/a.py", "content": "1\n", "numLines": 1, "startLine": 1, "totalLines": 1}


def record(clew: Run, claude: Path, detail: Any) -> tuple[str, bool]:
    write(
        claude,
        said("u1", None, "10:00:00", "look"),
        replied("a1", "u1", "10:00:01", use("call_1", "Custom")),
        said(
            "u2",
            "a1",
            "10:00:02",
            [{"type": "tool_result", "tool_use_id": "call_1", "content": "ok"}],
            toolUseResult=detail,
        ),
    )
    turn = json.loads(clew("show", ID, "--json")[1])
    [call] = turn["replies"][0]["calls"]
    return call["record"], call["failed"]


@pytest.mark.req("R104")
@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ({"mode": "files_with_matches", "filenames": ["a"], "numFiles": 1}, ("Grep", False)),
        ({"mode": "content", "filenames": [], "numFiles": 0, "appliedLimit": 100}, ("Grep", False)),
        ({"type": "text", "file": READ}, ("Read", False)),
        ("Error: File not found: /w/b.py", ("error", True)),
    ],
)
def test_records_of_searches_reads_and_failures(
    clew: Run, claude: Path, detail: Any, expected: tuple[str, bool]
) -> None:
    assert record(clew, claude, detail) == expected


@pytest.mark.req("R107")
def test_the_old_record_of_a_file_is_one_of_a_read(clew: Run, claude: Path) -> None:
    assert record(clew, claude, {"type": "file", "file": "print(1)"}) == ("Read", False)
