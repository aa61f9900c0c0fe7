"""`clew collect` and `clew restore` as they are typed."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from clew.collect.collector_lock import hold_lock
from clew.demo.demo_tree import DemoSummary
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder and a cache for each test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


def test_collecting_twice_takes_everything_once(clew: Run, demo: DemoSummary, data: Path) -> None:
    code, out, _ = clew("collect", "--json")
    first = json.loads(out)
    assert (code, first["kind"]) == (0, "collected")
    assert first["lines"] > 500
    assert first["archive"] == str(data / "clew" / "archive" / "archive.db")
    assert json.loads(clew("collect", "--json")[1])["lines"] == 0


def test_a_preview_writes_nothing(clew: Run, demo: DemoSummary, data: Path) -> None:
    code, out, err = clew("collect", "--dry-run")
    assert code == 0
    assert "history.jsonl" in out.splitlines()
    assert "nothing was written" in err
    assert not data.exists()


def test_a_second_collector_is_told_so(clew: Run, demo: DemoSummary, data: Path) -> None:
    clew("collect")
    with hold_lock(str(data / "clew" / "archive" / "archive.lock")):
        code, out, err = clew("collect")
    assert (code, out) == (0, "")  # a timer beside `--watch` has not failed
    assert "Another collector (process" in err and "Nothing was done here." in err


def test_a_deleted_session_is_restored_byte_for_byte(
    clew: Run, demo: DemoSummary, claude: Path, tmp_path: Path
) -> None:
    before = {p.relative_to(claude): p.read_bytes() for p in claude.rglob("*") if p.is_file()}
    session = next(p for p in before if p.suffix == ".jsonl" and (claude / p).with_suffix("").is_dir())
    clew("collect")
    (claude / session).unlink()
    shutil.rmtree((claude / session).with_suffix(""))
    code, out, _ = clew("restore", session.stem[:8])
    assert code == 0
    assert str(claude / session) in out.splitlines()
    assert {p.relative_to(claude): p.read_bytes() for p in claude.rglob("*") if p.is_file()} == before
    code, out, err = clew("restore", session.stem[:8])
    assert (code, out) == (0, "")
    assert "nothing is written over" in err
    assert clew("restore", session.stem[:8], "--to", str(tmp_path / "else"))[0] == 0
    assert (tmp_path / "else" / session).read_bytes() == before[session]
    assert (tmp_path / "else" / session).stat().st_mode & 0o777 == 0o600


def test_sessions_that_will_be_deleted_are_told_of(clew: Run, demo: DemoSummary, claude: Path) -> None:
    (claude / "settings.json").write_text('{"cleanupPeriodDays": 20}')
    for path in claude.glob("projects/*/*.jsonl"):
        os.utime(path, (time.time() - 18 * 86_400,) * 2)
    err = clew("collect")[2]
    assert "sessions within three days (it deletes what is older than 20 days); the archive keeps them." in err
    assert "Claude Code will delete" not in clew("collect", "--quiet")[2]


def test_no_room_for_what_is_gone_stops_nothing(clew: Run, demo: DemoSummary, claude: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"a file where a folder should be")
    code, out, err = clew("collect")
    assert code == 0
    assert "are new in" in out
    assert "could not be laid out" in err


def test_an_unknown_session_is_not_found(clew: Run, demo: DemoSummary) -> None:
    code, _, err = clew("restore", "ffff")
    assert code == 2
    assert "create one with: clew collect" in err
    clew("collect")
    assert clew("restore", "ffff")[0] == 1


def test_an_archive_that_is_none_is_left_as_it_is(clew: Run, demo: DemoSummary, tmp_path: Path) -> None:
    other = tmp_path / "notes.db"
    other.write_bytes(b"no database at all, but somebody's notes" * 40)
    code, _, err = clew("collect", "--archive", str(other))
    assert code == 2
    assert "it is not an archive" in err
    assert other.read_bytes().startswith(b"no database at all")


def test_a_missing_folder_is_told(clew: Run) -> None:
    code, _, err = clew("collect")
    assert code == 1
    assert "--claude-dir" in err


def _lose(claude: Path, id: str) -> None:
    """Delete a session and all that belongs to it, as Claude Code does."""
    for path in claude.rglob(f"{id}*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def test_a_session_that_is_gone_is_listed_and_shown_from_the_archive(
    clew: Run, demo: DemoSummary, claude: Path
) -> None:
    rows = [row for row in map(json.loads, clew("ls", "--json")[1].splitlines()) if "kept" not in row]
    id = rows[0]["id"]
    shown = clew("show", id)[1]
    clew("collect")
    assert "(archived)" not in clew("ls", "--archived")[1]
    _lose(claude, id)
    clew("collect")
    after = [json.loads(row) for row in clew("ls", "--json")[1].splitlines()]
    after = [row for row in after if row.get("kept") != "reconstructed"]
    assert [row["id"] for row in after] == [row["id"] for row in rows]
    assert [row["id"] for row in after if row.get("kept") == "archived"] == [id]
    assert after[0]["resume"] == f"clew restore {id}"
    assert "(archived) " in clew("ls", "--archived")[1]
    word = max(rows[0]["title"].split(), key=len)
    results = {row["session"]: row for row in map(json.loads, clew("search", word, "--json")[1].splitlines())}
    assert (results[id]["gone"], results[id]["resume"]) == ("archive", f"clew restore {id}")
    found = [json.loads(row)["session"] for row in clew("search", word, "--archived", "--json")[1].splitlines()]
    assert found == [id]
    code, out, err = clew("show", id[:8])
    assert code == 0
    assert _body(out) == _body(shown)
    assert f"clew restore {id[:8]}" in err
    clew("restore", id)
    clew("collect")
    assert "(archived)" not in clew("ls", "--archived")[1], "it came back"


def _body(text: str) -> list[str]:
    """What is shown of a session, without its heading, where the sizes of files are."""
    return text.splitlines()[3:]


def test_what_writes_is_told_to_restore_first(clew: Run, demo: DemoSummary, claude: Path) -> None:
    id = json.loads(clew("ls", "--json", "--limit", "1")[1])["id"]
    clew("collect")
    _lose(claude, id)
    clew("collect")
    code, _, err = clew("repair", id)
    assert code == 1
    assert f"Restore it from the archive with: clew restore {id[:8]}" in err


def test_a_session_that_was_lost_before_is_reconstructed_from_what_is_left(
    clew: Run, demo: DemoSummary, claude: Path
) -> None:
    history = [json.loads(row) for row in (claude / "history.jsonl").read_bytes().splitlines()]
    id = next(row["sessionId"] for row in history if row.get("sessionId"))
    said = [row["display"] for row in history if row.get("sessionId") == id]
    _lose(claude, id)
    clew("collect")
    rows = [json.loads(row) for row in clew("ls", "--archived", "--json")[1].splitlines()]
    assert [(row["id"], row["kept"]) for row in rows if row["id"] == id] == [(id, "reconstructed")]
    code, out, err = clew("show", id, "--depth", "prompts")
    assert code == 0
    assert "was reconstructed from what was left" in err
    assert all(text.split("\n")[0][:20] in out for text in said)
    code, _, err = clew("restore", id)
    assert code == 1
    assert f"Read it with: clew show {id}" in err


@pytest.mark.req("R316")
def test_a_state_file_is_written_when_asked_for(clew: Run, demo: DemoSummary, claude: Path, tmp_path: Path) -> None:
    clew("collect", "--state", str(tmp_path / "state.json"))
    files = json.loads((tmp_path / "state.json").read_bytes())["claude_code"]["files"]
    assert str(claude / "history.jsonl") in files


def test_records_go_to_a_file_once(clew: Run, demo: DemoSummary, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert clew("collect", "--to", str(out))[0] == 0
    rows = [json.loads(row) for row in out.read_bytes().splitlines()]
    assert len(rows) > 500
    clew("collect", "--to", str(out))
    assert len(out.read_bytes().splitlines()) == len(rows)


def test_a_sink_that_is_none_is_told(clew: Run, demo: DemoSummary) -> None:
    code, _, err = clew("collect", "--to", "ftp://example.com")
    assert code == 2
    assert "is not a sink address" in err
    assert clew("collect", "--state", "s", "--to", "a.jsonl", "--to", "b.jsonl")[0] == 2


def test_installing_shows_first_and_asks(clew: Run, demo: DemoSummary, claude: Path) -> None:
    before = (claude / "settings.json").read_bytes()
    code, out, _ = clew("collect", "install", "--hook", "--dry-run")
    assert code == 0
    assert "+" in out and "__main__.py collect --claude-dir" in out
    code, _, err = clew("collect", "install", "--hook")
    assert code == 2
    assert "agree with --yes" in err
    assert (claude / "settings.json").read_bytes() == before
    assert clew("collect", "install", "--hook", "--yes")[1].splitlines()[-2] == "Done."
    assert b"__main__.py collect" in (claude / "settings.json").read_bytes()
    assert "Nothing to do" in clew("collect", "install", "--hook", "--yes")[1]
    clew("collect", "uninstall", "--hook", "--yes")
    assert json.loads((claude / "settings.json").read_bytes()) == json.loads(before)


def test_a_timer_is_started_by_the_system(
    clew: Run, demo: DemoSummary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    program = tmp_path / "bin" / "systemctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/ran\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr("sys.platform", "linux")
    assert clew("collect", "install", "--yes")[0] == 0
    assert (tmp_path / "ran").read_text().splitlines() == [
        "--user daemon-reload",
        "--user enable --now clew-collect.timer",
    ]


def test_the_status_counts_what_is_there(clew: Run, demo: DemoSummary) -> None:
    clew("collect")
    found = json.loads(clew("collect", "status", "--scrub", "--json")[1])
    assert found["is_sound"] is True
    assert found["counts"]["lines"] > 500
    code, out, _ = clew("collect", "status")
    assert code == 0
    assert "lines are damaged" in out


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (("--text", "secret"), "--text"),
        (("--project", "shop"), "--project"),
        (("status", "--now"), "--now"),
        (("verify", "--watch"), "--watch"),
        (("status", "--part", "1/2"), "--part"),
        (("erase", "--lines", "90d"), "--lines"),
        (("resend", "--from", "landing:zone"), "--from"),
    ],
)
def test_an_option_of_another_action_is_refused(clew: Run, words: tuple[str, ...], flag: str) -> None:
    code, out, err = clew("collect", *words)
    assert (code, out) == (2, "")
    assert f"{flag} means nothing to clew collect" in err and "It is for clew collect" in err
