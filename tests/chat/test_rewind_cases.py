"""Every case of a rewind ends as restored, reported or refused: nothing is destroyed, and nothing is lost in silence."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from clew.api.mock.scripts import ScriptRule
from clew.chat.engine import Engine
from clew.chat.rewind import project_inventory
from clew.chat.session_factory import ChatSession
from clew.cli import main
from clew.console.menu import Menu, MenuAnswer
from clew.console.rewind_dialog import rewind
from clew.view.row_types import Row
from tests.chat.chat_fixture import SESSION, World, world
from tests.chat.rewind_cases import CASES, Case, fill
from tests.chat.test_rewind_plan import drive

State = dict[str, tuple[Any, ...]]
TABLE: dict[str, tuple[str, str]] = {}


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "HOME": "home"}
    for name, folder in {**names, "CLAUDE_CONFIG_DIR": "claude"}.items():
        monkeypatch.setenv(name, str(tmp_path / folder))


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    for name, (by_command, by_console) in TABLE.items():
        print(f"{name:<55} {by_command:<10} {by_console}")
    print(f"{len(TABLE)} cases")


def snapshot(root: Path) -> State:
    """Every path below the project and below the folder beside it: kind, content and mode."""
    found: State = {}
    for top in ("project", "outside"):
        for at, folders, names in os.walk(root / top):
            for name in (*folders, *names):
                path = Path(at, name)
                facts = os.lstat(path)
                kind, mode = stat.S_IFMT(facts.st_mode), stat.S_IMODE(facts.st_mode)
                data = b""
                if kind == stat.S_IFREG:
                    data = path.read_bytes() if os.access(path, os.R_OK) else b"closed"
                if kind == stat.S_IFLNK:
                    data, mode = os.fsencode(path.readlink()), 0
                found[str(path.relative_to(root))] = (kind, mode, data)
    return found


def is_of_git(name: str) -> bool:
    return ".git" in Path(name).parts


def classify(before: State, after: State, now: State, lost: list[str], notes: list[str]) -> str:
    """How a rewind ended: by what is not as it was, and what was reported."""
    if now == before:
        return "restored"
    named = {name.rstrip("/") for name in lost}
    words = " ".join(notes)
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) == now.get(name):
            continue
        inside = Path(name).relative_to(Path(name).parts[0])
        above = {str(inside), *map(str, inside.parents)}
        is_named = bool(above & named) or any(f"{part}/" in words for part in above - {"."})
        if name.startswith("outside/"):
            is_named = "outside of" in words or any("outside" in each for each in lost)
        if not is_named:
            is_harm = before.get(name) == after.get(name)
            return f"destroyed: {name}" if is_harm else f"unreported: {name}"
    return "reported"


class Script:
    """A user at the console who goes back to the first prompt, restores the files, and agrees to delete."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self.asked: list[str] = []

    def print_row(self, row: Row) -> None:
        self.rows += row.text.splitlines()

    async def choose(self, menu: Menu) -> MenuAnswer | None:
        self.asked += [menu.title, *(f"{option.label}: {option.about}" for option in menu.options)]
        if menu.title.startswith("Go back"):
            prompts = [option for option in menu.options if option.value != "undo"]
            return MenuAnswer((prompts[-1].value,))
        values = [option.value for option in menu.options]
        if "keep" in values and "delete" not in values:
            return None  # someone else changed these files
        wanted = next((value for value in ("code", "delete") if value in values), None)
        return MenuAnswer((wanted,)) if wanted else None


def run_session(made: World) -> None:
    async def work(engine: Engine) -> None:
        await engine.submit("go")

    drive(made, work, session_id=SESSION, watches_commands=True)


def by_command(case: Case, root: Path, before: State, after: State, capsys: pytest.CaptureFixture[str]) -> str:
    words = ["rewind", SESSION, "--to", "1", "--code", "--json", "--yes"]
    code = main(words)
    out, err = capsys.readouterr()
    now = snapshot(root)
    if code == 2:
        return "refused" if now == after and "Refused" in err else f"changed in spite of a refusal: {err}"
    [row] = map(json.loads, out.splitlines())
    assert not row["failed"], row
    lost = [each["name"] for each in row["lost"]]
    assert {change["name"] for change in row["changes"] if change["what"] == "delete"}.isdisjoint(lost)
    ends = classify(before, after, now, lost, row["notes"])
    if row["undo"]:
        assert {n: s for n, s in now.items() if is_of_git(n)} == {n: s for n, s in after.items() if is_of_git(n)}
        assert main(["rewind", SESSION, "--undo"]) == 0
        capsys.readouterr()
        assert snapshot(root) == after
    return ends


def by_console(case: Case, made: World, root: Path, before: State, after: State) -> str:
    ui = Script()

    async def work(engine: Engine) -> None:
        holder = cast(ChatSession, type("Holder", (), {"engine": engine})())
        await rewind(holder, cast(Any, ui))

    drive(made, work, resume=SESSION, watches_commands=True)
    now = snapshot(root)
    shown = "\n".join(ui.rows)
    assert "as it was" not in shown and "as they were" not in shown
    if now == after and now != before and case.ends == "refused":
        return "refused"
    deleted = {name for name in after if name not in now and name.startswith("project/")}
    for name in deleted:
        if after[name][0] != stat.S_IFDIR and not before.get(name) and name.isprintable():
            assert [row for row in ui.rows if row.startswith(f"delete {Path(name).relative_to('project')}")]
    if now != after:
        assert "Undo this with" in shown
    lost = [row.removeprefix("Not restored: ").split(" (")[0] for row in ui.rows if row.startswith("Not restored")]
    rest = [row for row in ui.rows if row.startswith("Note: ")] or [" ".join(ui.asked)]
    return classify(before, after, now, lost, rest)


@pytest.mark.parametrize("name", CASES)
def test_a_rewind_restores_or_reports(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case, project = CASES[name], (tmp_path / "project").resolve()
    fill(project)
    if case.setup:
        case.setup(project)
    for limit, value in case.limits:
        monkeypatch.setattr(project_inventory, limit, value)
    before = snapshot(tmp_path)
    with world(tmp_path, rules=[ScriptRule(prompt="go", steps=[*case.steps(project), "Done."])]) as made:
        run_session(made)
        if case.later:
            case.later(project)
        after = snapshot(tmp_path)
        capsys.readouterr()
        ends = by_command(case, tmp_path, before, after, capsys)
        TABLE[name] = (ends, "-")
        if os.geteuid() and "closed" in name and ends == "reported":
            return  # only root can see what changed behind a closed folder
        assert ends == case.ends
        if project.exists():
            TABLE[name] = (ends, by_console(case, made, tmp_path, before, after))
            assert TABLE[name][1] == case.ends


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 66
