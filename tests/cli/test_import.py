"""`clew import`: what is typed, what is said, and what lies there afterwards."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import clew
from clew.cli import main
from tests.foreign import logs

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    for name in ("CODEX_HOME", "GPTME_LOGS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def call(*words: str | Path) -> tuple[int, str, str]:
        code = main(["import", *map(str, words)])
        return code, *capsys.readouterr()

    return call


def made(out: str) -> clew.Session:
    """The session whose id stands on a line of its own."""
    return clew.find(next(line for line in out.splitlines() if len(line) == 36 and line.count("-") == 4))


def test_a_conversation_is_imported(run: Run, tmp_path: Path) -> None:
    code, out, err = run(logs.codex(tmp_path))
    session = made(out)
    assert code == 0
    assert f"Imported codex {logs.THREAD}: 2 turns, " in out
    assert f"Resume with:  cd {logs.CWD} && claude -r {session.id}" in out
    assert err == f"{logs.CWD} is not a folder on this machine. Name another with --to.\n"
    assert [turn.text for turn in session.turns] == [logs.FIRST, logs.SECOND]
    assert session.cwd == logs.CWD


def test_the_second_time_it_is_only_named(run: Run, tmp_path: Path) -> None:
    path = logs.codex(tmp_path)
    first = made(run(path)[1])
    code, out, err = run(path)
    assert (code, err) == (0, "")
    assert out == f"{first.id}  is there already, of codex {logs.THREAD}.\n"
    assert len(list((tmp_path / "claude").rglob("*.jsonl"))) == 1


def test_a_conversation_that_has_grown(run: Run, tmp_path: Path) -> None:
    path = logs.codex(tmp_path)
    first = made(run(path)[1])
    before = first.path.read_bytes() if first.path else b""
    logs.codex_compacted(tmp_path)
    code, out, err = run(path)
    assert (code, out.split()[0]) == (0, first.id)
    assert "has changed since. Make another session of it with --again." in err
    second = made(run(path, "--again")[1])
    assert second.id != first.id
    assert [turn.text for turn in second.turns] == [logs.FIRST, logs.SECOND, "And now?"]
    assert run(path, "--again")[1].startswith(f"{second.id}  is there already")
    assert first.path and first.path.read_bytes() == before


def test_a_dry_run_writes_nothing(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(logs.gptme(tmp_path), "--dry-run")
    assert code == 0
    assert out.startswith("Would import gptme 2026-03-01-dry-beds: 2 turns")
    assert not (tmp_path / "claude").exists()
    assert not (tmp_path / "data").exists()


def test_an_import_is_taken_back(run: Run, tmp_path: Path) -> None:
    session = made(run(logs.codex(tmp_path))[1])
    assert main(["undo", session.id]) == 0
    assert not list((tmp_path / "claude").rglob("*.jsonl"))


def test_it_goes_to_another_folder(run: Run, tmp_path: Path) -> None:
    _, out, err = run(logs.codex(tmp_path), "--to", tmp_path / "here")
    session = made(out)
    assert err == ""
    assert session.cwd == str(tmp_path / "here")
    assert session.path and session.path.parent.name.endswith("-here")


def test_several_are_not_guessed_at(run: Run, tmp_path: Path) -> None:
    path = logs.aider(tmp_path / "here")
    code, out, err = run(path)
    assert (code, out) == (2, "")
    assert "matches 2 conversations" in err
    assert "--only ID" in err
    code, out, _ = run(path, "--list")
    rows = [line.split()[0] for line in out.splitlines()]
    assert (code, len(rows)) == (0, 2)
    assert [turn.text for turn in made(run(path, "--only", rows[1])[1]).turns] == ["Good morning"]
    code, out, _ = run(path, "--all")
    assert code == 0
    assert [turn.text for turn in made(out).turns] == ["Which beds\nare dry?", logs.SECOND]


def test_the_usual_places_are_listed(run: Run, tmp_path: Path) -> None:
    logs.codex_new(tmp_path / "home" / ".codex")
    logs.opencode_database(tmp_path / "data")
    logs.gptme(tmp_path / "data" / "gptme")
    (tmp_path / "log").mkdir()
    logs.gemini_lines(tmp_path / "home" / ".gemini")
    logs.aider(tmp_path / "here")
    code, out, err = run()
    assert (code, err) == (0, "")
    assert [line.split()[1] for line in out.splitlines()] == ["codex", "opencode", "gemini", "gptme", "aider", "aider"]
    first = out.split()[0]
    assert made(run(first)[1]).id.startswith(first)
    assert run("--from", "codex")[1].rstrip().endswith("(imported)")
    code, out, _ = run("--all", "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["state"] for row in rows] == ["there", *["made"] * 5]
    assert {row["clew"] for row in rows} == {1}


def test_nothing_is_there(run: Run) -> None:
    assert run()[0] == 1
    assert run("--all")[0] == 1
    code, _, err = run("abcd")
    assert (code, "No conversation matches 'abcd'" in err) == (1, True)
    code, _, err = run("no/such/file")
    assert (code, "No such file" in err) == (2, True)


def test_damage_is_told_and_the_rest_is_imported(run: Run, tmp_path: Path) -> None:
    path = logs.codex(tmp_path)
    whole = path.read_text().splitlines()
    path.write_text("\n".join([*whole[:4], "{torn", *whole[4:]]))
    code, out, err = run(path)
    assert code == 0
    assert [turn.text for turn in made(out).turns] == [logs.FIRST, logs.SECOND]
    assert "1 part of it could not be read" in err
    assert "line 5: not a JSON object" in err


def test_a_file_in_no_known_form(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    code, out, err = run(path)
    assert (code, out) == (2, "")
    assert "notes.txt has an unknown format" in err
    assert "--from codex|opencode" in err


def test_a_log_without_a_conversation_is_not_called_missing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text('{"id": "a", "timestamp": "2026-01-01T00:00:00Z", "instructions": null}\n')
    code, out, err = run(path)
    assert (code, out) == (1, "")
    assert "rollout.jsonl was read as Codex CLI, and has neither a prompt nor a reply." in err
    (tmp_path / "empty.jsonl").touch()
    assert run(tmp_path / "empty.jsonl") == (2, "", "clew: Refused: empty.jsonl is empty.\n")
    code, out, err = run("missing.json")
    assert (code, out) == (2, "")
    assert "missing.json" in err and "No such file" in err


def test_a_packed_rollout_is_told_of(run: Run, tmp_path: Path) -> None:
    path = logs.codex(tmp_path)
    packed = path.rename(path.with_name(f"{path.name}.zst"))
    code, _, err = run(packed)
    assert code == 1
    assert "it is compressed; decompress it with: zstd -d" in err


def test_lineage_and_show_know_it(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = made(run(logs.codex(tmp_path))[1])
    assert main(["lineage", session.id]) == 0
    assert "import from codex" in capsys.readouterr().out
    assert main(["check", session.id]) == 0
    capsys.readouterr()
    assert main(["check", "--drift", session.id]) == 0
    assert "foreign" not in capsys.readouterr().out


def test_a_secret_in_what_is_kept_is_hidden_too(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0iL3oR6"
    lines = [{"role": "system", "content": f"The key is {key}."}, *logs.openai_messages()]
    session = made(run(logs.written(tmp_path / "log.jsonl", lines), "--to", tmp_path / "here")[1])
    assert session.path and key in session.path.read_text()
    assert main(["redact", session.id]) == 0
    copy = made(capsys.readouterr().out)
    assert copy.path and key not in copy.path.read_text()


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that opens and cannot be read")
def test_a_log_that_cannot_be_read_hides_no_other_and_shows_in_the_exit_code(run: Run, tmp_path: Path) -> None:
    path = logs.codex(tmp_path / "codex")
    broken = path.with_name(path.name.replace("T09-00-00", "T09-00-01"))
    broken.symlink_to("/proc/self/mem")
    for words in (["--list"], ["--all", "--dry-run"]):
        code, out, err = run(tmp_path / "codex", *words)
        assert code == 1
        assert "codex" in out
        assert f"Skipped {broken}: " in err
