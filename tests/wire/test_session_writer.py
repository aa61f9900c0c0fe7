"""Writing: whole lines at the end, new files whole or not at all, and no session ever written over."""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import Refused
from clew.wire import session_writer
from clew.wire.entry import Entry, read
from clew.wire.json_codec import decode, encode
from clew.wire.layout import Project
from clew.wire.session_writer import append, back_up, create, create_exactly, replace
from tests.oracle.claude import Box, Unavailable

posix = pytest.mark.skipif(os.name != "posix", reason="modes and signals of POSIX")
SOURCE = str(Path(session_writer.__file__).parents[2])


def start(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdout=subprocess.PIPE,
        text=True,
    )


# -- append


@pytest.mark.req("R242")
def test_entries_are_compact_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}\n')
    written = append(path, [{"type": "user", "text": "größer \ud800"}, b'{"raw" : 1}', b'{"raw":2}\n'])
    added = '{"type":"user","text":"größer \\ud800"}\n{"raw" : 1}\n{"raw":2}\n'.encode()
    assert path.read_bytes() == b'{"a":1}\n' + added
    assert written == len(added)


def test_a_torn_tail_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}\n{"torn')
    append(path, [{"b": 2}])
    append(path, [{"c": 3}])
    assert path.read_bytes() == b'{"a":1}\n{"torn\n{"b":2}\n{"c":3}\n'


def test_an_empty_file_needs_no_newline_before(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.touch()
    append(path, [{"a": 1}])
    assert path.read_bytes() == b'{"a":1}\n'


def test_nothing_to_append_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"torn")
    assert append(path, []) == 0
    assert path.read_bytes() == b"torn"


@pytest.mark.req("R349")
def test_append_never_makes_a_file(tmp_path: Path) -> None:
    for values in ([{"a": 1}], []):
        with pytest.raises(FileNotFoundError):
            append(tmp_path / "s.jsonl", values)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bad", [b'{"a":\n1}', b"{}\n\n", ["list"], "text", None])
def test_what_is_not_one_line_is_refused_whole(tmp_path: Path, bad: Any) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"{}\n")
    with pytest.raises((TypeError, ValueError)):
        append(path, [{"a": 1}, bad])
    assert path.read_bytes() == b"{}\n"


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers(-(2**63), 2**63)), max_size=5))
def test_what_is_appended_is_read_again(tmp_path_factory: pytest.TempPathFactory, values: list[Any]) -> None:
    path = tmp_path_factory.getbasetemp() / "again.jsonl"
    path.write_bytes(b"{")
    append(path, values)
    lines = path.read_bytes().split(b"\n")[1:-1]
    assert [decode(line) for line in lines] == values


@posix
def test_a_batch_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"torn")
    calls: list[bytes] = []
    real = os.write

    def count(file: int, data: bytes) -> int:
        calls.append(bytes(data))
        return real(file, data)

    monkeypatch.setattr(os, "write", count)
    append(path, [{"n": n, "pad": "x" * 100_000} for n in range(20)])
    assert len(calls) == 1
    assert b"torn" + calls[0] == path.read_bytes()


@posix
def test_a_short_write_goes_on_with_the_remainder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.jsonl"
    path.touch()
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, bytes(data)[:7]))
    append(path, [{"a": "x" * 50}, {"b": 2}])
    assert path.read_bytes() == b'{"a":"' + b"x" * 50 + b'"}\n{"b":2}\n'


@posix
@pytest.mark.req("R257")
@pytest.mark.req("R346")
def test_several_processes_never_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"torn')
    script = """if True:
        import sys
        from clew.wire.session_writer import append
        who, path = sys.argv[1], sys.argv[2]
        for n in range(150):
            pad = who * (1 + (n * 7919) % 30_000)
            append(path, [{"who": who, "n": n, "part": part, "pad": pad} for part in range(3)])
    """
    writers = [start(script, who, str(path)) for who in "abcdef"]
    assert [writer.wait(120) for writer in writers] == [0] * 6
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
    torn, *lines, end = path.read_bytes().split(b"\n")
    assert (torn, end) == (b'{"torn', b"")
    values = [decode(line) for line in lines]
    assert len(values) == 6 * 150 * 3
    for who in "abcdef":
        own = [value for value in values if value["who"] == who]
        assert [(v["n"], v["part"]) for v in own] == [(n, part) for n in range(150) for part in range(3)]
        assert all(set(v["pad"]) == {who} for v in own)
    for first in range(0, len(values), 3):
        assert [(v["who"], v["part"]) for v in values[first : first + 3]] == [
            (values[first]["who"], part) for part in range(3)
        ]


@posix
@pytest.mark.req("R257")
def test_each_append_is_one_write_of_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system keeps one write together, whoever else appends; it promises nothing for two."""
    path = tmp_path / "s.jsonl"
    path.touch()
    writes: list[bytes] = []
    system_write = os.write

    def record(file: int, data: bytes) -> int:
        writes.append(bytes(data))
        return system_write(file, data)

    monkeypatch.setattr(os, "write", record)
    for lines in (1, 3):
        append(path, [{"n": number, "pad": "x" * 50_000} for number in range(lines)])
    monkeypatch.undo()
    assert [data.count(b"\n") for data in writes] == [1, 3]
    assert all(data.endswith(b"\n") for data in writes) and b"".join(writes) == path.read_bytes()


@posix
@pytest.mark.req("R257")
def test_a_writer_that_knows_no_locks_loses_nothing(tmp_path: Path) -> None:
    """The real program appends without asking; at worst a line of its is ended twice."""
    path = tmp_path / "s.jsonl"
    path.touch()
    ours = """if True:
        import os, sys
        from clew.wire.session_writer import append
        while not os.path.getsize(sys.argv[1]):
            pass
        for n in range(400):
            append(sys.argv[1], [{"who": "ours", "n": n, "pad": "o" * (n * 101 % 9000)}])
        open(sys.argv[2], "x").close()
        print(400)
    """
    theirs = """if True:
        import os, sys
        file, n = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND), 0
        while not os.path.exists(sys.argv[2]):
            os.write(file, b'{"who":"theirs","n":%d,"pad":"%s"}\\n' % (n, b"t" * (n * 211 % 9000)))
            n += 1
        print(n)
    """
    writers = [start(script, str(path), str(tmp_path / "done")) for script in (ours, theirs)]
    counts = [int(writer.communicate(timeout=120)[0]) for writer in writers]
    values = [decode(line) for line in path.read_bytes().split(b"\n") if line]
    for who, count in zip(("ours", "theirs"), counts, strict=True):
        assert [value["n"] for value in values if value["who"] == who] == list(range(count))


@posix
@pytest.mark.req("R257")
def test_killed_writers_leave_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.touch()
    script = """if True:
        import sys
        from clew.wire.session_writer import append
        print("go", flush=True)
        while True:
            append(sys.argv[1], [{"pad": "x" * 50_000}] * 4)
    """
    for wait in (0.02, 0.05, 0.08, 0.03):
        with start(script, str(path)) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(wait)
            writer.kill()
    append(path, [{"last": True}])
    *lines, end = path.read_bytes().split(b"\n")
    assert end == b""
    whole = [line for line in lines if line.endswith(b"}")]
    assert len(lines) - len(whole) <= 4
    assert all(isinstance(decode(line), dict) for line in whole)
    assert decode(lines[-1]) == {"last": True}


# -- create


@pytest.mark.req("R242")
def test_a_new_file_is_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "projects" / "-p" / f"{uuid.uuid4()}.jsonl"
    assert create(path, ({"n": n} for n in range(3))) == path
    assert path.read_bytes() == b'{"n":0}\n{"n":1}\n{"n":2}\n'
    assert os.listdir(path.parent) == [path.name]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
        assert path.stat().st_nlink == 1


def test_a_large_file_and_one_without_sync(tmp_path: Path) -> None:
    path = create(tmp_path / "s.jsonl", [{"pad": "x" * 1_000_000}] * 5, sync=False)
    assert path.stat().st_size == 5 * (len(encode({"pad": ""})) + 1_000_001)


@pytest.mark.req("R349")
def test_create_never_replaces(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        create(path, [{"a": 1}])
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        create(path, [{"a": 1}])
    assert os.listdir(tmp_path) == ["s.jsonl"]


@pytest.mark.req("R349")
def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    def late() -> Iterator[dict[str, Any]]:
        yield {"a": 1}
        path.write_bytes(b"theirs")

    with pytest.raises(FileExistsError):
        create(path, late())
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["s.jsonl"]


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[dict[str, Any]]:
        yield {"pad": "x" * 2_000_000}
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        create(tmp_path / "s.jsonl", failing())
    assert os.listdir(tmp_path) == []


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(OSError, match="file"):
        create(tmp_path / "file" / "s.jsonl", [{"a": 1}])
    assert (tmp_path / "file").read_bytes() == b"x"


@posix
@pytest.mark.req("R346")
def test_a_file_system_without_links_is_served_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    path = create(tmp_path / "s.jsonl", [{"a": 1}])
    assert path.read_bytes() == b'{"a":1}\n'
    assert os.listdir(tmp_path) == ["s.jsonl"]
    with pytest.raises(FileExistsError):
        create(path, [{"a": 2}])
    assert path.read_bytes() == b'{"a":1}\n'


@posix
def test_only_one_of_several_creators_wins(tmp_path: Path) -> None:
    script = """if True:
        import sys
        from clew.wire.session_writer import create
        try:
            create(sys.argv[2], [{"who": sys.argv[1], "pad": "x" * 500_000}])
        except FileExistsError:
            print("late")
        else:
            print("first")
    """
    path = tmp_path / "s.jsonl"
    racers = [start(script, who, str(path)) for who in "abcdef"]
    said = [racer.communicate(timeout=60)[0] for racer in racers]
    assert sorted(said) == ["first\n"] + ["late\n"] * 5
    assert decode(path.read_bytes().strip())["who"] == "abcdef"[said.index("first\n")]
    assert os.listdir(tmp_path) == ["s.jsonl"]


@posix
def test_a_killed_creator_leaves_whole_files_or_none(tmp_path: Path) -> None:
    script = """if True:
        import sys, uuid
        from clew.wire.session_writer import create
        lines = [{"n": n, "pad": "x" * 10_000} for n in range(300)]
        print("go", flush=True)
        while True:
            create(f"{sys.argv[1]}/{uuid.uuid4()}.jsonl", lines, sync=False)
    """
    for attempt in range(12):
        with start(script, str(tmp_path)) as creator:
            assert creator.stdout is not None
            creator.stdout.readline()
            time.sleep(0.01 + 0.007 * attempt)
            creator.send_signal(signal.SIGKILL)
    sessions = Project(tmp_path).sessions()
    assert sessions
    assert len({file.size for file in sessions}) == 1
    items = list(read(sessions[0].path))
    assert len(items) == 300
    assert all(isinstance(item, Entry) for item in items)
    left = set(os.listdir(tmp_path)) - {file.path.name for file in sessions}
    assert all(name.startswith(".") and name.endswith(".draft") for name in left)


# -- side files


@pytest.mark.req("R043")
def test_a_side_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "sessions-index.json"
    replace(path, b"one")
    replace(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == [path.name]
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.req("R349")
@pytest.mark.parametrize("name", ["s.jsonl", "S.JSONL", "agent-1234567.jsonl"])
def test_a_session_is_never_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"{}\n")
    with pytest.raises(Refused, match="never overwritten"):
        replace(tmp_path / name, b"")
    assert (tmp_path / name).read_bytes() == b"{}\n"


@pytest.mark.req("R349")
def test_replacing_a_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    session = tmp_path / "s.jsonl"
    session.write_bytes(b"{}\n")
    (tmp_path / "index.json").symlink_to(session)
    replace(tmp_path / "index.json", b"new")
    assert session.read_bytes() == b"{}\n"
    assert (tmp_path / "index.json").read_bytes() == b"new"


@posix
@pytest.mark.req("R043")
def test_a_killed_replacer_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    path = tmp_path / "index.json"
    path.write_bytes(b"a" * 200_000)
    script = """if True:
        import sys
        from clew.wire.session_writer import replace
        print("go", flush=True)
        while True:
            for letter in (b"b", b"c"):
                replace(sys.argv[1], letter * 200_000)
    """
    for attempt in range(6):
        with start(script, str(path)) as replacer:
            assert replacer.stdout is not None
            replacer.stdout.readline()
            time.sleep(0.01 + 0.01 * attempt)
            replacer.kill()
        data = path.read_bytes()
        assert (len(data), len(set(data))) == (200_000, 1)


@pytest.mark.req("R043")
def test_backups_are_numbered(tmp_path: Path) -> None:
    path = tmp_path / "index.json"
    assert back_up(path) is None
    path.write_bytes(b"x")
    names = [kept.name for _ in range(3) if (kept := back_up(path))]
    assert names == ["index.json.bak-1", "index.json.bak-2", "index.json.bak-3"]
    assert path.read_bytes() == b"x"


@pytest.mark.req("R349")
def test_nothing_else_opens_a_session_for_writing() -> None:
    wire = Path(session_writer.__file__).parent
    opening = re.compile(
        r"""os\.write\(|os\.open\((?!path, os\.O_RDONLY \|)|\.write_(bytes|text)\(|open\([^)\n]*["'][rb]*[wax+]"""
    )
    writers = {p.name for p in wire.glob("*.py") if opening.search(p.read_text(encoding="utf-8"))}
    assert writers == {"session_writer.py"}


# -- the real program


@pytest.mark.oracle
@pytest.mark.req("R242")
def test_the_real_program_goes_on_from_what_is_written_here() -> None:
    try:
        box = Box()
    except Unavailable as why:
        pytest.skip(str(why))
    id = str(uuid.uuid4())

    def said(role: str, n: int, parent: str | None) -> dict[str, Any]:
        reply = {"id": f"msg_{n}", "type": "message", "model": "claude-opus-5-5", "stop_reason": "end_turn"}
        content: Any = f"said {n}" if role == "user" else [{"type": "text", "text": f"said {n}"}]
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "type": role,
            "message": {**(reply if role == "assistant" else {}), "role": role, "content": content},
            "uuid": str(uuid.uuid5(uuid.UUID(id), str(n))),
            "timestamp": f"2026-01-01T00:00:0{n}.000Z",
            "cwd": str(box.project),
            "sessionId": id,
            "version": "2.1.325",
            "userType": "external",
        }

    with box:
        first = said("user", 1, None)
        second = said("assistant", 2, first["uuid"])
        third = said("user", 3, second["uuid"])
        fourth = said("assistant", 4, third["uuid"])
        path = create(box.sessions / f"{id}.jsonl", [first, second])
        append(path, [third, encode(fourth)])
        resumed = box.resume(id)
        assert resumed.rc == 0
        assert [n for n in range(1, 5) if f"said {n}" in str(resumed.messages)] == [1, 2, 3, 4]
        before = path.read_bytes()
        append(path, [{"type": "custom-title", "customTitle": "after", "sessionId": id}])
        assert path.read_bytes().startswith(before)
        assert box.resume(id, "AGAIN").rc == 0


def test_exact_bytes_are_written_as_they_are_and_over_nothing(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "a.jsonl"
    assert create_exactly(target, [b"no newline", b"\0\xff"], mtime_ns=10**18) == target
    assert target.read_bytes() == b"no newline\0\xff"
    assert target.stat().st_mtime_ns == 10**18
    with pytest.raises(FileExistsError):
        create_exactly(target, [b"other"])
    assert target.read_bytes() == b"no newline\0\xff"
    assert [path.name for path in target.parent.iterdir()] == ["a.jsonl"]


def test_what_fails_on_the_way_leaves_no_file(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"x" * (3 << 20)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        create_exactly(tmp_path / "a.bin", parts())
    assert list(tmp_path.iterdir()) == []
