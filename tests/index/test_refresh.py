"""A refresh: what has grown, changed, moved or gone, and what is left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw
import pytest

from clew.index import index_schema, index_writer, refresh
from tests.index.helper import (
    DAY,
    NOW,
    Claude,
    append,
    call,
    contents,
    custom,
    fresh,
    ident,
    prompt,
    reply,
    result,
    touch,
)


def test_an_appended_line_is_found_and_nothing_is_read_twice(claude: Claude, tmp_path: Path) -> None:
    path = claude.write("a", prompt("the first apple"), reply("an answer"))
    with claude.refreshed() as index:
        assert not index.search("pear")
        append(path, reply("a pear at last"))
        done = index.refresh()
        assert (done.files, done.pieces) == (1, 1)
        assert [r.session for r in index.search("pear")] == [ident("a")]
        assert index.refresh().files == 0
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_an_unfinished_last_line_waits_for_its_end(claude: Claude, tmp_path: Path) -> None:
    line = reply("the quince is complete")
    path = claude.write("a", prompt("hello"), line[:60])
    with claude.refreshed() as index:
        assert not index.search("quince")
        append(path, line[60:-1])
        index.refresh()
        assert not index.search("quince")
        append(path, b"\n")
        index.refresh()
        assert len(index.search("quince")) == 1
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_a_rewritten_file_is_read_anew(claude: Claude, tmp_path: Path) -> None:
    path = claude.write("a", prompt("an old plum"), reply("yes"))
    with claude.refreshed() as index:
        path.write_bytes(prompt("a new cherry") + reply("yes") + reply("and more than there was before " * 9))
        index.refresh()
        assert not index.search("plum")
        assert len(index.search("cherry")) == 1
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_a_truncated_file_loses_what_was_cut(claude: Claude, tmp_path: Path) -> None:
    first = prompt("keep the fig")
    path = claude.write("a", first, reply("drop the date"))
    with claude.refreshed() as index:
        os.truncate(path, len(first))
        index.refresh()
        assert not index.search("date")
        assert len(index.search("fig")) == 1
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_a_replaced_file_is_read_anew_though_it_ends_alike(claude: Claude, tmp_path: Path) -> None:
    common = [reply("the same end " * 100)] * 3
    path = claude.write("a", prompt("before the lime"), reply("x" * 2000), *common)
    with claude.refreshed() as index:
        other = claude.put(tmp_path / "other", prompt("before the kiwi"), reply("y" * 2000), *common, reply("more"))
        other.replace(path)
        index.refresh()
        assert not index.search("lime")
        assert len(index.search("kiwi")) == 1
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_a_moved_file_keeps_its_rows(claude: Claude, tmp_path: Path) -> None:
    path = claude.write("a", prompt("a wandering melon"), reply("yes"))
    with claude.refreshed() as index:
        target = claude.path("a", "-work-elsewhere")
        target.parent.mkdir()
        path.rename(target)
        done = index.refresh()
        assert done.pieces == 0
        found = index.search("melon")[0]
        assert (found.path, found.folder) == (str(target), "-work-elsewhere")
        append(target, reply("and a peach"))
        index.refresh()
        assert len(index.search("peach")) == 1
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_a_deleted_file_is_gone(claude: Claude) -> None:
    path = claude.write("a", prompt("a doomed grape"))
    claude.write("b", prompt("a lasting grape"))
    with claude.refreshed() as index:
        path.unlink()
        index.refresh()
        assert [r.session for r in index.search("grape")] == [ident("b")]
        assert len(contents(index)["file"]) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_deletes_nothing(claude: Claude) -> None:
    path = claude.write("a", prompt("a hidden berry"))
    with claude.refreshed() as index:
        path.parent.chmod(0)
        try:
            assert not index.refresh().is_complete
            assert len(contents(index)["file"]) == 1
        finally:
            path.parent.chmod(0o700)


def test_a_walk_that_missed_something_deletes_nothing(claude: Claude, tmp_path: Path) -> None:
    claude.write("a", prompt("a remote berry"))
    with claude.refreshed() as index:
        claude.root.rename(tmp_path / "unmounted")
        assert not index.refresh().is_complete
        assert len(contents(index)["file"]) == 1


def test_a_walk_that_missed_something_is_not_complete_though_files_were_read(claude: Claude) -> None:
    claude.write("a", prompt("something to find"))
    (claude.root / "projects" / os.fsdecode(b"-no-\xff-utf8")).mkdir()  # a name that is passed over
    with claude.open() as index:
        done = index.refresh()
        assert (done.files, done.is_complete) == (1, False)
        assert not index.refresh().is_complete


def test_rows_are_in_the_order_of_time(claude: Claude) -> None:
    for number in range(20):
        touch(claude.write(f"s{number}", prompt(f"number {number}")), days=20 - number)
    with claude.open() as index:
        assert not index.refresh(budget=0.0).is_complete
        index.refresh()
        path = claude.write("newest", prompt("number 21"))
        os.utime(path, (NOW + DAY, NOW + DAY))
        index.refresh()
        for shard in index.shards:
            rows = "SELECT f.mtime FROM piece p JOIN file f ON f.id=p.file WHERE p.offset>=0 ORDER BY p.id"
            times = [mtime for (mtime,) in shard.execute(rows)]
            assert times == sorted(times)


def test_rows_are_in_the_order_of_time_though_files_are_read_in_many_transactions(
    claude: Claude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        lines = [line for part in range(number % 9) for line in failing_call(f"{number} {part}")]
        touch(claude.write(f"s{number}", prompt(f"number {number}"), *lines, custom("a title")), days=40 - number)
    expected = fresh(claude, tmp_path / "fresh")
    for module, name, size in ((refresh, "BATCH", 4000), (index_writer, "BATCH", 4000), (index_writer, "_CHUNK", 1000)):
        monkeypatch.setattr(module, name, size)
    with claude.open() as index:
        assert index.refresh().is_complete
        assert contents(index) == expected
        for shard in index.shards:
            rows = "SELECT f.mtime, p.offset FROM piece p JOIN file f ON f.id=p.file WHERE p.offset>=0 ORDER BY p.id"
            places = shard.execute(rows).fetchall()
            assert places == sorted(places)


def test_merging_after_a_build_writes_pages_in_proportion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refresh, "MERGE_PAGES", 1)
    few, many = (rows_changed_by_merging(segments) for segments in (30, 120))
    assert many <= 6 * few


def rows_changed_by_merging(segments: int) -> int:
    """Merge some segments whose words alternate, and return how many pages of segments, and entries for these, were
    written or deleted.
    """
    shard, _ = index_schema.open_shard(index_schema.MEMORY)
    for segment in range(segments):
        words = " ".join(f"{number * 7919 % 65521:05}x{segment}" for number in range(3000))
        shard.execute("INSERT INTO done(rowid, text) VALUES(?, ?)", (segment + 1, words))  # a transaction of its own
    assert shard.execute("SELECT count(DISTINCT segid) FROM done_idx").get == segments
    before = shard.total_changes()
    refresh.merge_segments(shard, None)
    changed = shard.total_changes() - before
    assert shard.execute("SELECT count(DISTINCT segid) FROM done_idx").get == 1
    shard.close()
    return changed


def failing_call(text: str) -> list[bytes]:
    """A call, much that comes before its result, and the result, which marks the call as failed."""
    return [call("Bash", text, command=text), *(reply("word " * 50) for _ in range(4)), result("no", text, failed=True)]


def test_a_budget_ends_a_refresh_and_the_next_one_goes_on(claude: Claude, tmp_path: Path) -> None:
    for number in range(30):
        touch(claude.write(f"s{number}", prompt(f"apple {number}"), reply("and an answer")), days=number)
    with claude.open() as index:
        done = index.refresh(budget=0.0)
        assert not done.is_complete
        assert done.left == 30
        left = [index.refresh(budget=0.004).left for _ in range(200)]
        assert left[-1] == 0
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_a_long_file_is_read_in_parts_within_a_budget(claude: Claude, tmp_path: Path) -> None:
    claude.write("a", *(reply(f"line {number} " + "word " * 200) for number in range(3000)))
    with claude.open() as index:
        first = index.refresh(budget=0.02)
        assert not first.is_complete
        for _ in range(500):
            if index.refresh(budget=0.02).is_complete:
                break
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_another_version_is_made_anew_and_said(claude: Claude) -> None:
    claude.write("a", prompt("an apple"))
    with claude.refreshed() as index:
        names = [Path(index.folder) / f"{number}.db" for number in range(index_schema.SHARDS)]
    for name in names:
        with apsw.Connection(str(name)) as connection:
            connection.pragma("user_version", 999)
    with claude.open() as index:
        assert index.is_new
        done = index.refresh()
        assert (done.rebuilt, done.reason) == (True, "another version")
        assert len(index.search("apple")) == 1
        assert not index.refresh().rebuilt


@pytest.mark.parametrize("where", [0, 100, 5000])
def test_a_damaged_index_is_made_anew_and_said(claude: Claude, where: int) -> None:
    claude.write("a", *(prompt(f"apple {n} " + "word " * 50) for n in range(200)))
    with claude.refreshed() as index:
        names = [Path(index.folder) / f"{number}.db" for number in range(index_schema.SHARDS)]
    for name in names:
        size = name.stat().st_size
        with name.open("r+b") as file:
            file.seek(where)
            file.write(os.urandom(max(0, size - where)))
    with claude.open() as index:
        done = index.refresh()
        assert done.rebuilt
        assert len(index.search("apple")) == 1


def test_damage_found_by_a_search_is_mended_by_it(claude: Claude) -> None:
    claude.write("a", *(prompt(f"apple {n} " + "word " * 50) for n in range(500)))
    with claude.refreshed() as index:
        for shard in index.shards:
            shard.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        names = [Path(index.folder) / f"{number}.db" for number in range(index_schema.SHARDS)]
    for name in names:
        data = bytearray(name.read_bytes())
        for page in range(3, len(data) // 4096):
            data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
        name.write_bytes(bytes(data))
    with claude.open() as index:
        assert len(index.search("apple")) == 1


def test_the_cache_is_for_its_owner_alone_and_outside_the_claude_folder(claude: Claude) -> None:
    claude.write("a", prompt("an apple"))
    with claude.refreshed() as index:
        folder = Path(index.folder)
        assert claude.root not in folder.parents
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        files = list(folder.iterdir())
        assert len(files) >= index_schema.SHARDS
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_text_itself_is_not_kept(claude: Claude) -> None:
    claude.write("a", custom("short"), reply("a sentence of several unusual words that stands in one place only"))
    with claude.refreshed() as index:
        folder = Path(index.folder)
    kept = b"".join(path.read_bytes() for path in folder.iterdir())
    assert b"several unusual words" not in kept


def test_base64_is_never_indexed(claude: Claude) -> None:
    blob = "QUJD" * 200
    image = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": blob}}]
    claude.write(
        "a",
        prompt(f"look at data:image/png;base64,{blob} please"),
        call("Write", content=blob, path="x.png"),
        result(f"wrote\n{blob}\ndone"),
        result(image, "toolu_2"),
    )
    with claude.refreshed() as index:
        words = {row[0] for row in contents(index)["word"]}
    assert {"look", "please", "wrote", "done"} <= words
    assert max(map(len, words)) < 100


def test_the_tool_of_a_result_is_known_though_it_comes_later(claude: Claude, tmp_path: Path) -> None:
    path = claude.write("a", prompt("go"), call("Bash", command="make"))
    with claude.refreshed() as index:
        append(path, result("a kumquat failed", failed=True))
        index.refresh()
        found = index.search("kumquat tool:Bash is:error")
        assert found[0].passages[0].tool == "Bash"
        assert not index.search("kumquat tool:Edit")
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_titles_are_replaced_as_they_change(claude: Claude, tmp_path: Path) -> None:
    path = claude.write("a", prompt("about fruit"), custom("the first title"))
    with claude.refreshed() as index:
        append(path, custom("the second name"))
        index.refresh()
        assert not index.search("title in:title")
        assert index.search("second in:title")[0].title == "the second name"
        append(path, reply("no change"))
        assert index.refresh().pieces == 1
        assert contents(index) == fresh(claude, tmp_path / "fresh")


def test_odd_text_is_indexed_without_a_failure(claude: Claude) -> None:
    claude.write(
        "a",
        rb'{"type":"user","uuid":"x","message":{"content":"half \ud83d of a smile and an apple\u0000core"}}' + b"\n",
        b'{"type":"user","uuid":7,"message":{"content":"wrong types and a pear"}}\n',
        b"not json at all\n\n",
        b'\xff\xfe{"type":"user","message":{"content":"a damaged plum"}}\n',
        prompt("tab\tand\x01control", node="not-a-uuid"),
    )
    with claude.refreshed() as index:
        assert all(len(index.search(word)) == 1 for word in ("apple", "core", "pear", "control"))


def test_empty_files_and_files_of_state_are_no_results(claude: Claude) -> None:
    claude.write("empty")
    claude.write("state", b'{"type":"file-history-snapshot","snapshot":{}}\n', b'{"type":"mode","mode":"plan"}\n')
    claude.write("real", prompt("hello there"))
    with claude.refreshed() as index:
        assert [r.session for r in index.search("")] == [ident("real")]
        assert [r.session for r in index.recent(5)] == [ident("real")]
