"""The files that a refresh reads: their order, and the memory that they take."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from clew.index.changed_files import FileColumns
from clew.index.session_index import Index
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


@given(st.lists(st.integers(0, 50)), st.integers(1, 100))
def test_windows_have_all_files_newest_first_and_begin_with_their_oldest(sizes: list[int], size: int) -> None:
    files = [session_file(number, -number)._replace(size=length) for number, length in enumerate(sizes)]
    windows = list(columns_of(files).split(size))
    assert [file for window in windows for file in [*window][::-1]] == files
    for window in windows:
        assert window.size == sum(file.size for file in window)
        assert window.size <= size or len([*window]) == 1


def test_rows_of_short_texts_do_not_wait_for_many_bytes(tmp_path: Path) -> None:
    """The rows of 25,000 short texts would be held together, because they come from less than 8 MB."""

    def peak(files: int) -> int:
        root = tmp_path / str(files)
        for number in range(files):
            path = root / f"projects/-p/{number:08x}-aaaa-4bbb-8ccc-000000000001.jsonl"
            write_lines(path, *[prompt(1, None, "hi")] * 1000)
        with Index.open(root, tmp_path / f"cache{files}") as index:
            tracemalloc.start()
            index.refresh(jobs=1)
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return peak

    peak(1)  # loads modules
    assert peak(60) < 1.4 * peak(20)
