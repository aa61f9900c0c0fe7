"""`clew repair`, as it is typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clew.demo.demo_tree import DemoSummary
from clew.demo.talk import ABSENT, talk
from clew.wire.layout import Project
from clew.wire.side_files import compare_index, read_index
from tests.edit.broken import WAYS, five

pytestmark = pytest.mark.portable

Run = Callable[..., tuple[int, str, str]]


def index_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "sessions-index.json").read_bytes())
    return found


@pytest.mark.req("R043")
def test_the_index_is_rebuilt_from_the_files_and_the_old_one_kept(clew: Run, claude: Path) -> None:
    path = talk().user("dig the beds").reply("ok").summary_line("Beds").user("more").reply("ok").write(claude)
    (path.parent / "0b000000-0000-4000-8000-000000000000.jsonl").write_bytes(b"")
    target = path.parent / "sessions-index.json"
    target.write_bytes(b"{broken")
    before = path.read_bytes()
    code, out, err = clew("repair", "--index", "-p", "garden")
    assert (code, err) == (0, "")
    kept = path.parent / "sessions-index.json.bak-1"
    assert out == f"Wrote {target}: 1 session.\nThe old one is {kept}\n"
    assert kept.read_bytes() == b"{broken" and path.read_bytes() == before
    made = index_of(path.parent)
    assert (made["version"], made["originalPath"]) == (1, "/home/ada/garden")
    (entry,) = made["entries"]
    assert entry == {
        "sessionId": path.stem,
        "fullPath": str(path),
        "fileMtime": path.stat().st_mtime_ns // 1_000_000,
        "firstPrompt": "dig the beds",
        "summary": "Beds",
        "messageCount": 4,
        "created": "2026-01-05T09:00:00.000Z",
        "modified": entry["modified"],
        "gitBranch": "main",
        "projectPath": "/home/ada/garden",
        "isSidechain": False,
    }
    assert clew("repair", "--index", "-p", "garden")[1].endswith("sessions-index.json.bak-2\n")
    assert index_of(path.parent) == made
    assert sorted(p.name for p in path.parent.iterdir() if p.suffix != ".jsonl") == [
        "sessions-index.json",
        "sessions-index.json.bak-1",
        "sessions-index.json.bak-2",
    ]


@pytest.mark.req("R043")
def test_every_index_of_the_demo_is_fresh_afterwards(clew: Run, demo: DemoSummary, claude: Path) -> None:
    for folder in (claude / "projects").iterdir():
        assert clew("repair", "--index", "-p", folder.name)[0] == 0
        files = [file for file in Project(folder).sessions() if not file.is_empty]
        found = compare_index(read_index(folder / "sessions-index.json"), files)
        assert len(found.fresh) == len(files)
        assert (found.stale, found.missing, found.unlisted) == ((), (), ())


@pytest.mark.req("R043")
def test_a_dry_run_writes_nothing(clew: Run, demo: DemoSummary, claude: Path) -> None:
    before = {p: p.read_bytes() for p in claude.rglob("*") if p.is_file()}
    code, out, _ = clew("repair", "--index", "-p", "drip", "--dry-run")
    assert code == 0 and out.startswith("Would write ") and out.endswith("sessions-index.json: 5 sessions.\n")
    made = json.loads(clew("repair", "--index", "-p", "drip", "--dry-run", "--json")[1])
    assert (made["clew"], made["kind"], made["sessions"], made["written"], made["backup"]) == (
        1,
        "index",
        5,
        False,
        None,
    )
    assert {p: p.read_bytes() for p in claude.rglob("*") if p.is_file()} == before


def test_a_guess_at_the_path_is_not_written_down(clew: Run, claude: Path) -> None:
    path = talk().user("hi", cwd=ABSENT).write(claude)
    assert clew("repair", "--index", "-p", "garden")[0] == 0
    made = index_of(path.parent)
    assert "originalPath" not in made and made["entries"][0]["projectPath"] == ""
    assert Project(path.parent).path().source == "guess"


def test_this_folders_project_is_meant_unless_another_is_named(
    clew: Run, claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk(cwd=str(tmp_path)).user("hi").write(claude)
    monkeypatch.chdir(tmp_path)
    made = json.loads(clew("repair", "--index", "--json")[1])
    assert (made["project"], made["path"]) == (path.parent.name, str(path.parent / "sessions-index.json"))
    assert made["written"] and made["backup"] is None


@pytest.fixture
def broken(claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = five().write(claude)
    path.write_bytes(WAYS["every prompt's parent lost"])
    return path


@pytest.mark.req("R301")
def test_a_repair_tells_the_verdict_and_what_each_fix_does(clew: Run, claude: Path, broken: Path) -> None:
    before = broken.read_bytes()
    code, out, err = clew("repair", broken.stem)
    assert (code, err) == (0, "")
    told = out.splitlines()
    assert told[0].startswith(f"{broken.stem} loses 4 prompts when 2.1.325 resumes it: lines 1, 6, 11, 16.")
    assert told[1].startswith("  parent (lines 6, 11, 16, 21): ")
    assert told[2] == "    prompts restored: 2.0.50 1 → 5, 2.1.29 1 → 5, 2.1.45 1 → 5, 2.1.325 1 → 5"
    assert told[3] == "The repaired one is sound: 2.1.325 restores all 5 prompts."
    (made,) = [path for path in claude.rglob("*.jsonl") if path != broken]
    assert clew("check", made.stem)[0] == 0
    assert broken.read_bytes() == before


def test_a_prompt_that_cannot_be_saved_is_told_of(clew: Run, broken: Path) -> None:
    broken.write_bytes(WAYS["a line cut short"])
    out = clew("repair", broken.stem, "--dry-run")[1]
    assert "1 of the unreadable lines looks like a prompt; only the original holds" in out


@pytest.mark.parametrize(
    "data", [b"garbage\nmore {garbage\n\0\0", b'{"type":"summary","summary":"x","leafUuid":"y"}\nx\n']
)
def test_a_file_without_a_readable_message_is_not_repaired(clew: Run, claude: Path, broken: Path, data: bytes) -> None:
    broken.write_bytes(data)
    for more in ((), ("--dry-run",), ("--json",)):
        code, _, err = clew("repair", broken.stem, *more)
        assert code == 2 and f"no message in {broken.stem[:8]} can be read" in err and "clew restore" in err
    assert list(claude.rglob("*.jsonl")) == [broken] and broken.read_bytes() == data


def test_a_dry_run_of_a_repair_writes_nothing(clew: Run, claude: Path, broken: Path) -> None:
    code, out, _ = clew("repair", broken.stem, "--dry-run", "--json")
    made = json.loads(out)
    assert code == 0 and not made["written"] and made["verdict"] == ["loses", "sound"]
    assert [fix["name"] for fix in made["fixes"]] == ["parent"]
    assert made["fixes"][0]["prompts"]["2.0.50"] == [1, 5]
    assert list(claude.rglob("*.jsonl")) == [broken]


def test_what_is_sound_is_left_alone(clew: Run, claude: Path) -> None:
    path = five().write(claude)
    code, out, _ = clew("repair", path.stem)
    assert code == 0 and out.endswith("There is nothing to repair.\n")
    made = json.loads(clew("repair", path.stem, "--json")[1])
    assert (made["fixes"], made["written"], made["verdict"]) == ([], False, ["sound", "sound"])
    assert list(claude.rglob("*.jsonl")) == [path]


def test_what_to_repair_must_be_said(clew: Run, claude: Path) -> None:
    code, out, err = clew("repair")
    assert (code, out) == (2, "") and "--index to rebuild sessions-index.json" in err
    assert clew("repair", "--index", "-p", "nowhere")[0] == 1
