"""The files that a refresh reads: their order, and the memory that they take."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from clew.index.changed_files import FileColumns
from clew.wire.tree_walk import TranscriptFile, list_transcripts
from tests.cli.side_tree import prompt, write_lines


def session_file(number: int, mtime: int) -> TranscriptFile:
    session = f"{number:08x}-aaaa-4bbb-8ccc-000000000001"
    path = os.path.join(os.sep, "claude", "projects", f"-p{number % 7}", f"{session}.jsonl")
    return TranscriptFile(path, f"-p{number % 7}", session, "", number, mtime, (1 << 62) + number, mtime + 1)


def columns_of(files: list[TranscriptFile]) -> FileColumns:
    columns = FileColumns()
    for file in files:
        columns.add(file)
    columns.sort()
    return columns


@given(st.lists(st.integers(-3, 3)))
def test_the_newest_file_is_first(times: list[int]) -> None:
    files = [session_file(number, mtime) for number, mtime in enumerate(times)]
    columns = columns_of(files[::-1])
    assert list(columns) == sorted(files, key=lambda file: (-file.mtime_ns, file.path))
    assert (len(columns), columns.size) == (len(files), sum(file.size for file in files))
    columns.clear()
    assert not columns and not list(columns)


def test_files_of_every_layout_come_back_as_they_were(tmp_path: Path) -> None:
    project = tmp_path / "projects/-p"
    one, other = (session_file(number, 0).session for number in (1, 2))
    for name in (f"{one}.jsonl", f"{other}/subagents/agent-1.jsonl", f"{other}/subagents/workflows/w/agent-2.jsonl"):
        write_lines(project / name, prompt(1, None, "hi"))
    for name in ("subagents/agent-3.jsonl", "agent-4.jsonl"):
        write_lines(project / name, prompt(1, None, "hi"))
    files = list_transcripts(str(tmp_path))
    assert {(file.session, file.agent) for file in files} == {
        (one, ""),
        (other, "1"),
        (other, "2"),
        ("", "3"),
        ("", "4"),
    }
    assert sorted(columns_of(files)) == sorted(files)


def test_many_files_take_little_memory() -> None:
    """As tuples they took 450 bytes each, in each of two processes."""
    tracemalloc.start()
    columns = FileColumns()
    for number in range(5000):
        columns.add(session_file(number, number))
    columns.sort()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(columns) == 5000 and size / 5000 < 200, size / 5000
