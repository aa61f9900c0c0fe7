"""A rewind of a hostile transcript, on a full disk, next to an open chat: refused or reported, never half done."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import ScriptRule
from clew.chat.engine import Engine
from clew.chat.rewind.carry_out import carry_out
from clew.chat.rewind.project_inventory import ProjectInventory, Survey, Unkept
from clew.chat.rewind.protected_paths import refuse_folder
from clew.chat.rewind.rewind_plan import plan, rewind_points, saved_folders
from clew.chat.sdk.sdk_rewind import rewind_files
from clew.chat.store import journal_lines, session_lock
from clew.cli import main
from clew.conversation.load import read
from clew.errors import Refused
from clew.wire.json_codec import decode, encode
from tests.chat.chat_fixture import SESSION, World, use, world
from tests.chat.test_rewind_cases import homes, snapshot
from tests.chat.test_rewind_plan import drive, made, talk, tree

__all__ = ["homes", "made"]

Run = Callable[..., tuple[int, str, str]]
PROTECTED = [
    ".bashrc",
    ".bash_aliases",
    ".BASHRC",
    ".profile",
    ".zshenv",
    ".ssh/authorized_keys",
    ".gnupg/gpg.conf",
    ".config/autostart/evil.desktop",
    ".config/systemd/user/evil.service",
    ".claude/settings.json",
    ".local/bin/ls",
    ".git/hooks/pre-commit",
    ".envrc",
]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["rewind", SESSION[:8], *words])
        return code, *capsys.readouterr()

    return typed


def forge(made: World, cwd: Path | str, files: dict[str, str | None], backup: str = "") -> None:
    """Turn a session into one that claims another folder, and other files with these contents before its first prompt."""
    history = made.root / "claude/file-history" / SESSION
    history.mkdir(parents=True, exist_ok=True)
    rows: dict[str, Any] = {}
    for number, (name, text) in enumerate(files.items()):
        saved = None if text is None else backup or f"forged{number}@v1"
        if text is not None and not backup:
            (history / f"forged{number}@v1").write_text(text)
        rows[name] = {"backupFileName": saved, "version": 1, "backupTime": ""}
    lines = [decode(line) for line in made.path().read_bytes().splitlines()]
    lines = [{**line, "cwd": str(cwd)} if "cwd" in line else line for line in lines]
    lines = [line for line in lines if line["type"] != "file-history-snapshot"]
    prompt = rewind_points(read(made.path()))[0].uuid
    lines.append(journal_lines.snapshot("x", prompt, rows, "2026-01-01T00:00:00.000Z"))
    made.path().write_bytes(b"".join(encode(line) + b"\n" for line in lines))


def everything(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if ".lock" not in path.name}


@pytest.mark.parametrize("where", ["home", "link to the home", "dots", "above the home", "/", "/etc", "relative", ""])
def test_a_session_cannot_choose_a_protected_folder(made: World, tmp_path: Path, run: Run, where: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "way").symlink_to(home)
    drive(made, talk, session_id=SESSION)
    folders: dict[str, Path | str] = {
        "home": home,
        "link to the home": tmp_path / "way",
        "dots": f"{tmp_path}/project/../home",
        "above the home": tmp_path,
    }
    forge(made, folders.get(where, "home" if where == "relative" else where), {".bash_aliases": "x", "new.txt": "x"})
    before = everything(tmp_path)
    code, _, err = run("--code", "--to", "1", "--edits", "keep", "--yes")
    assert code == 2 and "Refused: " in err and "--conversation" in err
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", [".ssh", ".config/autostart", ".claude", ".gnupg", ".local/bin"])
def test_a_folder_inside_a_protected_place_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "home" / name / "inner"
    folder.mkdir(parents=True)
    assert "protected place" in refuse_folder(str(folder))
    assert "protected place" in refuse_folder("/usr/lib")
    assert refuse_folder(str(tmp_path / "nowhere")).endswith("does not exist")
    assert "does not name" in refuse_folder(None)
    (tmp_path / "home/project").mkdir()
    assert refuse_folder(str(tmp_path / "home/project")) == ""


def test_protected_files_are_neither_created_nor_changed_nor_deleted(made: World, tmp_path: Path, run: Run) -> None:
    drive(made, talk, session_id=SESSION)
    for number, name in enumerate(PROTECTED):
        if number % 2:
            (made.project / name).parent.mkdir(parents=True, exist_ok=True)
            (made.project / name).write_text("mine\n")
    before = tree(made.project)
    for text in ("evil", None):
        forge(made, made.project, {**dict.fromkeys(PROTECTED, text), "new.txt": "fine"})
        code, out, _ = run("--code", "--to", "1", "--edits", "overwrite", "--yes", "--json")
        row = json.loads(out)
        assert code == 0 and sorted(each["name"] for each in row["lost"]) == sorted(PROTECTED)
        (made.project / "new.txt").unlink()
        assert tree(made.project) == before


def test_names_and_backups_that_lead_elsewhere_are_reported(made: World, tmp_path: Path, run: Run) -> None:
    drive(made, talk, session_id=SESSION)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/precious").write_text("precious\n")
    (made.project / "way").symlink_to(tmp_path / "outside")
    (made.project / "file").symlink_to(tmp_path / "outside/precious")
    names = ["../outside/precious", "way/precious", "way/new", "file", str(tmp_path / "outside/precious"), "a/../../x"]
    forge(made, made.project, dict.fromkeys(names, "evil"))
    before = snapshot(tmp_path)
    code, out, _ = run("--code", "--to", "1", "--edits", "overwrite", "--yes")
    assert code == 0 and out.count("precious") >= 3 and "Nothing to restore" in out
    for saved in ("../../evil", "/etc/passwd", "..", "a/b"):
        forge(made, made.project, {"new.txt": "x"}, backup=saved)
        assert "new.txt (its backup is gone)" in run("--code", "--to", "1", "--yes")[1]
    assert snapshot(tmp_path) == before


def test_a_plan_escapes_what_could_drive_a_terminal(made: World, run: Run) -> None:
    drive(made, talk, session_id=SESSION)
    evil = "ok\x1b[2K\r\n  delete   x\u202e\x9b.txt"
    forge(made, made.project, {evil: "x"})
    before = tree(made.project)
    code, out, err = run("--code", "--to", "1")
    assert code == 2 and "--yes" in err and tree(made.project) == before
    assert "create   ok\\x1b[2K\\r\\n  delete   x\\u202e\\x9b.txt" in out


def test_without_a_terminal_nothing_changes_until_it_is_agreed_to(made: World, run: Run) -> None:
    drive(made, talk, session_id=SESSION)
    before = tree(made.project)
    for words in ((), ("--json",)):
        code, out, err = run("--code", "--to", "1", *words)
        assert code == 2 and "3 paths in" in err and "2 of them deleted" in err and "--yes" in err
        assert "b/c.txt" in out
    assert tree(made.project) == before


@pytest.mark.parametrize(("answer", "is_done"), [("y", True), ("", False), ("n", False), ("delete", False)])
def test_on_a_terminal_it_asks_and_no_is_the_default(made: World, answer: str, is_done: bool) -> None:
    drive(made, talk, session_id=SESSION)
    controller, terminal = pty.openpty()
    command = [sys.executable, "-P", "-m", "clew", "rewind", SESSION, "--code", "--to", "1"]
    child = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, cwd=made.root)
    os.close(terminal)
    out, is_answered, until = "", False, time.monotonic() + 60
    while time.monotonic() < until:
        if select.select([controller], [], [], 0.1)[0]:
            try:
                out += os.read(controller, 4096).decode()
            except OSError:
                break
        elif child.poll() is not None:
            break
        if "[y/N]" in out and not is_answered:
            is_answered = True
            os.write(controller, f"{answer}\n".encode())
    assert child.wait(10) == (0 if is_done else 1)
    os.close(controller)
    assert "delete   b/c.txt" in out and "2 of them deleted" in out
    assert (made.project / "b/c.txt").exists() is not is_done
    assert (f"clew rewind {SESSION} --undo" in out) is is_done


def test_the_undo_command_is_quoted(made: World, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drive(made, talk, session_id=SESSION)
    odd = tmp_path / "it's a $(folder)"
    (tmp_path / "claude").rename(odd)
    main(["rewind", SESSION, "--code", "--to", "2", "--yes", "--claude-dir", str(odd)])
    hint = capsys.readouterr().err.splitlines()[-1].removeprefix("Undo this with: ")
    words = subprocess.run(["bash", "-c", f"printf '%s\\n' {hint}"], capture_output=True, text=True, check=True)
    assert words.stdout.splitlines() == ["clew", "rewind", SESSION, "--undo", "--claude-dir", str(odd)]


def test_a_session_that_a_chat_holds_is_refused(made: World, run: Run) -> None:
    drive(made, talk, session_id=SESSION)
    before = tree(made.project)
    with session_lock.lock_session(made.path()):
        code, _, err = run("--code", "--to", "1", "--yes")
        assert code != 0 and f"process {os.getpid()}" in err and "Esc Esc" in err
        assert tree(made.project) == before
        assert run("--code", "--to", "1", "--dry-run")[0] == 0
    assert run("--code", "--to", "1", "--yes")[0] == 0


def test_on_a_full_disk_nothing_is_half_done(made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    drive(made, talk, session_id=SESSION)
    session, before, write, replace = read(made.path()), snapshot(made.root), os.write, os.replace
    count = 0

    def fails_at(step: int, call: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any, **more: Any) -> Any:
            nonlocal count
            count += 1
            if count == step:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return call(*given, **more)

        return changed

    refusals = 0
    for step in range(1, 60):
        count = 0
        found = plan(session, "1", saved_folders(session, made.root / "claude"))
        monkeypatch.setattr(os, "write", fails_at(step, write))
        monkeypatch.setattr(os, "replace", fails_at(step, replace))
        try:
            done = carry_out(found)
            assert not done.failed
            break
        except Refused as refused:
            refusals += 1
            assert "nothing was changed" in str(refused)
        finally:
            monkeypatch.setattr(os, "write", write)
            monkeypatch.setattr(os, "replace", replace)
        assert snapshot(made.root) == before
        assert not list(made.project.rglob(".clew-*"))
    assert refusals >= 3


def test_what_cannot_be_listed_is_not_known_to_be_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "open/a").touch()
    scan = os.scandir

    def closed(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "no")
        return scan(path)

    monkeypatch.setattr(os, "scandir", closed)
    found = Survey(tmp_path, ["open/a", "closed/known"]).take()
    assert found.is_absent("new") and found.is_absent("open/new")
    assert not found.is_absent("closed/new")
    found = Survey(tmp_path, ["open/a"]).take()
    assert not found.is_absent("closed/new")


def test_absence_is_known_only_where_everything_was_listed() -> None:
    known = ProjectInventory({"a": 0o755}, {"a/x": Unkept("ignored", ""), "b/": Unkept("ignored", "")})
    assert [name for name in ("c", "a/y", "c/d", "bb") if not known.is_absent(name)] == []
    assert [name for name in ("a/x", "b", "b/c", "b/c/d") if known.is_absent(name)] == []


def test_a_program_is_told_of_deletions_and_of_what_is_left(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "only.txt").write_text("the only copy\n")
    while time.time() - (tmp_path / "only.txt").stat().st_ctime < 0.1:
        pass  # it must be older than the look before the command, by more than the clock of the file system lags
    (tmp_path / "project/.gitignore").write_text("*.big\n")
    (tmp_path / "project/x.big").write_bytes(b"x" * 300_000)
    command = "mv ../only.txt only.txt; echo x > made.txt; rm x.big"
    rules = [ScriptRule(prompt="go", steps=[[use("Bash", command=command, description="Do it")], "Done."])]

    async def work(engine: Engine) -> None:
        await engine.submit("go")
        plan = engine.plan_rewind("1")
        prompt = plan.place.uuid
        kept = {name: why for name, why in plan.lost if name == "only.txt"}
        assert not kept or "moved here from elsewhere" in kept["only.txt"]
        project = (tmp_path / "project").resolve()
        for is_dry in (True, False):
            answer = await rewind_files(engine, prompt, is_dry=is_dry)
            assert answer["filesDeleted"] == answer["filesChanged"] == [str(project / "made.txt")]
            left = [each["path"] for each in (*answer["filesKept"], *answer["filesLost"])]
            assert left == [str(project / "only.txt"), str(project / "x.big")]
            assert any("outside of" in note for note in answer["notes"])
        assert sorted(tree(project)) == [".gitignore", "only.txt"]

    with world(tmp_path, rules=rules) as made:
        drive(made, work, session_id=SESSION, watches_commands=True)


def test_a_folder_that_is_gone_is_refused_also_for_an_undo(made: World, run: Run, tmp_path: Path) -> None:
    drive(made, talk, session_id=SESSION)
    assert run("--code", "--to", "1", "--yes")[0] == 0
    made.project.rename(tmp_path / "elsewhere")
    for words in (("--code", "--to", "1", "--yes"), ("--undo",)):
        code, _, err = run(*words)
        assert code == 2 and "does not exist" in err
    assert not made.project.exists()


def test_records_of_an_earlier_version_delete_nothing(made: World, tmp_path: Path) -> None:
    """They do not say whether a file that appeared was absent."""
    from clew.chat.rewind.shadow_git import Shadow, store_of

    project = made.project.resolve()
    shadow = Shadow(project, SESSION)
    before = shadow.look()
    (project / "appeared").write_text("x")
    shadow.record("p", "c", before, shadow.look())
    path = store_of(project) / "records.jsonl"
    row = decode(path.read_bytes())
    old = {key: row[key] for key in ("prompt", "call", "before", "after", "sure")} | {"modes": {}, "skipped": []}
    path.write_bytes(encode(old) + b"\n")
    found = shadow.since(["p"])
    assert (dict(found.files), list(found.unknown)) == ({}, ["appeared"])


def test_commands_of_other_programs_are_reported_as_not_recorded(made: World, run: Run) -> None:
    command = use("Bash", command="rm old.txt", description="Do it")
    with world(made.root, rules=[ScriptRule(prompt="go", steps=[[command], "Done."])]) as other:

        async def work(engine: Engine) -> None:
            await asyncio.wait_for(engine.submit("go"), 60)

        drive(other, work, session_id=SESSION)
    code, out, _ = run("--code", "--to", "1", "--dry-run")
    assert code == 0 and "What 1 command changed was not recorded" in out and "`rm old.txt`" in out


def test_files_that_are_not_to_be_deleted_stay_with_their_folders(made: World) -> None:
    async def work(engine: Engine) -> None:
        await talk(engine)
        plan = engine.plan_rewind("1")
        done = await engine.rewind(plan, conversation=False, keep=plan.deletions)
        assert sorted(change.name for change in done.kept) == ["a.txt", "b/c.txt"]
        assert [change.name for change in done.changed] == ["old.txt"]
        assert not done.failed

    drive(made, work, session_id=SESSION, watches_commands=True)
    assert sorted(tree(made.project)) == ["a.txt", "b/c.txt", "old.txt"]
    assert (made.project / "old.txt").read_text() == "old\n"


ODD = [
    "\0x",
    "\ud800",
    "x" * 300,
    "/".join(["deep"] * 3000),
    "",
    ".",
    "..",
    "/",
    "~",
    "~/.ssh/x",
    "a\nb",
    "C:\\x",
    "//x",
]


@pytest.mark.parametrize("odd", ODD, ids=lambda text: ascii(text)[:20])
def test_odd_names_folders_and_backups_are_reported_and_nothing_breaks(made: World, run: Run, odd: str) -> None:
    drive(made, talk, session_id=SESSION)
    before = tree(made.project)
    for text in ("evil", None):
        forge(made, made.project, {odd: text, f"{odd}/inner": text})
        code, out, _ = run("--code", "--to", "1", "--edits", "overwrite", "--dry-run")
        assert code == 0 and ("not restored" in out or "create " in out or "Nothing to restore" in out)
    forge(made, made.project, {"new.txt": "x"}, backup=odd or "..")
    assert "new.txt" in run("--code", "--to", "1", "--dry-run")[1]
    for cwd in (odd, f"/{odd}", f"{made.project}/{odd}"):
        forge(made, cwd, {"new.txt": "x"})
        code, out, err = run("--code", "--to", "1", "--dry-run")
        assert "Turn 1" in out if code == 0 else code == 2 and "Refused: " in err
    assert tree(made.project) == before
