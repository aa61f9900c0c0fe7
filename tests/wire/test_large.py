"""Hostile sizes: what is read of a file costs at most six times its size and 150 MB."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from clew.demo.talk import talk
from clew.wire import line as lines
from clew.wire.entry import Blank, Damaged, Entry, read
from tests.cost import measure

MB = 1 << 20
SHAPES: dict[str, Callable[[BinaryIO], object]] = {
    "a sparse gigabyte": lambda file: file.truncate(1 << 30),
    "50 MB of blank lines": lambda file: file.write(b"\n" * (50 * MB)),
    "30 MB of short lines": lambda file: file.write(b"{}\n" * (10 * MB)),
    "100 MB of NUL": lambda file: file.write(b"\0" * (100 * MB)),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("shape", SHAPES)
def test_memory_is_bounded_by_the_size_of_the_file(shape: str, tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-x" / "5eed0000-0000-4000-8000-000000000001.jsonl"
    path.parent.mkdir(parents=True)
    with open(path, "wb") as file:
        SHAPES[shape](file)
    most = min(6 * path.stat().st_size + 150 * MB, 700 * MB)
    for words in (["ls", "--claude-dir", str(tmp_path)], ["check", str(path)], ["show", str(path)]):
        cost = measure([sys.executable, "-P", "-m", "clew", *words])
        assert cost.code in (0, 1, 2)
        assert cost.memory <= most, f"{words[0]}: {cost.memory / MB:.0f} MB for {path.stat().st_size / MB:.0f} MB"


@pytest.mark.req("R016")
@pytest.mark.parametrize("words", [["ls"], ["usage"], ["search", "walrus"]])
def test_a_long_session_is_streamed(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "own"))
    path = talk().user("go").reply("x" * 20_000).user("a walrus").reply("ok").write(tmp_path)
    start, said, *end = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(start + said * 4_000 + b"".join(end))
    cost = measure([sys.executable, "-P", "-m", "clew", *words, "--claude-dir", str(tmp_path)])
    assert cost.code == 0, cost.said
    assert cost.memory < path.stat().st_size > 75 * MB


def test_a_line_that_is_too_long_stays_in_the_file_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MAX_LINE", 3 * MB)
    monkeypatch.setattr("clew.wire.entry.MAX_LINE", 3 * MB)
    data = b'{"type":"user"}\n' + b"x" * (4 * MB) + b"\n" + b'{"type":"assistant"}\n' + b"y" * (4 * MB)
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    items = list(read(path))
    assert [type(item) for item in items] == [Entry, Damaged, Entry, Damaged]
    assert [item.line.number for item in items] == [1, 2, 3, 4]
    assert isinstance(items[1].line.buffer, lines.Unread)
    assert b"".join(item.raw for item in items) == data
    assert [item.line.is_terminated for item in items] == [True, True, True, False]
    assert len(list(read(path, finished=True))) == 3


def test_a_run_of_short_lines_is_one_item_and_loses_nothing() -> None:
    data = (
        b"\n" * 5000 + b'{"type":"user","uuid":"u"}\n' + b"{}\n" * 3000 + b"a\n" * 10 + b'{"type":"user","uuid":"v"}\n'
    )
    items = list(read(data))
    assert [type(item) for item in items] == [Blank, Entry, Damaged, Entry]
    assert [(item.line.number, item.line.count) for item in items] == [(1, 5000), (5001, 1), (5002, 3010), (8012, 1)]
    assert b"".join(item.raw for item in items) == data
