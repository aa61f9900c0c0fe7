"""A cache that cannot be written: searches and reports answer all the same, from memory or a temporary folder."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clew.demo.demo_tree import write_demo
from clew.index.session_index import Index

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
ASKED = (
    ["search", "rounding"],
    ["search", "--regex", "round[a-z]+"],
    ["search", "--substring", "round("],
    ["recall", "save", "rounding", "--dry-run"],
    ["resume", "--print", "rounding"],
    ["usage", "model"],
    ["usage", "session"],
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo") / "claude", NOW).root


def clew(words: list[str], root: Path, **surroundings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "clew", *words, "--claude-dir", str(root)]
    return subprocess.run(command, env={**os.environ, **surroundings}, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_where_the_cache_is_a_file_the_answer_is_the_same(words: list[str], root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    good = clew(words, root, XDG_CACHE_HOME=str(tmp_path / "cache"), HOME=str(tmp_path))
    bad = clew(words, root, XDG_CACHE_HOME=str(tmp_path / "file"), HOME=str(tmp_path))
    assert (good.returncode, bad.returncode) == (0, 0), bad.stderr
    assert _sessions(bad.stdout) == _sessions(good.stdout) != []
    assert "Traceback" not in bad.stderr
    assert len(bad.stderr.splitlines()) <= 1


def _sessions(told: str) -> list[str]:
    """The first word of each line that begins one: ids of sessions, or names of models."""
    return [line.split()[0] for line in told.splitlines() if line and not line.startswith(" ")]


def test_the_reason_is_said_in_one_line(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told = clew(["search", "rounding"], root, XDG_CACHE_HOME=str(tmp_path / "file"))
    assert "cannot be used (Not a directory); this search creates a temporary index." in told.stderr


def test_a_temporary_index_goes_with_the_process(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "tmp").mkdir()
    clew(["search", "rounding"], root, XDG_CACHE_HOME=str(tmp_path / "file"), TMPDIR=str(tmp_path / "tmp"))
    assert list((tmp_path / "tmp").iterdir()) == []


def test_two_indexes_of_a_process_share_the_temporary_one(root: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Index.open(root, tmp_path / "file") as first, Index.open(root, tmp_path / "file") as second:
        first.refresh()
        assert [r.session for r in second.search("rounding")] == [r.session for r in first.search("rounding")] != []


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root, to mount a file system")
@pytest.mark.parametrize("kind", ["ro", "size=64k"])
def test_a_read_only_or_full_file_system_is_no_obstacle(kind: str, root: Path, tmp_path: Path) -> None:
    where = tmp_path / "mounted"
    where.mkdir()
    line = f"mount -t tmpfs -o {kind} none {where} 2>/dev/null || exit 77; " + " && ".join(
        f"{sys.executable} -P -m clew {shlex.join(words)} --claude-dir {root}"
        for words in (
            ["search", "rounding"],
            ["search", "--substring", "round("],
            ["usage", "model"],
            ["usage", "session"],
        )
    )
    surroundings = {**os.environ, "XDG_CACHE_HOME": str(where), "HOME": str(where)}
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", line], env=surroundings, capture_output=True, text=True, timeout=240
    )
    if done.returncode == 77:
        pytest.skip("nothing may be mounted here")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr and "a9223290" in done.stdout
