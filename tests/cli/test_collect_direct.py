"""`clew collect` without an archive, and its limits, on a hand-written tree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import PROJECT, SESSION, TOKEN, long_text, prompt, put, reply, text, write_lines

FOLDER = f"projects/{PROJECT}"


@pytest.fixture
def home(claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    session = claude / FOLDER / SESSION
    write_lines(session.with_suffix(".jsonl"), prompt(1, None, "Go"), reply(2, 1, text(f"Use {TOKEN}.")))
    write_lines(session / "subagents" / "agent-a1b2c3d.jsonl", prompt(3, None, "Look"), reply(4, 3, text("Seen.")))
    write_lines(session / "subagents" / "agent-0000000.jsonl", prompt(5, None, "Warmup"))
    put(session / "tool-results" / "toolu_1.txt", long_text())
    put(claude / "file-history" / SESSION / "abc@v1", "backup")
    put(claude / "shell-snapshots" / "snapshot.sh", "alias x=y")
    put(claude / "todos" / f"{SESSION}-agent-{SESSION}.json", '["x"]')
    put(claude / FOLDER / "sessions-index.json", '{"version": 1, "entries": []}')
    put(claude / "history.jsonl", '{"display": "Go", "timestamp": 1766607244547}\n')
    put(claude / "stats-cache.json", '{"totalSessions": 1}')
    return claude


def send(clew: Run, to: Path, *more: str, code: int = 0) -> dict[str, Any]:
    got, out, err = clew("collect", "--no-archive", "--to", str(to), "--json", *more)
    assert got == code, err
    return dict(json.loads(out))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.req("R310")
def test_only_conversations_index_history_and_stats_are_sent_and_no_archive_is_made(
    clew: Run, home: Path, tmp_path: Path
) -> None:
    to = tmp_path / "out.jsonl"
    assert send(clew, to)["sent"] == 7
    found = [(r["kind"], r["file"].rpartition("/")[2], r["line"]) for r in records(to)]
    assert sorted(found[:3]) == [
        ("index", "sessions-index.json", 1),
        ("session", f"{SESSION}.jsonl", 1),
        ("session", f"{SESSION}.jsonl", 2),
    ]
    assert found[3:] == [
        ("agent", "agent-a1b2c3d.jsonl", 1),
        ("agent", "agent-a1b2c3d.jsonl", 2),
        ("history", "history.jsonl", 1),
        ("stats", "stats-cache.json", 1),
    ]
    assert not (tmp_path / "data").exists()
    assert TOKEN not in to.read_text() and "[REDACTED:github-token" in to.read_text()
    assert [r["seq"] for r in records(to)] == list(range(1, 8))


@pytest.mark.req("R317")
def test_the_state_has_a_place_by_default_and_another_if_named(clew: Run, home: Path, tmp_path: Path) -> None:
    to = tmp_path / "out.jsonl"
    made = send(clew, to)
    assert Path(made["state"]) == tmp_path / "state" / "clew" / "collect-state.json"
    value = json.loads(Path(made["state"]).read_text())
    path = home / FOLDER / f"{SESSION}.jsonl"
    point = value["claude_code"]["files"][str(path)]
    assert (point["offset"], point["mtime"]) == (path.stat().st_size, path.stat().st_mtime_ns // 10**6)
    other = tmp_path / "mine.json"
    assert send(clew, tmp_path / "second.jsonl", "--state", str(other))["sent"] == 7 and other.exists()


@pytest.mark.req("R312", "R317")
def test_every_line_is_sent_once(clew: Run, home: Path, tmp_path: Path) -> None:
    to, path = tmp_path / "out.jsonl", home / FOLDER / f"{SESSION}.jsonl"
    send(clew, to)
    assert send(clew, to)["sent"] == 0
    line = json.dumps(prompt(3, 2, "More"))
    with path.open("a") as file:
        file.write(line[:40])
    assert send(clew, to)["sent"] == 0
    with path.open("a") as file:
        file.write(line[40:] + "\n")
    assert send(clew, to)["sent"] == 1
    last = records(to)[-1]
    assert (last["line"], json.loads(last["raw"])["message"]["content"]) == (3, "More")
    assert len(records(to)) == 8


def test_a_batch_of_unknown_outcome_is_sent_again_under_the_same_names(clew: Run, home: Path, tmp_path: Path) -> None:
    to, path = tmp_path / "out.jsonl", home / FOLDER / f"{SESSION}.jsonl"
    state = Path(send(clew, to)["state"])
    with path.open("a") as file:
        file.write(json.dumps(prompt(3, 2, "More")) + "\n")
    before = json.loads(state.read_text())
    start = before["claude_code"]["files"][str(path)]["offset"]
    send(clew, to)
    pending = {"file": str(path), "start": start, "end": path.stat().st_size, "line": 3, "generation": 1}
    before["claude_code"]["pending"] = pending
    state.write_text(json.dumps(before))  # as after a crash between the sink and the state
    write_lines(home / FOLDER / "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa.jsonl", prompt(9, None, "Another"))
    send(clew, to)
    names = [(r["file"], r["generation"], r["offset"]) for r in records(to)]
    assert len(names) == len(set(names)) == 9
    assert [r["seq"] for r in records(to)] == list(range(1, 10))


def test_a_rewritten_file_is_sent_again_as_a_new_generation(clew: Run, home: Path, tmp_path: Path) -> None:
    to, path = tmp_path / "out.jsonl", home / FOLDER / f"{SESSION}.jsonl"
    send(clew, to)
    write_lines(path, prompt(1, None, "Something else of quite another length"), reply(2, 1, text("Yes." * 99)))
    assert send(clew, to)["restarted"] == [f"{FOLDER}/{SESSION}.jsonl"]
    assert [(r["generation"], r["line"]) for r in records(to)[-2:]] == [(2, 1), (2, 2)]


def test_a_state_of_another_program_is_continued_and_what_else_it_holds_stays(
    clew: Run, home: Path, tmp_path: Path
) -> None:
    path, state = home / FOLDER / f"{SESSION}.jsonl", tmp_path / "theirs.json"
    first = path.read_bytes().index(b"\n") + 1
    files = {str(path): {"offset": first, "mtime": 1}}
    state.write_text(json.dumps({"cursor": {"x": 1}, "claude_code": {"files": files, "note": "n"}}))
    to = tmp_path / "out.jsonl"
    send(clew, to, "--state", str(state))
    assert [r["line"] for r in records(to) if r["kind"] == "session"] == [2]
    value = json.loads(state.read_text())
    assert (value["cursor"], value["claude_code"]["note"]) == ({"x": 1}, "n")


def test_nothing_moves_while_the_sink_fails(clew: Run, home: Path, tmp_path: Path) -> None:
    to = tmp_path / "out.jsonl"
    to.write_text("something else\n")
    assert "lines that are not records" in send(clew, to, code=2)["error"]
    to.unlink()
    assert send(clew, to)["sent"] == 7


@pytest.mark.req("R326")
@pytest.mark.parametrize("direct", [True, False])
def test_no_line_longer_than_the_limit_is_sent(clew: Run, home: Path, tmp_path: Path, direct: bool) -> None:
    to, path = tmp_path / "out.jsonl", home / FOLDER / f"{SESSION}.jsonl"
    with path.open("a") as file:
        file.write(json.dumps(prompt(3, 2, "x" * 5000)) + "\n")
    mode = ["--no-archive"] if direct else ["--archive", str(tmp_path / "a.db")]
    assert clew("collect", *mode, "--to", str(to), "--max-line", "4k")[0] == 0
    found = {r["line"]: r for r in records(to) if r["kind"] == "session"}
    assert found[3]["raw"] is None and found[3]["withheld"] == "it is longer than the limit"
    assert found[2]["raw"] and "x" * 4000 not in to.read_text()


@pytest.mark.req("R326")
@pytest.mark.parametrize("direct", [True, False])
def test_files_larger_than_the_limit_are_left_out_and_named(
    clew: Run, home: Path, tmp_path: Path, direct: bool
) -> None:
    to = tmp_path / "out.jsonl"
    large = write_lines(home / FOLDER / "bbbbbbbb-aaaa-4aaa-8aaa-aaaaaaaaaaaa.jsonl", prompt(9, None, "y" * 20_000))
    mode = ["--no-archive"] if direct else ["--archive", str(tmp_path / "a.db"), "--lean"]
    code, _, err = clew("collect", *mode, "--to", str(to), "--max-file", "10k")
    assert code == 0 and large.name in err and "--max-file" in err
    assert large.name not in to.read_text() and SESSION in to.read_text()
    assert clew("collect", *mode, "--to", str(to))[0] == 0
    assert large.name in to.read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([], "name it with --to"),
        (["--to", "postgresql://x/y"], "https://…, parquet:FOLDER or FILE.jsonl"),
        (["--to", "a.jsonl", "--scrub"], "--scrub is about the archive"),
        (["--to", "s3://x", "--max-line", "4k"], "--max-line is for places"),
    ],
)
def test_what_does_not_go_together_is_refused(clew: Run, home: Path, words: list[str], reason: str) -> None:
    code, _, err = clew("collect", "--no-archive", *words)
    assert code == 2 and reason in err


@pytest.mark.parametrize("size", ["0", "-1", "x", "1T", "1.5M", ""])
def test_a_limit_is_a_size(clew: Run, home: Path, size: str) -> None:
    code, _, err = clew("collect", "--max-line", size)
    assert code == 2 and "write 4096, 512k, 10M or 1G" in err
