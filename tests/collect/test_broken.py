"""Archives that something happened to: each is refused and left as it is, or goes on with nothing lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from clew.collect.archive.reader import Archive
from clew.collect.job import CollectJob, lock_archive, open_collector
from clew.errors import Busy, StoreError
from tests.collect.collect_fixture import line, session

ONE = session(1)


@pytest.fixture
def job(tmp_path: Path) -> CollectJob:
    path = tmp_path / "claude" / ONE
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(line(n, "x" * 40) for n in range(500)))
    made = CollectJob(str(tmp_path / "claude"), str(tmp_path / "archive" / "archive.db"))
    poll(made)
    return made


def poll(job: CollectJob) -> int:
    with open_collector(job) as collector:
        return collector.poll().lines


def kept(job: CollectJob) -> list[tuple[int, bytes]]:
    with Archive.open(job.archive) as archive:
        [file] = archive.files()
        return [(each.number, archive.read(each)) for each in archive.generations(file)]


def _scribble(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (path.stat().st_size - 4096))


def _replace(path: Path) -> None:
    path.unlink()
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE mine(x)")
    other.close()


def _raise_version(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()


REFUSED: dict[str, Callable[[Path], object]] = {
    "notes": lambda path: path.write_bytes(b"not a database at all, but somebody's notes\n" * 50),
    "other": _replace,
    "newer": _raise_version,
    "cut": lambda path: os.truncate(path, 10_000),
    "scribbled": _scribble,
}


@pytest.mark.parametrize("how", REFUSED)
def test_a_broken_archive_is_refused_and_left_as_it_is(job: CollectJob, how: str) -> None:
    path = Path(job.archive)
    REFUSED[how](path)
    before = path.read_bytes()
    with pytest.raises(StoreError) as error:
        poll(job)
    assert error.value.kind in ("damaged", "version")
    assert path.read_bytes() == before


def test_an_empty_archive_begins_anew(job: CollectJob) -> None:
    Path(job.archive).write_bytes(b"")
    assert poll(job) == 500


def test_without_its_key_all_is_read_again_and_nothing_is_lost(job: CollectJob) -> None:
    Path(job.key).write_bytes(b"short")
    assert poll(job) == 500
    whole = Path(job.root, ONE).read_bytes()
    assert kept(job) == [(1, whole), (2, whole)]
    assert poll(job) == 0


def test_a_lock_that_was_left_behind_holds_nobody_up(job: CollectJob) -> None:
    Path(job.lock).write_bytes(b"99999999 2020-01-01T00:00:00.000Z")
    with lock_archive(job):
        assert poll(job) == 0


def test_an_archive_behind_a_link_has_the_same_lock_and_key(job: CollectJob, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "mine.db"
    link.parent.mkdir()
    link.symlink_to(job.archive)
    other = CollectJob(job.root, str(link))
    assert (other.lock, other.key) == (job.lock, job.key)
    with lock_archive(job), pytest.raises(Busy), lock_archive(other):
        pass
    assert poll(other) == 0


def test_an_archive_where_none_can_be_is_told() -> None:
    job = CollectJob("/", "/proc/clew/archive.db")
    with pytest.raises(OSError):
        poll(job)
