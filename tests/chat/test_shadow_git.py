"""The shadow: what commands do to files is taken back too, and a project's own repository is left alone."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clew.api.mock.scripts import ScriptRule
from clew.chat.engine import Engine
from clew.chat.events import Notice
from clew.chat.rewind import project_inventory, shadow_git
from clew.chat.rewind.carry_out import carry_out
from clew.chat.rewind.path_state import PathState, read_path_state
from clew.chat.rewind.rewind_plan import plan, saved_folders
from clew.chat.rewind.shadow_git import CannotWatch, Shadow
from clew.chat.rewind.watch_files import may_change
from clew.chat.tools.toolbox import create_tools
from clew.conversation.load import read
from tests.chat.chat_fixture import KINDS, SESSION, World, use, world
from tests.chat.test_rewind_plan import drive, state, tree

__all__ = ["state"]

BINARY = b"\xff\xfe\x00binary\x00\r\n"
COMMANDS = {
    "removed": "rm old.txt",
    "edited in place": "sed -i s/old/new/ old.txt",
    "renamed": "mv old.txt renamed.txt",
    "renamed into a folder": "mkdir -p deep/er && mv old.txt deep/er/",
    "made": "mkdir -p out && for i in 1 2 3; do echo $i > out/$i; done",
    "binary": "printf '\\001\\377' > binary.dat",
    "binary removed": "rm binary.dat",
    "mode": "chmod 700 old.txt",
    "secret removed": "rm secret",
    "link removed": "rm link",
    "link changed": "ln -sfn binary.dat link",
    "link made": "ln -s old.txt another",
    "link to a file": "rm link && echo x > link",
    "file to a link": "rm old.txt && ln -s binary.dat old.txt",
    "file to a folder": "rm old.txt && mkdir old.txt && echo x > old.txt/x",
    "folder to a file": "rm -r sub && echo x > sub",
    "folder to a link": "rm -r sub && ln -s /etc sub",
    "link to a folder": "rm link && mkdir link && echo x > link/x",
    "everything": "rm -rf * .hidden",
    "odd names": "touch 'a b' $'new\\nline' -- --option 'ü' '*' && rm '[x]'",
    "failed": "rm old.txt && false",
}


def fill(project: Path) -> None:
    (project / "sub").mkdir(parents=True)
    (project / "old.txt").write_bytes(b"old\r\n$Id$\n")
    (project / "binary.dat").write_bytes(BINARY)
    (project / "secret").write_text("s")
    (project / "secret").chmod(0o600)
    (project / "sub/file").write_text("f\n")
    (project / "sub/run").write_text("#!/bin/sh\n")
    (project / "sub/run").chmod(0o755)
    (project / "[x]").write_text("x")
    (project / ".hidden").write_text("h")
    (project / "link").symlink_to("old.txt")


def bash(command: str, **more: Any) -> Any:
    return use("Bash", command=command, description="Do it", **more)


async def there(path: Path) -> None:
    async with asyncio.timeout(60):
        while not path.exists():
            await asyncio.sleep(0.02)


def told(made: World) -> list[str]:
    return [each.text for each in made.of(Notice)]


def ran(folder: Path, command: str, drill: Any, **more: Any) -> World:
    """A session in which a command was run, and what is done behind it."""
    with world(folder, rules=[ScriptRule(prompt="go", steps=[[bash(command)], "Done."])]) as made:

        async def work(engine: Engine) -> None:
            await engine.submit("go")
            await drill(engine, made.project)

        drive(made, work, session_id=SESSION, watches_commands=True, **more)
    return made


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_a_command_did_is_taken_back_and_done_again(tmp_path: Path, command: str) -> None:
    project = tmp_path / "project"
    fill(project)
    before = tree(project)

    async def drill(engine: Engine, project: Path) -> None:
        after = tree(project)
        assert after != before
        plan = engine.plan_rewind("1")
        assert not plan.edited and not plan.lost
        assert not (await engine.rewind(plan, conversation=False)).failed
        assert tree(project) == before
        assert {p.name for p in project.iterdir() if p.is_dir()} == {"sub"}
        await engine.rewind(engine.plan_undo())
        assert tree(project) == after

    ran(tmp_path, command, drill)


def test_commands_and_edits_of_several_turns_are_taken_back_turn_by_turn(tmp_path: Path) -> None:
    project = (tmp_path / "project").resolve()
    fill(project)
    steps = [
        ScriptRule(prompt="one", steps=[[bash("echo 1 > a; echo 1 > b")], "One."]),
        ScriptRule(
            prompt="two",
            steps=[
                [use("Read", file_path=str(project / "a"))],
                [use("Edit", file_path=str(project / "a"), old_string="1", new_string="2")],
                [bash("sed -i s/2/3/ a; mv b c")],
                "Two.",
            ],
        ),
        ScriptRule(prompt="three", steps=[[bash("rm a; echo 3 > c")], "Three."]),
    ]
    states = []

    async def work(engine: Engine) -> None:
        for prompt in ("one", "two", "three"):
            states.append(tree(project))
            await engine.submit(prompt)
        for number in (3, 2, 1):
            plan = engine.plan_rewind(str(number))
            assert not plan.edited
            await engine.rewind(plan, conversation=False)
            assert tree(project) == states[number - 1]

    with world(tmp_path, rules=steps) as made:
        drive(made, work, session_id=SESSION, watches_commands=True)


def test_what_a_person_did_behind_a_command_is_shown(tmp_path: Path) -> None:
    fill(tmp_path / "project")

    async def drill(engine: Engine, project: Path) -> None:
        (project / "old.txt").write_text("mine\n")
        (project / "made").write_text("mine too\n")
        plan = engine.plan_rewind("1")
        assert [(change.name, change.kind) for change in plan.edited] == [("made", "delete"), ("old.txt", "restore")]
        assert all("mine" in change.edits for change in plan.edited)

    ran(tmp_path, "sed -i s/old/new/ old.txt; echo x > made", drill)


def test_the_repository_of_a_project_is_left_alone(tmp_path: Path) -> None:
    project = tmp_path / "project"
    fill(project)
    hostile(project)
    before, status = tree(project / ".git"), _git(project, "status", "--porcelain", "-uall")
    sizes = tree(project)

    async def drill(engine: Engine, project: Path) -> None:
        await engine.rewind(engine.plan_rewind("1"), conversation=False)

    made = ran(tmp_path, "sed -i s/old/new/ old.txt; rm binary.dat; echo x > gone.tmp", drill)
    assert tree(project / ".git") == before
    assert {name: state for name, state in tree(project).items() if name != "gone.tmp"} == sizes
    assert _git(project, "status", "--porcelain", "-uall") == status
    assert not list(tmp_path.rglob("PWNED"))
    assert [text for text in told(made) if "inner/" in text]


def hostile(project: Path) -> None:
    """A repository with all that could make git do something: filters, hooks, a monitor, attributes, an inner one."""
    pwned = f"touch {project.parent}/PWNED"
    (project / ".gitattributes").write_text(
        "* text eol=crlf ident filter=evil diff=evil working-tree-encoding=UTF-16\n[attr]evil filter=evil\n*.txt evil\n"
    )
    (project / ".gitignore").write_text("*.tmp\n")
    _git(project, "init", "-q", ".")
    (project / "inner").mkdir()
    _git(project / "inner", "init", "-q", ".")
    (project / "inner/file").write_text("x")
    for repository in (project, project / "inner"):
        for key in (
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "core.fsmonitor",
            "diff.evil.textconv",
        ):
            _git(repository, "config", key, pwned)
        for hook in ("pre-commit", "post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
            (repository / ".git/hooks" / hook).write_text(f"#!/bin/sh\n{pwned}\n")
            (repository / ".git/hooks" / hook).chmod(0o755)
    (project.parent / "PWNED").unlink(missing_ok=True)


def _git(folder: Path, *words: str) -> str:
    kept = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    safe = (
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "filter.evil.clean=cat",
        "-c",
        "filter.evil.process=",
    )
    done = subprocess.run(["git", *safe, *words], cwd=folder, env=kept, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_store_is_for_this_person_alone(tmp_path: Path, state: Path) -> None:
    fill(tmp_path / "project")

    async def drill(engine: Engine, project: Path) -> None: ...

    ran(tmp_path, "rm secret", drill)
    folders = [p for p in (state / "clew/shadow").rglob("*") if p.is_dir()]
    assert folders
    assert {p.stat().st_mode & 0o077 for p in (state / "clew/shadow", *folders)} == {0}
    assert {p.stat().st_mode & 0o077 for p in state.rglob("*") if p.is_file()} == {0}


def test_what_is_ignored_or_too_large_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project_inventory, "LARGEST", 1000)
    project = tmp_path / "project"
    fill(project)
    (project / ".gitignore").write_text("ignored\n")
    (project / "ignored").write_text("i")
    (project / "large").write_bytes(b"x" * 2000)

    async def drill(engine: Engine, project: Path) -> None:
        plan = engine.plan_rewind("1")
        assert [change.name for change in plan.changes] == ["ignored", "old.txt"]
        assert dict(plan.lost) == {
            "large": "larger than 8 MB, so it was not kept; deleted by `" + COMMAND[:120] + "`",
            "grown": "larger than 8 MB; created by `" + COMMAND[:120] + "`, and left as it is",
        }

    made = ran(tmp_path, COMMAND, drill)
    assert [text for text in told(made) if "left out: large" in text]


COMMAND = "rm ignored large; rm old.txt; head -c 3000 /dev/zero > grown; echo x > grown.txt; rm grown.txt"


@pytest.mark.parametrize("limit", ["MOST_FILES", "MOST_BYTES"])
def test_a_large_tree_is_passed_over_with_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(shadow_git, limit, 3)
    fill(tmp_path / "project")

    async def drill(engine: Engine, project: Path) -> None:
        assert not (project / "old.txt").exists()
        plan = engine.plan_rewind("1")
        assert not plan.changes
        assert plan.notes[0].startswith("What some commands changed is not known.") and "more than" in plan.notes[0]
        await engine.submit("go")

    made = ran(tmp_path, "rm old.txt", drill)
    assert len([text for text in told(made) if "cannot be undone" in text]) == 1


def test_without_git_it_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("bash", "sh", "rm"):
        found = shutil.which(name)
        assert found
        (tools / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tools))
    fill(tmp_path / "project")

    async def drill(engine: Engine, project: Path) -> None:
        assert not (project / "old.txt").exists()
        await engine.submit("go")

    made = ran(tmp_path, "rm -f old.txt", drill)
    assert told(made) == ["git is not installed, so what commands change cannot be undone."]


def test_a_home_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(CannotWatch, match="not a project folder"):
        Shadow(tmp_path, "s").look()


def test_a_git_that_was_ended_blocks_nobody_and_a_new_session_knows_the_files(tmp_path: Path) -> None:
    fill(tmp_path / "project")
    first = Shadow(tmp_path / "project", "one").look()
    store = shadow_git.store_of((tmp_path / "project").resolve())
    (store / "index-two").write_bytes((store / "index-one").read_bytes())
    (store / "index-two.lock").touch()
    for name in ("one", "two", "three"):
        assert Shadow(tmp_path / "project", name).look() == first


def test_projects_that_nobody_works_in_are_forgotten(tmp_path: Path) -> None:
    for name in ("old", "used", "new"):
        (tmp_path / name).mkdir()
    stores = {name: shadow_git.store_of((tmp_path / name).resolve()) for name in ("old", "used", "new")}
    for name in ("old", "used"):
        Shadow(tmp_path / name, "s").look()
    long_ago = time.time() - (shadow_git.DAYS + 1) * 86_400
    for path in (stores["old"], *stores["old"].iterdir(), stores["used"]):
        os.utime(path, (long_ago, long_ago))
    Shadow(tmp_path / "new", "s").look()
    assert [name for name, store in stores.items() if store.exists()] == ["used", "new"]


def test_it_can_be_left_out(tmp_path: Path, state: Path) -> None:
    fill(tmp_path / "project")
    with world(tmp_path, rules=[ScriptRule(prompt="go", steps=[[bash("rm old.txt")], "Done."])]) as made:

        async def work(engine: Engine) -> None:
            await engine.submit("go")
            assert not engine.plan_rewind("1").changes

        drive(made, work, session_id=SESSION, watches_commands=False)
    assert not state.exists()


def test_a_command_in_the_background_is_taken_back_and_nobody_is_sure(tmp_path: Path) -> None:
    project = tmp_path / "project"
    fill(project)
    command = "while [ ! -e ../go ]; do sleep 0.05; done; echo x > late; touch ../done"
    rules = [
        ScriptRule(prompt="go", steps=[[bash(command, run_in_background=True)], "Done."]),
        ScriptRule(prompt="more", steps=["More."]),
    ]

    async def work(engine: Engine) -> None:
        await engine.submit("go")
        (tmp_path / "go").touch()
        await there(tmp_path / "done")
        await engine.submit("more")
        plan = engine.plan_rewind("1")
        assert [(change.name, change.kind, change.is_edited) for change in plan.changes] == [("late", "delete", True)]

    with world(tmp_path, rules=rules) as made:
        drive(made, work, session_id=SESSION, watches_commands=True)


def test_a_command_that_still_runs_is_named(tmp_path: Path) -> None:
    fill(tmp_path / "project")
    command = "touch ../begun; while [ ! -e ../go ]; do sleep 0.05; done"
    rules = [ScriptRule(prompt="go", steps=[[bash(command, run_in_background=True)], "Done."])]

    async def work(engine: Engine) -> None:
        await engine.submit("go")
        await there(tmp_path / "begun")
        assert [note for note in engine.plan_rewind("1").notes if "ran in the background" in note]
        (tmp_path / "go").touch()

    with world(tmp_path, rules=rules) as made:
        drive(made, work, session_id=SESSION, watches_commands=True)


def test_a_copy_of_a_session_knows_it_too_and_so_does_whoever_opens_it_later(tmp_path: Path) -> None:
    fill(tmp_path / "project")
    before = tree(tmp_path / "project")

    async def drill(engine: Engine, project: Path) -> None: ...

    made = ran(tmp_path, "ln -sfn sub link; rm -r sub", drill)
    session = read(made.path())
    found = plan(session, "1", saved_folders(session, made.root / "claude"))
    assert sorted(change.name for change in found.changes) == ["link", "sub/file", "sub/run"]
    carry_out(found)
    assert tree(tmp_path / "project") == before


def test_only_commands_that_may_change_something_are_watched() -> None:
    tool = create_tools()["Bash"]
    harmless = ["ls -la", "git status", "cat a | head -3", "cd sub && grep -rn x .", "wc -l a"]
    others = [
        "rm a",
        "ls > a",
        "cat a | tee b",
        "make",
        "sed -i s/a/b/ a",
        "git checkout .",
        "echo $(rm a)",
        "python x.py",
        "",
    ]
    assert [command for command in harmless if may_change(tool, {"command": command})] == []
    assert [command for command in others if not may_change(tool, {"command": command})] == []
    assert not may_change(create_tools()["Write"], {"file_path": "a"})


def test_states_are_told_apart() -> None:
    assert PathState("file", b"x").digest != PathState("link", b"x").digest
    assert read_path_state(Path("/nowhere/at/all")).kind == "none"


def test_a_command_that_was_broken_off_is_taken_back(tmp_path: Path) -> None:
    project = tmp_path / "project"
    fill(project)
    before = tree(project)
    rules = [ScriptRule(prompt="go", steps=[[bash("rm old.txt; touch ../begun; sleep 600")], "Done."])]

    async def work(engine: Engine) -> None:
        turn = asyncio.create_task(engine.submit("go"))
        await there(tmp_path / "begun")
        engine.interrupt()
        await turn
        plan = engine.plan_rewind("1")
        assert [change.name for change in plan.changes] == ["old.txt"] and not plan.edited
        await engine.rewind(plan)

    with world(tmp_path, rules=rules) as made:
        drive(made, work, session_id=SESSION, watches_commands=True)
    assert tree(project) == before


def test_commands_of_agents_are_taken_back(tmp_path: Path) -> None:
    project = tmp_path / "project"
    fill(project)
    before = tree(project)
    rules = [
        ScriptRule(prompt="inner", steps=[[bash("rm old.txt link; echo x > made")], "Inner."]),
        ScriptRule(prompt="go", steps=[[use("Task", description="d", prompt="inner")], "Done."]),
    ]

    async def work(engine: Engine) -> None:
        await engine.submit("go")
        assert tree(project) != before
        plan = engine.plan_rewind("1")
        assert not plan.edited
        await engine.rewind(plan)

    with world(tmp_path, rules=rules) as made:
        drive(made, work, kinds=KINDS, session_id=SESSION, watches_commands=True)
    assert tree(project) == before


def test_sessions_that_begin_at_once_share_a_store(tmp_path: Path, state: Path) -> None:
    for number in range(8):
        project = tmp_path / f"project{number}"
        fill(project)
        with ThreadPoolExecutor(4) as several:
            watching = [Shadow(project, f"session{each}") for each in range(4)]
            seen = list(several.map(Shadow.look, watching))
            (project / "old.txt").write_text("new\n")
            now = list(several.map(Shadow.look, watching))
            list(several.map(Shadow.record, watching, "abcd", "abcd", seen, now))
        assert {tree.id for tree in seen} == {seen[0].id} != {tree.id for tree in now}
        found = Shadow(project, "another").since("abcd").files
        assert {name: (before.data, after) for name, (before, after) in found.items()} == {
            "old.txt": (b"old\r\n$Id$\n", PathState("file", b"new\n").digest)
        }
        assert len((shadow_git.store_of(project) / "records.jsonl").read_bytes().splitlines()) == 4
