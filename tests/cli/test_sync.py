"""`clew sync`: two Claude folders become equal by union, in a folder or over ssh; nothing is deleted or overwritten."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clew.cli import main
from clew.demo.talk import talk
from clew.wire.project_slug import slug
from tests.edit.test_move_project import OLD, ONE, TWO, garden, put, snapshot
from tests.edit.test_pack import continued

Run = Callable[..., tuple[int, str, str]]
THREE = "3f2a0000-0000-4000-8000-000000000003"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        return main([*words, "--claude-dir", str(here / "laptop")]), *capsys.readouterr()

    return call


@pytest.fixture
def host(here: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A host whose `ssh` runs the command on this machine, with another home."""
    folder = here / "bin"
    folder.mkdir()
    clew = folder / "clew"
    clew.write_text(f'#!/bin/sh\nexec {sys.executable} -m clew "$@"\n')
    home = here / "there"
    ssh = folder / "ssh"
    names = f"HOME={home} CLAUDE_CONFIG_DIR={here / 'desktop'} XDG_DATA_HOME={home}/data XDG_CACHE_HOME={home}/cache"
    ssh.write_text(f'#!/bin/sh\n[ "$1" = ada@desk ] || exit 255\nshift\nexport {names}\ncd /\nexec sh -c "$*"\n')
    for program in (clew, ssh):
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return "ssh:ada@desk"


def two_trees(here: Path) -> None:
    """Two trees: one session in each alone, one that grew there, one that was continued in both."""
    garden(here / "laptop", OLD, ONE)
    talk(TWO, cwd=OLD).user("only there").reply("x").write(here / "desktop")
    for id, words in ((THREE, "grows"), ("3f2a0000-0000-4000-8000-000000000004", "parts")):
        for tree in ("laptop", "desktop"):
            talk(id, cwd=OLD).user(words).reply("first").write(here / tree)
    folder = Path("projects") / slug(OLD)
    continued(here / "desktop" / folder / f"{THREE}.jsonl", "cafe")
    continued(here / "laptop" / folder / "3f2a0000-0000-4000-8000-000000000004.jsonl", "deed")
    continued(here / "desktop" / folder / "3f2a0000-0000-4000-8000-000000000004.jsonl", "face")


def sessions(tree: Path) -> dict[str, int]:
    return {path.stem: path.stat().st_size for path in (tree / "projects").glob("*/*-*-*-*-*.jsonl")}


def check_union(here: Path, before: dict[str, tuple[bytes, int]]) -> None:
    laptop, desktop = sessions(here / "laptop"), sessions(here / "desktop")
    assert laptop.keys() == desktop.keys() and len(laptop) == 5
    folder = Path("projects") / slug(OLD)
    grown = [(here / tree / folder / f"{THREE}.jsonl").read_bytes() for tree in ("laptop", "desktop")]
    assert grown[0] == grown[1] and b"cafe" in grown[0]
    [merged] = {id for id in laptop if not id.startswith("3f2a")}
    text = [(here / tree / folder / f"{merged}.jsonl").read_text() for tree in ("laptop", "desktop")]
    assert text[0] == text[1] and "deed" in text[0] and "face" in text[0]
    assert (here / "desktop" / "file-history" / ONE / "aa@v1").exists()
    after = {**snapshot(here / "laptop"), **{f"there/{n}": f for n, f in snapshot(here / "desktop").items()}}
    assert all(after[name][0].startswith(content) for name, (content, _) in before.items())


def both(here: Path) -> dict[str, tuple[bytes, int]]:
    return {**snapshot(here / "laptop"), **{f"there/{n}": f for n, f in snapshot(here / "desktop").items()}}


def test_two_folders_become_equal_and_stay_so(run: Run, here: Path) -> None:
    two_trees(here)
    before = both(here)
    code, out, err = run("sync", str(here / "desktop"))
    assert code == 0 and "would arrive" in out and "Do it with --yes" in err
    assert both(here) == before
    code, out, _ = run("sync", str(here / "desktop"), "--yes")
    assert code == 0 and f"there  {ONE}  arrived" in out and f"here   {TWO}  arrived" in out
    check_union(here, before)
    once = both(here)
    code, out, err = run("sync", str(here / "desktop"), "--yes")
    assert (code, out) == (0, "") and "the same sessions" in err
    assert both(here) == once


def test_another_machine_is_reached_over_ssh(run: Run, here: Path, host: str) -> None:
    two_trees(here)
    before = both(here)
    code, out, _ = run("sync", host, "--json")
    assert code == 0 and {json.loads(line)["place"] for line in out.splitlines()} == {"here", "there"}
    assert both(here) == before
    code, out, err = run("sync", host, "--yes")
    assert code == 0, err
    check_union(here, before)
    assert run("sync", host, "--yes")[1] == ""


@pytest.mark.parametrize("name", ["ssh:-oProxyCommand=touch evil", "ssh:", "ssh:a b", "ssh:$(touch evil)"])
def test_a_host_cannot_be_an_option_or_a_command(run: Run, here: Path, host: str, name: str) -> None:
    put(here / "laptop" / "history.jsonl")
    code, _, err = run("sync", name, "--yes")
    assert code == 2 and "not the name of a host" in err and not (here / "evil").exists()


def test_a_host_that_cannot_be_reached_is_reported(run: Run, here: Path, host: str) -> None:
    code, _, err = run("sync", "ssh:elsewhere", "--yes")
    assert code == 2 and "failed on elsewhere" in err and "Traceback" not in err


def test_a_folder_that_is_not_a_claude_folder_is_refused(run: Run, here: Path) -> None:
    put(here / "notes" / "a.txt", "x")
    garden(here / "laptop")
    for name in ("notes", "missing", "laptop"):
        code, _, err = run("sync", str(here / name), "--yes")
        assert code == 2 and err.count("\n") <= 2
    assert snapshot(here / "notes").keys() == {"a.txt"}


def test_an_undo_takes_back_what_arrived_here(run: Run, here: Path) -> None:
    garden(here / "desktop")
    (here / "laptop").mkdir()
    run("sync", str(here / "desktop"), "--yes")
    assert run("undo")[0] == 0
    assert snapshot(here / "laptop") == {}
