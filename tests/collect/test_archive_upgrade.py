"""An archive of an earlier version: it is read as it is, upgraded by the collector, and nothing of it changes."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from clew.collect.archive.archive_schema import open_archive, open_read_only
from clew.collect.archive.archive_upgrade import VERSION
from clew.collect.archive.reader import Archive
from clew.collect.archive.verify_contents import verify_archive
from clew.collect.sql.archive_engine import open_archive_engine
from clew.errors import StoreError
from tests.collect import archive_version_1, archive_version_2
from tests.collect.collect_fixture import KEY, World, line, session

ONE, TWO = session(1), session(2)
FILES = {
    ONE: b"".join(line(n, "long " * 100 if n % 3 == 0 else "x") for n in range(1, 30)),
    TWO: b"".join(line(n, "x") for n in range(1, 10)) + b'{"unfinished',
}


BUILD = {1: archive_version_1.build, 2: archive_version_2.build}


@pytest.fixture(params=[1, 2])
def number(request: pytest.FixtureRequest) -> int:
    """The version of an archive."""
    return int(request.param)


@pytest.fixture
def old(tmp_path: Path, number: int) -> str:
    path = str(tmp_path / "archive" / "archive.db")
    BUILD[number](path, KEY, str(tmp_path / "claude"), FILES, {"file:/out.jsonl": 12})
    return path


def contents(path: str) -> dict[str, bytes]:
    with Archive.open(path) as archive:
        return {file.path: archive.read(file) for file in archive.files()}


def version(path: str) -> int:
    connection = apsw.Connection(path)
    try:
        return int(connection.pragma("user_version"))
    finally:
        connection.close()


def test_a_reader_reads_an_earlier_version_without_upgrading_it(old: str, number: int) -> None:
    assert contents(old) == FILES and version(old) == number
    with open_archive_engine(old) as engine, engine.run("SELECT count(*) AS n FROM sessions") as result:
        assert list(result.rows) == [(2,)]
    connection = open_read_only(old)
    assert verify_archive(connection).is_sound
    connection.close()


def test_an_upgrade_keeps_every_byte_and_a_copy_of_the_old_file(old: str, number: int) -> None:
    open_archive(old).close()
    assert version(old) == VERSION and contents(old) == FILES
    copy = f"{old}.version-{number}"
    assert version(copy) == number and contents(copy) == FILES
    assert os.name == "nt" or stat.S_IMODE(Path(copy).stat().st_mode) == 0o600
    connection = open_archive(old)
    assert verify_archive(connection).is_sound
    assert connection.execute("SELECT * FROM sink").fetchall() == [
        ("file:/out.jsonl", 12, 12, 0, archive_version_1.HOST, "")
    ]
    connection.close()


def test_an_upgraded_archive_has_the_tables_of_a_new_one(old: str, tmp_path: Path) -> None:
    upgraded, new = open_archive(old), open_archive(str(tmp_path / "new.db"))
    for (name,) in new.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        columns = [sorted(c.execute(f"SELECT name, type FROM pragma_table_info('{name}')")) for c in (upgraded, new)]
        assert columns[0] == columns[1], name
    upgraded.close()
    new.close()


def test_collecting_continues_after_an_upgrade(number: int) -> None:
    world = World()
    try:
        world.connection.close()
        Path(world.path).unlink()
        for path, data in FILES.items():
            world.write(path, data)
        BUILD[number](world.path, KEY, os.path.realpath(world.root), FILES)
        world.connection = world.open()
        assert world.poll(scrub=True).lines == 0, "the same lines are not read twice"
        world.append(TWO, b'":1}\n')
        assert world.poll().lines == 1
        assert world.kept() == world.there() and verify_archive(world.connection).is_sound
    finally:
        world.close()


def test_a_newer_archive_is_refused_in_one_sentence(old: str) -> None:
    connection = apsw.Connection(old)
    connection.pragma("user_version", VERSION + 1)
    connection.close()
    before = Path(old).read_bytes()
    for open_it in (open_archive, open_read_only):
        with pytest.raises(StoreError, match="newer than the newest") as caught:
            open_it(old)
        assert caught.value.hint.startswith("Update clew")
    assert Path(old).read_bytes() == before


@pytest.fixture
def large(tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "archive" / "archive.db")
    files = {session(n): b"".join(line(m, str(n)) for m in range(1500)) for n in range(1, 5)}
    archive_version_1.build(path, KEY, str(tmp_path / "claude"), files)
    yield path
    assert contents(path) == files


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_an_upgrade_that_is_killed_leaves_a_whole_archive(large: str, tmp_path: Path) -> None:
    whole = Path(large).read_bytes()
    for delay in (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08):
        for name in Path(large).parent.iterdir():
            name.unlink()
        Path(large).write_bytes(whole)
        child = os.fork()
        if child == 0:
            open_archive(large).close()
            os._exit(0)
        time.sleep(delay)  # the moment of the kill is what the test varies
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert version(large) in (1, VERSION)
        connection = open_archive(large)
        assert verify_archive(connection).is_sound
        connection.close()
        assert not list(Path(large).parent.glob("*.half"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("number", [1, VERSION])
def test_an_archive_is_read_from_a_folder_that_cannot_be_written(number: int) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        path = str(folder / "archive.db")
        archive_version_1.build(path, KEY, "/nowhere", FILES)
        if number == VERSION:
            open_archive(path).close()
        for name in folder.iterdir():
            name.chmod(0o444)
        folder.chmod(0o555)
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)
                os._exit(0 if contents(path) == FILES else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)
