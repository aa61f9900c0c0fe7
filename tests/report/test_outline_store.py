"""The store of outlines: lists are the same with and without it, and only changed files are read."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from clew.cli import main
from clew.conversation.session_listing import Outline
from clew.demo.demo_tree import DemoSummary
from clew.report.outline_store import ListedFacts, OutlineStore
from clew.report.usage_summary import cache_folder
from clew.wire.content_time import newest_first
from clew.wire.layout import SessionFile, Tree, session_at

SHOWN = (*ListedFacts.__struct_fields__, "when", "ended", "id")


def files_of(demo: DemoSummary) -> list[SessionFile]:
    return [file for project in Tree(demo.root).projects() for file in project.sessions() if not file.is_empty]


def check(demo: DemoSummary, tmp_path: Path) -> None:
    """Compare stored outlines and their order with those of the files."""
    files = files_of(demo)
    with OutlineStore(str(demo.root), str(tmp_path / "cache")) as store:
        assert sorted(files, key=store.sort_key) == newest_first(files)
        for file in files:
            stored, anew = store.outline(file), Outline(file)
            assert [getattr(stored, name) for name in SHOWN] == [getattr(anew, name) for name in SHOWN]


def test_a_stored_outline_says_what_the_file_says_whatever_becomes_of_it(demo: DemoSummary, tmp_path: Path) -> None:
    check(demo, tmp_path)
    check(demo, tmp_path)
    one, other, third = (file.path for file in files_of(demo)[:3])
    with one.open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"Another title"}\n')
    other.replace(third)
    check(demo, tmp_path)
    with OutlineStore(str(demo.root), str(tmp_path / "cache")) as store:
        assert store.outline(session_at(one)).title == "Another title"


def test_an_unchanged_file_is_not_read(demo: DemoSummary, tmp_path: Path) -> None:
    check(demo, tmp_path)
    file = files_of(demo)[0]
    title, stat = Outline(file).title, file.path.stat()
    file.path.write_bytes(b" " * file.size)
    os.utime(file.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with OutlineStore(str(demo.root), str(tmp_path / "cache")) as store:
        assert store.outline(file).title == title


def test_another_file_of_the_same_size_and_time_is_read(demo: DemoSummary, tmp_path: Path) -> None:
    check(demo, tmp_path)
    file = files_of(demo)[0]
    stat, other = file.path.stat(), tmp_path / "other.jsonl"
    other.write_bytes(b'{"type":"custom-title","customTitle":"Another"}\n'.ljust(file.size))
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(file.path)
    now = session_at(file.path)
    assert (now.size, now.mtime_ns) == (file.size, file.mtime_ns)
    with OutlineStore(str(demo.root), str(tmp_path / "cache")) as store:
        assert store.outline(now).title == Outline(now).title == "Another"


def test_an_unreadable_file_and_a_deleted_one_are_not_kept(demo: DemoSummary, tmp_path: Path) -> None:
    gone, hidden = (file.path for file in files_of(demo)[:2])
    state = session_at(hidden)
    with OutlineStore(str(demo.root), str(tmp_path / "cache")) as store:
        store.outline(session_at(gone))
        gone.unlink()
        moved = hidden.rename(hidden.with_suffix(".away"))
        store.sort_key(state)
        with pytest.raises(OSError, match="No such file"):
            store.outline(state)
    moved.rename(hidden)
    database = apsw.Connection(str(Path(cache_folder(str(demo.root), str(tmp_path / "cache"))) / "outlines.db"))
    assert not database.execute("SELECT path FROM outline").fetchall()
    check(demo, tmp_path)


def test_a_damaged_store_is_not_used(demo: DemoSummary, tmp_path: Path) -> None:
    check(demo, tmp_path)
    path = Path(cache_folder(str(demo.root), str(tmp_path / "cache"))) / "outlines.db"
    database = apsw.Connection(str(path))
    database.execute("UPDATE outline SET data=zeroblob(9)")
    database.close()
    check(demo, tmp_path)
    path.write_bytes(b"damaged" * 1000)
    check(demo, tmp_path)
    path.unlink()
    path.mkdir()
    check(demo, tmp_path)


def test_lists_are_the_same_from_the_store(
    demo: DemoSummary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for words in (["ls", "--json"], ["ls", "--limit", "3"], ["usage", "session", "--json"]):
        printed = []
        for _ in range(2):
            main([*words, "--claude-dir", str(demo.root)])
            printed.append(capsys.readouterr().out)
        assert printed[0] == printed[1] and printed[0].count("\n") >= 3
