"""`clew delete` and `clew prune`: only what the archive has to the byte, and everything can be brought back."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.collect.archive.reader import Archive
from clew.demo.talk import talk
from tests.content_times import set_last_use

Run = Callable[..., tuple[int, str, str]]
State = dict[str, tuple[bytes, int, int]]
SOAKS = os.environ.get("CLEW_SOAK") == "1"


@pytest.fixture
def claude(archived_demo: Path) -> Path:
    return archived_demo


def sessions_of(claude: Path) -> list[Path]:
    return sorted(path for path in claude.glob("projects/*/*.jsonl") if path.stat().st_size)


def state(root: Path) -> State:
    """Every file with its bytes, time and mode."""
    files = (path for path in root.rglob("*") if path.is_file())
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode & 0o777)
        for path in sorted(files)
        if path.suffix != ".lock"
    }


def rows(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def session_with_files(claude: Path) -> str:
    """A session with agents or other side files."""
    return next(
        path.parent.name
        for path in sorted(claude.glob("projects/*/*/*"))
        if (path.parent.parent / f"{path.parent.name}.jsonl").exists()
    )


def test_a_deleted_session_takes_its_files_with_it_and_undo_brings_all_back(clew: Run, claude: Path) -> None:
    before = state(claude)
    id = session_with_files(claude)
    code, out, err = clew("delete", id[:8], "--yes")
    assert code == 0 and id[:8] in out and "the archive has every byte" in out
    number = err.rsplit(" ", 1)[1].strip()
    left = state(claude)
    gone = set(before) - set(left)
    assert len(gone) > 1 and all(id in path for path in gone)
    assert {path: left[path] for path in left} == {path: before[path] for path in left}
    assert not (claude / "projects").joinpath(next(iter(gone))).exists()
    assert clew("undo", number)[0] == 0
    assert state(claude) == before
    assert clew("undo", number)[0] == 1


def test_nothing_is_deleted_without_agreement(clew: Run, claude: Path) -> None:
    before = state(claude)
    code, out, _ = clew("prune", "--older-than", "1d", "--dry-run")
    assert code == 0 and "FREES" in out
    code, out, err = clew("prune", "--older-than", "1d")
    assert code == 2 and "Nothing was deleted. Confirm with --yes" in err
    code, out, err = clew("prune", "--older-than", "1d", "--json", "--dry-run")
    assert {row["deleted"] for row in rows(out)} == {False}
    code, _, err = clew("prune")
    assert code == 2 and "--older-than 90d" in err
    assert state(claude) == before


def test_what_the_archive_lacks_stays(clew: Run, claude: Path) -> None:
    sessions = sessions_of(claude)
    changed, rewritten, unarchived = sessions[0], sessions[1], sessions[2].with_name(f"{'0' * 8}{sessions[2].name[8:]}")
    with changed.open("a") as file:
        file.write("{}\n")
    data = rewritten.read_bytes()
    rewritten.write_bytes(data[:-2] + b" \n")  # the same size
    unarchived.write_bytes(sessions[2].read_bytes())
    before = state(claude)
    code, _, err = clew("prune", "--older-than", "1d", "--yes")
    assert code == 1
    for path, problem in ((changed, "differs"), (rewritten, "differs"), (unarchived, "is not in the archive")):
        assert before[str(path)] == state(claude)[str(path)]
        assert f"Not deleted: {path.stem[:8]}: its transcript {problem}" in err
    assert "clew collect" in err
    assert sessions_of(claude) == sorted([changed, rewritten, unarchived])
    assert clew("undo")[0] == 0 and state(claude) == before


def test_a_side_file_that_the_archive_lacks_keeps_its_session(clew: Run, claude: Path) -> None:
    id = session_with_files(claude)
    folder = next(path.parent for path in claude.glob(f"projects/*/{id}.jsonl")) / id
    (folder / "notes.txt").write_text("new")
    code, _, err = clew("delete", id, "--yes")
    assert code == 1 and "notes.txt is not in the archive" in err
    assert (folder / "notes.txt").exists() and folder.with_suffix(".jsonl").exists()


def test_without_an_archive_only_files_of_no_bytes_go(clew: Run, claude: Path) -> None:
    (claude.parent / "data" / "clew" / "archive" / "archive.db").unlink()
    before = state(claude)
    empty = next(path.stem for path in claude.glob("projects/*/*.jsonl") if not path.stat().st_size)
    code, out, _ = clew("prune", "--empty", "--yes", "--json")
    assert code == 0 and [row["session"] for row in rows(out) if row["deleted"]] == [empty]
    assert clew("undo")[0] == 0 and state(claude) == before
    _, out, err = clew("prune", "--empty", "--yes")
    assert (
        "there is nothing in them" in out and "There is nothing in them." in err and "has every byte" not in out + err
    )
    code, out, _ = clew("undo", "--quiet")
    assert code == 0 and len(out.splitlines()) == 1 and state(claude) == before
    code, _, err = clew("delete", sessions_of(claude)[0].stem, "--yes")
    assert code == 1 and "is not in the archive" in err and state(claude) == before


def test_conditions_of_prune_must_all_be_true(clew: Run, claude: Path) -> None:
    def selected(*words: str) -> set[str]:
        return {row["session"] for row in rows(clew("prune", *words, "--dry-run", "--json")[1])}

    old, large = selected("--older-than", "2026-05-20"), selected("--larger-than", "20k")
    assert old and large and old & large and old - large and large - old
    assert selected("--older-than", "2026-05-20", "--larger-than", "20k") == old & large
    project = selected("--older-than", "2026-05-20", "--project", "bakery-orders")
    assert project and project < old
    assert clew("prune", "--larger-than", "9G")[0] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not checked there")
def test_sessions_in_use_are_refused(clew: Run, claude: Path) -> None:
    id = sessions_of(claude)[0].stem
    record = claude / "sessions" / f"{os.getpid()}.json"
    record.parent.mkdir()
    record.write_text(json.dumps({"pid": os.getpid(), "sessionId": id, "status": "idle"}))
    code, _, err = clew("delete", id, "--yes")
    assert code == 1 and "it is in use (see: clew ps)" in err
    record.unlink()
    recent = talk(seed=9).user("hi").reply("hello").write(claude)
    set_last_use(recent, time.time() - 60)
    assert clew("collect", "--quiet")[0] == 0
    code, _, err = clew("delete", recent.stem, "--yes")
    assert code == 1 and "used less than 5 minutes ago" in err and recent.exists()
    set_last_use(recent, time.time() - 3600)
    clew("collect", "--quiet")
    assert clew("delete", recent.stem, "--yes")[0] == 0 and not recent.exists()


def test_a_session_elsewhere_is_not_deleted(clew: Run, claude: Path, tmp_path: Path) -> None:
    other = talk(seed=8).user("hi").reply("hello").write(tmp_path / "other")
    code, _, err = clew("delete", str(other), "--yes")
    assert code == 2 and "--claude-dir" in err and other.exists()


def test_a_line_that_comes_during_the_deletion_is_not_lost(
    clew: Run, claude: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sessions_of(claude)[0]
    rename = Path.rename

    def append_then_rename(self: Path, target: Path) -> Path:  # Claude Code is quicker by a moment
        if self == path:
            with path.open("a") as file:
                file.write('{"type":"user","uuid":"late"}\n')
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", append_then_rename)
    code, _, err = clew("delete", path.stem, "--yes")
    assert code == 2 and "changed while it was being deleted" in err
    assert path.read_bytes().endswith(b'"late"}\n')


# -- interruptions


def killed_run(words: list[str], point: int) -> bool:
    """Run a command in a child that kills itself at a file operation. Return whether it was killed."""
    child = os.fork()
    if child == 0:
        count = 0

        def kill(event: str, _: Any) -> None:
            nonlocal count
            if event in ("os.rename", "os.remove", "os.rmdir", "os.link", "os.utime", "os.chmod", "open"):
                count += 1
                if count == point:
                    os.kill(os.getpid(), signal.SIGKILL)

        null = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(null, stream)
        sys.addaudithook(kill)
        os._exit(main(words) & 0x7F)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def archived_bytes(root: Path) -> set[tuple[str, bytes]]:
    with Archive.open() as archive:
        return {(str(root / file.path), archive.read(file)) for file in archive.files()}


KILLS = 200 if SOAKS else 4


@pytest.mark.timeout(1200)
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_kill_9_at_any_moment_loses_nothing_and_undo_restores_bytes_and_times(clew: Run, claude: Path) -> None:
    fresh = sessions_of(claude)[0]
    with fresh.open("a") as file:
        file.write('{"type":"user","uuid":"not archived"}\n')
    before, held = state(claude), archived_bytes(claude.resolve())
    words = ["prune", "--older-than", "2026-05-25", "--yes", "--quiet", "--claude-dir", str(claude)]
    total = 40
    while killed_run(words, total):
        main(["undo", "--quiet"])
        total *= 2
    assert state(claude) != before
    assert main(["undo", "--quiet"]) == 0 and state(claude) == before
    killed, rng = 0, random.Random(18)
    while killed < KILLS:
        point = rng.randrange(1, total)
        killed += killed_run(words, point)
        left = state(claude)
        for path, (data, _, _) in before.items():
            is_here = left.get(path, (b"", 0, 0))[0] == data or any(found[0] == data for found in left.values())
            assert is_here or (path, data) in held, path
        assert str(fresh) in left
        main(["undo", "--quiet"])
        assert state(claude) == before, point
        killed_run(words, 1 << 30)
        killed_run(["undo", "--quiet"], point)
        main(["undo", "--quiet"])
        assert state(claude) == before, point
