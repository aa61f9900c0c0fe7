"""Searches leave out what may not be read: ripgrep is the judge."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.chat.permission.workplace import Workplace

RG = shutil.which("rg")
pytestmark = pytest.mark.skipif(RG is None, reason="needs ripgrep")


def found(place: Workplace, cwd: str = "", **input: str) -> set[str]:
    """The files in which ripgrep finds the word, with the globs that the decision adds."""
    folder = place.project / cwd
    decision = place.permissions.decide("Grep", {"pattern": "needle", **input}, folder, "default")
    assert decision.kind == "allow"
    globs = str((decision.input or input).get("glob", "")).split()
    command = [str(RG), "--no-config", "--hidden", "--no-ignore", "-l", *(f"--glob={g}" for g in globs), "-e", "needle"]
    said = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    ).stdout
    return {str((folder / line).relative_to(place.project)) for line in said.splitlines()}


@pytest.mark.parametrize(
    ("rule", "hidden"),
    [
        ("Read(.env)", {".env", "src/.env", "src/deep/.env"}),
        ("Read(./.env)", {".env"}),
        ("Read(src/**)", {"src/.env", "src/deep/.env", "src/needle.py"}),
        ("Read(src/deep/)", {"src/deep/.env"}),
        ("Read(**/.env)", {".env", "src/.env", "src/deep/.env"}),
        ("Read(/{project}/src/deep/**)", {"src/deep/.env"}),
        ("Read(/{project}/src/*.py)", {"src/needle.py"}),
        ("Read(with space)", {"with space"}),
        ("Read(~/x)", set()),
    ],
)
def test_what_is_denied_is_not_found(tmp_path: Path, rule: str, hidden: set[str]) -> None:
    place = Workplace(tmp_path, deny=[rule.replace("{project}", str(tmp_path / "project"))])
    (place.project / "src/deep").mkdir()
    files = {".env", "src/.env", "src/deep/.env", "src/needle.py", "with space"}
    for name in files:
        (place.project / name).write_text("needle\n")
    assert found(place) == files - hidden
    assert found(place, glob="*.py") == {"src/needle.py"} - hidden
    for name in sorted(hidden):
        assert place.call("Read", file_path=name).kind == "deny"
    assert found(place, cwd="src") <= {name for name in files - hidden if name.startswith("src/")}


def test_without_such_rules_and_files_nothing_is_changed(tmp_path: Path) -> None:
    place = Workplace(tmp_path, allow=["Read"])
    shutil.rmtree(place.project / ".ssh")
    assert place.call("Grep", pattern="x").input is None


@pytest.mark.parametrize("name", [".npmrc", "src/.netrc", "key.pem", ".aws/credentials", "src/ID_RSA", "src/.NpmRc"])
def test_keys_and_logins_are_not_found_unless_they_are_asked_for(tmp_path: Path, name: str) -> None:
    place = Workplace(tmp_path)
    (place.project / name).parent.mkdir(exist_ok=True)
    (place.project / name).write_text("needle\n")
    (place.project / "x").write_text("needle\n")
    assert found(place) == {"x"}
    assert found(place, glob=name.rsplit("/", 1)[-1]) == set()
    assert place.call("Grep", pattern="needle", path=name).kind == "ask"
    assert place.call("Grep", "bypassPermissions", pattern="needle").input is None
