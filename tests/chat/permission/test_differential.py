"""Generated commands, decided by us and run by bash: whatever is allowed writes nothing, starts nothing but the programs it
names, reads nothing outside the project and no keys, and prints no secret."""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.chat.permission.shell_grammar import ROWS, commands, every_option
from tests.chat.permission.trap import EVIL_CONFIG, STRACE, Trap

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32" or shutil.which("bash") is None, reason="needs bash"),
    pytest.mark.skipif(shutil.which("git") is None or shutil.which("rg") is None, reason="needs git and ripgrep"),
]
COUNT = 5_200
FEWEST = 3  # runs of each row
TOGETHER = 60  # commands that are run before anybody looks
NEEDS_TRUST = {f"{name} --version" for name in ("node", "npm", "pip", "pip3", "python", "python3")}


def prove(trap: Trap, seed: int, count: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Decide and run; how often each row was allowed. In a trusted folder git and the programs of version managers obey its
    files, so they are left out there."""
    for name, value in trap.hostile.items():
        monkeypatch.setenv(name, value)
    made = commands(seed, count)
    if trap.is_trusted:
        made = [(row, command) for row, command in made if "git" not in command and "version" not in command]
        count = len(made)
    kinds = [trap.decide(command).kind for _, command in made]
    allowed = [(row, command) for (row, command), kind in zip(made, kinds, strict=True) if kind == "allow"]
    for start in range(0, len(allowed), TOGETHER):
        wrong = trap.first_wrong([command for _, command in allowed[start : start + TOGETHER]])
        assert wrong is None, wrong
    print(f"{count} commands, {kinds.count('ask')} asked, {len(allowed)} allowed, 0 bad; strace: {bool(STRACE)}")
    assert len(allowed) >= 0.3 * count
    return Counter(row for row, _ in allowed)


def test_what_runs_without_a_question_only_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = prove(Trap(tmp_path), 20_261_115, COUNT, monkeypatch)
    rare = {row: rows[row] for row in ROWS if rows[row] < FEWEST and row not in NEEDS_TRUST}
    assert rare == {}
    assert not NEEDS_TRUST & rows.keys()


def test_nor_in_a_trusted_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prove(Trap(tmp_path, is_trusted=True), 7, len(ROWS) * 6, monkeypatch)


def test_where_the_repository_names_programs_git_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = prove(Trap(tmp_path, config=EVIL_CONFIG), 11, len(ROWS) * 6, monkeypatch)
    assert [row for row in rows if row.startswith("git ") and not row.endswith(("--version", "version"))] == []


@pytest.mark.soak
@pytest.mark.skipif(not os.environ.get("CLEW_SOAK"), reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(7200)
def test_what_runs_without_a_question_only_looks_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(int(os.environ.get("CLEW_SOAK_SEEDS", "20"))):
        prove(Trap(tmp_path / str(seed)), seed, 5_000, monkeypatch)


@pytest.mark.soak
@pytest.mark.skipif(not os.environ.get("CLEW_SOAK"), reason="long: set CLEW_SOAK=1")
@pytest.mark.timeout(1800)
def test_no_option_of_the_table_leads_out_of_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = Trap(tmp_path)
    for name, value in trap.hostile.items():
        monkeypatch.setenv(name, value)
    allowed = [command for command in every_option() if trap.decide(command).kind == "allow"]
    assert len(allowed) > 1_000
    for start in range(0, len(allowed), TOGETHER):
        assert trap.first_wrong(allowed[start : start + TOGETHER]) is None


KNOWN = [
    ("rg q ''--p* zz.txt", "changed"),
    ("sed -n 1p ''-es* x", "changed"),
    ("sort ''-o* x", "changed"),
    ("printf %n PATH; ls", "changed"),
    ("printf evil >&٣", "changed"),
    ("cat ./[^a]ink", "printed"),
    ("cat ./[[:alpha:]]ink", "printed"),
    ('cat "./l"*', "printed"),
    ("uniq ./d*", "changed"),
    ("strings @../outside/secret", "printed"),
    ("echo $ANTHROPIC_API_KEY", "printed"),
    ("grep -r '' .", "printed"),
    ("rg -uu ''", "printed"),
    ("git show HEAD:.npmrc", "printed"),
    ("git log -p .npmrc", "printed"),
    ("cat +5", "printed"),
    ("od -c -w link", "read"),
    ("diff both linkdir", "read"),
    ("tee z < x", "wrote"),
    ("./ls", "started"),
    ("bash -c 'echo > /dev/tcp/127.0.0.1/9'", "connected"),
]


@pytest.mark.parametrize(("command", "effect"), KNOWN)
def test_the_detectors_see_what_is_known_to_be_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, effect: str
) -> None:
    trap = Trap(tmp_path)
    for name, value in trap.hostile.items():
        monkeypatch.setenv(name, value)
    assert trap.decide(command).kind == "ask"
    if STRACE or effect in ("changed", "printed"):
        assert any(wrong.startswith(effect) for wrong in trap.run([command]))


@pytest.mark.parametrize(
    "command", ["git status", "git diff", "git log -p -1", "git show", "git blame a.txt", "git ls-files -m"]
)
def test_the_repository_that_names_programs_does_run_them(tmp_path: Path, command: str) -> None:
    """Without the settings that override its own: so the traps are live."""
    trap = Trap(tmp_path, config=EVIL_CONFIG)
    trap.variables = {n: v for n, v in trap.variables.items() if not n.startswith("GIT_") or n == "GIT_PAGER"}
    assert any("tripped" in wrong for wrong in trap.run([command]))
