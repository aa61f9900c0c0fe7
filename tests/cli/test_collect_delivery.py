"""`clew collect --to`, with an archive and without: each new line is delivered once, with its place."""

from __future__ import annotations

import gzip
import json
import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.side_tree import PROJECT, SESSION, prompt, put, reply, text, write_lines

FOLDER = f"projects/{PROJECT}"
NEW = "5e551011-aaaa-4bbb-8ccc-000000000009"
Collect = Callable[..., int]
Record = dict[str, Any]


@pytest.fixture
def session(claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return write_lines(claude / FOLDER / f"{SESSION}.jsonl", prompt(1, None, "Go"), reply(2, 1, text("Gone.")))


@pytest.fixture
def to(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


@pytest.fixture(params=["archive", "no archive"])
def collect(request: pytest.FixtureRequest, clew: Run, to: Path, state: Path, tmp_path: Path) -> Collect:
    """Collect once in either way; the exit code."""
    mode = ["--no-archive"] if request.param == "no archive" else ["--archive", str(tmp_path / "archive.db")]

    def run(where: str = str(to)) -> int:
        return clew("collect", *mode, "--to", where, "--state", str(state), "--reveal")[0]

    return run


def records(to: Path) -> list[Record]:
    return [json.loads(line) for line in to.read_bytes().splitlines()]


def places(to: Path) -> list[tuple[str, int, int]]:
    return [(r["file"].rpartition("/")[2], r["generation"], r["line"]) for r in records(to)]


def offsets(state: Path) -> dict[str, int]:
    files = json.loads(state.read_bytes())["claude_code"]["files"]
    return {Path(name).name: point["offset"] for name, point in files.items()}


def append(path: Path, *values: dict[str, Any]) -> None:
    with path.open("ab") as file:
        file.write(b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values))


@pytest.mark.req("R311")
def test_an_index_and_statistics_are_sent_whole_when_they_changed(
    session: Path, claude: Path, collect: Collect, to: Path
) -> None:
    index = put(claude / FOLDER / "sessions-index.json", '{"version": 1,\n "entries": []}')
    put(claude / "stats-cache.json", '{"totalSessions": 1}')
    assert collect() == collect() == 0
    whole = [r["raw"] for r in records(to) if r["kind"] in ("index", "stats")]
    assert sorted(whole) == ['{"totalSessions": 1}', '{"version": 1,\n "entries": []}']
    index.write_text('{"version": 1, "entries": [1]}')
    os.utime(index, ns=(10**18, 10**18))
    assert collect() == collect() == 0
    assert [r["raw"] for r in records(to)][4:] == ['{"version": 1, "entries": [1]}']


@pytest.mark.req("R313", "R322", "R311")
def test_files_that_are_empty_or_unchanged_are_not_opened(
    clew: Run, session: Path, claude: Path, to: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(claude / FOLDER / "sessions-index.json", '{"version": 1}')
    put(claude / FOLDER / f"{NEW}.jsonl", b"")
    opened: list[str] = []
    real = os.open

    def note(path: Any, *args: Any, **options: Any) -> int:
        if str(path).startswith(str(claude)):
            opened.append(Path(path).name)
        return real(path, *args, **options)

    monkeypatch.setattr(os, "open", note)
    words = ("collect", "--no-archive", "--to", str(to), "--state", str(state))
    assert clew(*words)[0] == 0
    assert sorted(opened) == [f"{SESSION}.jsonl", "sessions-index.json"]
    opened.clear()
    assert clew(*words)[0] == 0
    assert opened == []
    append(session, prompt(3, 2, "More"))
    assert clew(*words)[0] == 0
    assert opened == [session.name]


@pytest.mark.req("R314", "R319")
def test_each_line_is_delivered_once_when_it_is_whole(session: Path, collect: Collect, to: Path) -> None:
    assert collect() == collect() == 0
    line = json.dumps(prompt(3, 2, "More")).encode() + b"\n"
    for part in (line[:40], line[40:-1], line[-1:] + line):
        with session.open("ab") as file:
            file.write(part)
        before = len(records(to))
        assert collect() == collect() == 0
        assert len(records(to)) == before + 2 * part.startswith(b"\n")
    assert places(to) == [(session.name, 1, number) for number in range(1, 5)]
    assert "\n".join(r["raw"] for r in records(to)) + "\n" == session.read_text()


@pytest.mark.req("R315")
def test_a_sink_that_fails_gets_everything_at_the_next_run(
    session: Path, collect: Collect, to: Path, state: Path
) -> None:
    to.write_text("something else\n")
    assert collect() == 2
    assert not state.exists() or offsets(state) == {}
    to.unlink()
    assert collect() == 0
    assert places(to) == [(session.name, 1, 1), (session.name, 1, 2)]
    assert offsets(state) == {session.name: session.stat().st_size}


@pytest.mark.req("R320")
@pytest.mark.parametrize("lines", [1, 2], ids=["truncated", "replaced"])
def test_a_file_that_was_truncated_or_replaced_is_sent_from_its_beginning(
    session: Path, collect: Collect, to: Path, lines: int
) -> None:
    assert collect() == 0
    write_lines(session, *[prompt(number, None, "Other" * number) for number in (5, 6)][:lines])
    assert collect() == 0
    assert [(r["generation"], r["line"], r["offset"] == 0) for r in records(to)[2:]] == [
        (2, number, number == 1) for number in range(1, lines + 1)
    ]


@pytest.mark.req("R323")
def test_new_files_are_found_and_deleted_ones_leave_the_state(
    session: Path, collect: Collect, to: Path, state: Path
) -> None:
    assert collect() == 0
    assert list(offsets(state)) == [session.name]
    session.unlink()
    other = write_lines(session.with_name(f"{NEW}.jsonl"), prompt(1, None, "New"))
    assert collect() == 0
    assert places(to)[2:] == [(other.name, 1, 1)]
    assert list(offsets(state)) == [other.name]


@pytest.mark.req("R324")
def test_a_record_names_file_project_session_and_position(session: Path, collect: Collect, to: Path) -> None:
    nested = session.with_suffix("") / "subagents" / "agent-a1b2c3d.jsonl"
    flat = session.with_name("agent-0123abc.jsonl")
    for path in (nested, flat):
        write_lines(path, prompt(3, None, "Look"), reply(4, 3, text("Seen.")))
    assert collect() == 0
    found = {(r["file"].rpartition("/")[2], r["line"]): r for r in records(to)}
    for path, agent in ((session, None), (nested, "a1b2c3d"), (flat, "0123abc")):
        offset = 0
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
            record = found.pop((path.name, number))
            assert record["file"] == f"{FOLDER}/{path.relative_to(session.parent).as_posix()}"
            assert (record["project"], record["session"], record["agent"]) == (PROJECT, SESSION, agent)
            assert (record["offset"], record["length"]) == (offset, len(line))
            assert record["raw"].encode() + b"\n" == line
            offset += len(line)
    assert found == {}


@pytest.mark.req("R325")
def test_offsets_count_bytes(session: Path, collect: Collect, to: Path, state: Path) -> None:
    append(session, prompt(3, 2, "čau 你好 🙂"))
    assert collect() == 0
    assert offsets(state) == {session.name: session.stat().st_size}
    size = session.stat().st_size
    append(session, prompt(4, 3, "日本"))
    assert collect() == 0
    assert [(r["line"], r["offset"]) for r in records(to)[3:]] == [(4, size)]


class Receiver:
    """A server that keeps the records and runs a function at each request."""

    def __init__(self, at_request: Callable[[], None]) -> None:
        self.records: list[Record] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.records += json.loads(gzip.decompress(body))["records"]
                at_request()
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/in"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def growing(session: Path) -> Iterator[tuple[Receiver, list[bytes]]]:
    """A receiver; while it answers, the next of some pieces is appended to the session."""
    pieces: list[bytes] = []

    def grow() -> None:
        if pieces:
            with session.open("ab") as file:
                file.write(pieces.pop(0))

    receiver = Receiver(grow)
    yield receiver, pieces
    receiver.close()


@pytest.mark.req("R327", "R314")
def test_a_file_that_grows_during_the_run_loses_and_repeats_nothing(
    session: Path, collect: Collect, growing: tuple[Receiver, list[bytes]]
) -> None:
    receiver, pieces = growing
    lines = b"".join(json.dumps(prompt(number, None, f"Part {number}")).encode() + b"\n" for number in (3, 4, 5))
    third = len(lines) // 3
    pieces += [lines[: third + 20], lines[third + 20 : -9]]
    while pieces:
        assert collect(receiver.address) == 0
    with session.open("ab") as file:
        file.write(lines[-9:])
    assert collect(receiver.address) == collect(receiver.address) == 0
    assert [(r["generation"], r["line"]) for r in receiver.records] == [(1, number) for number in range(1, 6)]
    assert "\n".join(r["raw"] for r in receiver.records) + "\n" == session.read_text()
