"""Merged and redacted sessions are resumed by the real Claude Code as clew says."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

import clew
from clew.demo.talk import Talk, bash, talk
from clew.edit.plan import plan
from clew.edit.write_plan import Written
from tests.oracle.claude import LATEST
from tests.oracle.conftest import Claude
from tests.oracle.judge import bench

pytestmark = pytest.mark.oracle

KEY = "ghp_" + "Zk3fQ9xLm2Vt8RbW5nYc7HsJ1dPg4TuA6eKo"


def merged(folder: Path, hours: int) -> Written:
    """Two continuations: the left one after an hour, the right one some hours later."""
    begun = talk(version=LATEST).user("one").reply("first", call=bash("ls")).result("a").reply("so").last_prompt()
    elsewhere = replace(begun, setup=replace(begun.setup, seed="elsewhere"))
    left = begun.pause(hours=1).user("to the left").reply("l").last_prompt()
    right = elsewhere.pause(hours=hours).user("to the right").reply("r").last_prompt()
    return plan(clew.read(left.write(folder / "a"))).merge(clew.read(right.write(folder / "b"))).write()


def secretive() -> Talk:
    told = talk(version=LATEST).user(f"use {KEY}").reply("x", thinking=f"{KEY}?", call=bash(f"curl {KEY}")).result(KEY)
    return told.reply("y", thinking="Fine.").user("next").reply("z")


def test_merged_and_redacted_sessions(claude: Claude, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    made = {
        "to the right": merged(tmp_path / "later", 2),
        "to the left": merged(tmp_path / "earlier", 0),
        "[REDACTED:github-token]": plan(clew.read(secretive().write(tmp_path / "c"))).redact().write(),
    }
    with bench(claude, LATEST) as boxes:
        judged = {said: boxes.judge(each.path.read_bytes(), each.id) for said, each in made.items()}
        for said, future in judged.items():
            verdict = future.result()
            verdict.check()
            assert verdict.theirs is not None
            sent = str(verdict.theirs.messages)
            assert [other for other in made if other in sent] == [said]
            assert KEY not in sent
