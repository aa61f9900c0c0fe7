"""`clew move`: sessions follow their folder with everything that belongs to them, and an undo restores every byte."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.cli import main
from clew.demo.talk import bash, talk
from clew.edit.move_project import plan_move
from clew.edit.undo_journal import UndoJournal, undo
from clew.errors import Busy, NotFound, Refused
from clew.wire.layout import Tree
from clew.wire.path_mapping import PathMapping
from clew.wire.project_slug import slug
from clew.wire.running_sessions import running_sessions

Run = Callable[..., tuple[int, str, str]]
Files = dict[str, tuple[bytes, int]]
OLD = "/home/ada/garden"
ONE = "3f2a0000-0000-4000-8000-000000000001"
TWO = "3f2a0000-0000-4000-8000-000000000002"
DAY = 86_400


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / ".claude"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root))
    return root


@pytest.fixture
def run(root: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        return main(list(words)), *capsys.readouterr()

    return call


def put(path: Path, *lines: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


def garden(root: Path, cwd: str = OLD, id: str = ONE) -> Path:
    """A session with everything that a project folder can hold."""
    told = talk(id, cwd=cwd).user("plant").reply("ok", call=bash("ls")).result("a").reply("done").write(root)
    folder = root / "projects" / slug(cwd)
    separator = "\\" if "\\" in cwd else "/"
    tracked = {"a.py": {"backupFileName": "aa@v1", "version": 1, "realParentDir": cwd}}
    absolute = {f"{cwd}{separator}b.py": {"backupFileName": "bb@v1", "version": 1, "realParentDir": cwd}}
    with told.open("a") as file:
        for number, backups in enumerate((tracked, absolute)):
            snapshot = {"messageId": f"m{number}", "trackedFileBackups": backups, "timestamp": "2026-01-01T00:00:00Z"}
            line = {"type": "file-history-snapshot", "messageId": f"m{number}", "snapshot": snapshot}
            file.write(json.dumps({**line, "isSnapshotUpdate": False}) + "\n")
        backup = {"backupFileName": "cc@v1", "version": 1, "realParentDir": f"{cwd}{separator}src"}
        delta = {"type": "file-history-delta", "messageId": "m1", "trackingPath": "src/c.py", "backup": backup}
        file.write(json.dumps(delta) + "\n")
        output = str(folder / id / "tool-results" / "toolu_1.txt")
        result = {"type": "user", "cwd": f"{cwd}{separator}src", "sessionId": id, "uuid": "u9", "parentUuid": None}
        file.write(json.dumps({**result, "toolUseResult": {"persistedOutputPath": output}, "message": {}}) + "\n")
        file.write("{broken\n")
    agent = {"type": "user", "agentId": "a1", "sessionId": id, "cwd": cwd, "isSidechain": True, "uuid": "x"}
    put(folder / id / "subagents" / "agent-a1.jsonl", agent)
    put(
        folder / id / "subagents" / "agent-a1.meta.json",
        {"agentType": "Explore", "worktreePath": cwd + separator + "w"},
    )
    put(folder / id / "tool-results" / "toolu_1.txt", "long")
    put(folder / "agent-b2.jsonl", {**agent, "agentId": "b2"})
    put(folder / "memory" / "MEMORY.md", "remember")
    entries = [{"sessionId": id, "fullPath": str(told), "fileMtime": 1, "projectPath": cwd, "firstPrompt": "plant"}]
    put(folder / "sessions-index.json", {"version": 1, "entries": entries, "originalPath": cwd, "unknown": 7})
    put(root / "file-history" / id / "aa@v1", "saved")
    put(root / "todos" / f"{id}-agent-{id}.json", [])
    history = [{"display": "plant", "project": cwd, "sessionId": id}, {"display": "x", "project": "/other"}]
    put(root / "history.jsonl", *history)
    return told


def snapshot(root: Path) -> Files:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line != "{broken"]


def test_everything_of_a_project_follows_its_folder(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    new = str(tmp_path / "plot")
    Path(new).mkdir()
    code, out, err = run("move", OLD, new)
    assert (code, err) == (0, "")
    assert "Moved 1 session" in out and "history.jsonl: 1 prompt" in out
    folder = root / "projects" / slug(new)
    assert not (root / "projects" / slug(OLD)).exists()
    lines = rows(folder / f"{ONE}.jsonl")
    assert {line["cwd"] for line in lines if "cwd" in line} == {new, f"{new}/src"}
    first, second = (line["snapshot"]["trackedFileBackups"] for line in lines if "snapshot" in line)
    assert first["a.py"]["realParentDir"] == new
    assert second == {f"{new}/b.py": {"backupFileName": "bb@v1", "version": 1, "realParentDir": new}}
    [delta] = [line for line in lines if "backup" in line]
    assert delta["backup"]["realParentDir"] == f"{new}/src" and delta["trackingPath"] == "src/c.py"
    assert lines[-1]["toolUseResult"]["persistedOutputPath"] == str(folder / ONE / "tool-results" / "toolu_1.txt")
    assert (folder / f"{ONE}.jsonl").read_text().endswith("{broken\n")
    assert rows(folder / ONE / "subagents" / "agent-a1.jsonl")[0]["cwd"] == new
    assert json.loads((folder / ONE / "subagents" / "agent-a1.meta.json").read_text())["worktreePath"] == f"{new}/w"
    assert rows(folder / "agent-b2.jsonl")[0]["cwd"] == new
    assert (folder / "memory" / "MEMORY.md").read_text() == '"remember"\n'
    index = json.loads((folder / "sessions-index.json").read_text())
    assert (index["originalPath"], index["unknown"]) == (new, 7)
    assert index["entries"][0]["fullPath"] == str(folder / f"{ONE}.jsonl")
    assert [line["project"] for line in rows(root / "history.jsonl")] == [new, "/other"]
    assert run("resume", "--print", ONE)[1].startswith(f"cd {new} && ")


def test_an_undo_restores_every_byte_and_file_time(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    for path in root.rglob("*"):
        if path.is_file():
            os.utime(path, (1_760_000_000, 1_760_000_000))
    before = snapshot(root)
    assert run("move", OLD, str(tmp_path / "plot"))[0] == 0
    assert snapshot(root).keys() != before.keys()
    code, out, _ = run("undo")
    assert code == 0 and f"move {OLD} to {tmp_path / 'plot'}" in out
    assert snapshot(root) == before
    assert not (root / "projects" / slug(str(tmp_path / "plot"))).exists()
    assert not (tmp_path / "data" / "clew" / "moved").exists()


def test_an_undo_keeps_prompts_that_were_typed_since(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    before = (root / "history.jsonl").read_bytes()
    run("move", OLD, str(tmp_path / "plot"))
    with (root / "history.jsonl").open("a") as file:
        file.write('{"display":"later"}\n')
    assert run("undo")[0] == 0
    assert (root / "history.jsonl").read_bytes() == before + b'{"display":"later"}\n'


def test_an_undo_refuses_if_a_session_was_continued_since(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    new = str(tmp_path / "plot")
    run("move", OLD, new)
    with (root / "projects" / slug(new) / f"{ONE}.jsonl").open("a") as file:
        file.write('{"type":"summary","summary":"later"}\n')
    before = snapshot(root)
    with pytest.raises(Refused, match="was changed since"):
        undo(UndoJournal().find(None), UndoJournal())
    assert snapshot(root) == before


def test_a_dry_run_changes_nothing(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    before = snapshot(root)
    code, out, _ = run("move", OLD, str(tmp_path / "plot"), "--dry-run")
    assert code == 0 and out.startswith("Would move 1 session")
    assert snapshot(root) == before and not (tmp_path / "data").exists()


def test_a_renamed_home_moves_all_projects_below_it(run: Run, root: Path) -> None:
    garden(root)
    garden(root, "/home/ada/src/drip", TWO)
    talk("3f2a0000-0000-4000-8000-000000000003", cwd="/home/adam/other").user("hi").reply("x").write(root)
    code, out, _ = run("move", "/home/ada", "/home/lovelace")
    assert code == 0 and "Moved 2 sessions" in out
    names = sorted(path.name for path in (root / "projects").iterdir())
    assert names == ["-home-adam-other", "-home-lovelace-garden", "-home-lovelace-src-drip"]


@pytest.mark.parametrize(
    ("old", "new", "deeper", "moved"),
    [
        ("C:\\Users\\ada\\app", "/home/ada/app", "c:\\users\\ADA\\app\\src", "/home/ada/app/src"),
        ("/home/ada/app", "D:\\work\\app", "/home/ada/app/src/x", "D:\\work\\app\\src\\x"),
        ("/home/ada/app", "/Users/ada/app", "/home/ada/app-two", "/home/ada/app-two"),
        ("/home/ada/app/", "/srv/app/", "/home/ada/app", "/srv/app"),
        ("\\\\nas\\ada", "/mnt/ada", "\\\\nas\\ada\\x", "/mnt/ada/x"),
        ("/home/ada", "/", "/home/ada/x", "/x"),
        ("/home/ada", "/home/ada/work", "/home/ada/x", "/home/ada/work/x"),
        ("/home/ada", "/home/ada/work", "/home/ada/work/x", "/home/ada/work/x"),
        ("/home/jos\u00e9", "/home/jose", "/home/jose\u0301/x", "/home/jose/x"),
    ],
)
def test_paths_are_mapped_between_systems(old: str, new: str, deeper: str, moved: str) -> None:
    assert PathMapping(old, new).apply(deeper) == moved


def test_a_move_into_a_folder_below_can_be_repeated(run: Run, root: Path) -> None:
    garden(root)
    assert run("move", OLD, f"{OLD}/beds")[0] == 0
    once = snapshot(root)
    assert run("move", OLD, f"{OLD}/beds")[0] == 1
    assert snapshot(root) == once


def test_a_folder_is_named_without_links_as_claude_code_does(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert run("move", OLD, str(tmp_path / "link"))[0] == 0
    assert (root / "projects" / slug(str(tmp_path / "real")) / f"{ONE}.jsonl").exists()
    [copy] = [line for line in run("clone", ONE, "--to", str(tmp_path / "link"))[1].splitlines() if len(line) == 36]
    assert (root / "projects" / slug(str(tmp_path / "real")) / f"{copy}.jsonl").exists()


def test_files_with_odd_names_move_too(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    odd = os.fsencode(root / "projects" / slug(OLD)) + b"/memory/caf\xe9.md"
    try:
        Path(os.fsdecode(odd)).write_bytes(b"x")
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    before = snapshot(root)
    assert run("move", OLD, str(tmp_path / "plot"))[0] == 0
    assert run("undo")[0] == 0
    assert snapshot(root) == before


def test_a_project_moves_from_windows_to_linux(run: Run, root: Path) -> None:
    old = "C:\\Users\\ada\\garden"
    garden(root, old)
    assert run("move", old, "/home/ada/garden")[0] == 0
    lines = rows(root / "projects" / "-home-ada-garden" / f"{ONE}.jsonl")
    assert {line["cwd"] for line in lines if "cwd" in line} == {"/home/ada/garden", "/home/ada/garden/src"}
    assert run("undo")[0] == 0
    assert (root / "projects" / slug(old) / f"{ONE}.jsonl").exists()


def test_two_folders_with_one_name_are_kept_apart(run: Run, root: Path, tmp_path: Path) -> None:
    talk(ONE, cwd="/home/ada/my-app").user("one").reply("x").write(root)
    talk(TWO, cwd="/home/ada/my.app").user("two").reply("x").write(root)
    put(root / "projects" / "-home-ada-my-app" / "memory" / "MEMORY.md", "shared")
    code, out, _ = run("move", "/home/ada/my.app", str(tmp_path / "plot"))
    assert code == 0 and "stays: -home-ada-my-app/memory" in out
    left = {path.name for path in (root / "projects" / "-home-ada-my-app").iterdir()}
    assert left == {f"{ONE}.jsonl", "memory"}
    assert (root / "projects" / slug(str(tmp_path / "plot")) / f"{TWO}.jsonl").exists()


def test_nothing_in_the_new_place_is_overwritten(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    new = str(tmp_path / "plot")
    talk(ONE, cwd=new).user("another").reply("x").write(root)
    put(root / "projects" / slug(new) / "memory" / "MEMORY.md", "mine")
    before = snapshot(root)
    _, out, _ = run("move", OLD, new)
    assert "clew merge" in out and "memory/MEMORY.md" in out
    after = snapshot(root)
    kept = [name for name in before if slug(new) in name or name.startswith(f"projects/{slug(OLD)}/{ONE}")]
    assert all(after[name] == before[name] for name in kept)


def test_copies_get_new_ids_and_the_originals_stay(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    before = snapshot(root)
    new = str(tmp_path / "plot")
    code, out, _ = run("move", OLD, new, "--copy")
    assert code == 0 and out.startswith("Copied 1 session")
    [copy] = (root / "projects" / slug(new)).glob("*-*-*-*-*.jsonl")
    assert copy.stem != ONE and {row["cwd"] for row in rows(copy) if "cwd" in row} == {new, f"{new}/src"}
    assert (root / "file-history" / copy.stem / "aa@v1").exists()
    assert (root / "projects" / slug(new) / "memory" / "MEMORY.md").exists()
    once = snapshot(root)
    assert all(once[name] == file for name, file in before.items())
    code, out, _ = run("move", OLD, new, "--copy")
    assert code == 1 and "Copied 0 sessions" in out and f"copied before as {copy.stem[:8]}" in out
    assert snapshot(root) == once
    assert run("undo")[0] == 0
    assert snapshot(root) == before


def test_the_kept_files_of_a_move_can_be_deleted(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    run("move", OLD, str(tmp_path / "plot"))
    after = snapshot(root)
    assert list((tmp_path / "data" / "clew" / "moved").rglob("*.jsonl"))
    code, out, _ = run("undo", "--forget")
    assert code == 0 and out.startswith("Deleted the old files")
    assert not (tmp_path / "data" / "clew" / "moved").exists() and snapshot(root) == after
    assert run("undo")[0] == 1


def test_settings_of_the_project_move_only_on_request(run: Run, root: Path, tmp_path: Path) -> None:
    garden(root)
    other = {"hasTrustDialogAccepted": True}
    settings = {"numStartups": 3, "projects": {OLD: {"hasTrustDialogAccepted": True, "allowedTools": []}, "/x": other}}
    file = root / ".claude.json"
    file.write_text(json.dumps(settings))
    new = str(tmp_path / "plot")
    code, out, err = run("move", OLD, new)
    assert code == 0 and f"settings of {OLD}: hasTrustDialogAccepted" in out and "--settings" in err
    assert json.loads(file.read_text()) == settings
    run("undo")
    before = file.read_bytes()
    run("move", OLD, new, "--settings")
    moved = json.loads(file.read_text())
    assert moved["projects"][new]["hasTrustDialogAccepted"] is True and OLD not in moved["projects"]
    assert moved["projects"]["/x"] == other and moved["numStartups"] == 3
    run("undo")
    assert file.read_bytes() == before


def test_a_session_in_use_is_not_moved(root: Path) -> None:
    garden(root)
    start = Path(f"/proc/{os.getpid()}/stat")
    record = {"pid": os.getpid(), "sessionId": ONE}
    if start.exists():
        record["procStart"] = start.read_text().rpartition(")")[2].split()[19]
    put(root / "sessions" / f"{os.getpid()}.json", record)
    assert running_sessions(root) == {ONE: os.getpid()}
    with pytest.raises(Busy, match="3f2a0000"):
        plan_move(Tree(root), OLD, "/home/ada/plot")
    put(root / "sessions" / f"{os.getpid()}.json", {**record, "procStart": "1"})
    assert running_sessions(root) == {} or not start.exists()


def test_an_unknown_folder_is_reported(root: Path) -> None:
    garden(root)
    with pytest.raises(NotFound, match="/home/ada/nowhere"):
        plan_move(Tree(root), "/home/ada/nowhere", "/home/ada/plot")


def test_old_sessions_get_a_file_time_that_survives_the_clean_up(run: Run, root: Path, tmp_path: Path) -> None:
    paths = [garden(root), garden(root, OLD, TWO)]
    for path, days in zip(paths, (400, 20), strict=True):
        os.utime(path, (time.time() - days * DAY,) * 2)
    run("move", OLD, str(tmp_path / "plot"))
    times = [(root / "projects" / slug(str(tmp_path / "plot")) / path.name).stat().st_mtime for path in paths]
    assert time.time() - 16 * DAY < times[0] < times[1] < time.time()


@pytest.mark.parametrize("step", range(0, 160, 16))
def test_a_killed_move_loses_nothing_and_is_completed_by_the_next(root: Path, tmp_path: Path, step: int) -> None:
    kill_and_complete(root, tmp_path, step)


@pytest.mark.soak
def test_a_killed_move_at_every_step(root: Path, tmp_path: Path) -> None:
    for step in range(200):
        shutil.rmtree(root, ignore_errors=True)
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
        kill_and_complete(root, tmp_path, step)


def kill_and_complete(root: Path, tmp_path: Path, step: int) -> None:
    """Kill a move at its n-th change of a file, run it again, and undo it."""
    garden(root)
    before = snapshot(root)
    new = str(tmp_path / "plot")
    Path(new).mkdir(exist_ok=True)
    killed = run_killed(["move", OLD, new], step)
    kept = snapshot(tmp_path / "data") if (tmp_path / "data").exists() else {}
    held = {content for content, _ in (*snapshot(root).values(), *kept.values())}
    assert all(content in held for content, _ in before.values())
    assert main(["move", OLD, new]) == 0 or not killed
    names = [name for name in snapshot(root) if name.endswith(f"{ONE}.jsonl")]
    assert names == [f"projects/{slug(new)}/{ONE}.jsonl"]
    assert [name for name in snapshot(root) if name.endswith(".draft")] == []
    assert [line["project"] for line in rows(root / "history.jsonl")] == [new, "/other"]
    assert main(["undo"]) == 0
    assert snapshot(root) == before


CHANGES = ("rename", "replace", "link", "unlink", "open", "mkdir", "rmdir", "ftruncate", "write", "utime")


def run_killed(words: list[str], step: int) -> bool:
    """Run a command in another process that is killed at its n-th change of a file; False if it ended before."""
    child = os.fork()
    if not child:
        left = step

        def counted(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any, **named: Any) -> Any:
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return function(*given, **named)

            return call

        for name in CHANGES:
            setattr(os, name, counted(getattr(os, name)))
        os._exit(main(words))
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])
