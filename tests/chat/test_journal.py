"""The journal: what each line looks like, how lines hang together, and what outlives what."""

from __future__ import annotations

import os
import re
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import RFC_4122, UUID

import pytest

from clew.api.stream_assembly import ApiReply
from clew.chat.config.repository import current_branch
from clew.chat.config.session_name import session_name
from clew.chat.store import journal_lines
from clew.chat.store.file_snapshots import Backups
from clew.chat.store.journal import Journal, ReplyWriter, discard_lines
from clew.chat.store.journal_lines import Envelope
from clew.chat.store.session_lock import lock_path, lock_session
from clew.chat.tools.tool import CallResult
from clew.conversation.load import read, request
from clew.errors import Busy
from clew.wire.json_codec import decode

SESSION = "0b5d0c1e-93a1-4c5e-8a4e-0d6f1d8f2a11"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def journal(folder: Path, clock: list[datetime] | None = None, **more: object) -> Journal:
    times = iter(clock or [])
    envelope = Envelope(SESSION, "/srv/shop", "main", session_name(SESSION), "sdk-cli")
    return Journal(folder / f"{SESSION}.jsonl", envelope, clock=lambda: next(times, START), **more)  # type: ignore[arg-type]


def lines(folder: Path) -> list[dict[str, object]]:
    return [decode(line) for line in (folder / f"{SESSION}.jsonl").read_bytes().splitlines()]


def reply(*blocks: dict[str, str], stop: str | None = "end_turn") -> ApiReply:
    usage = {"input_tokens": 10, "output_tokens": 7}
    data = {"id": "msg_1", "model": "claude-sonnet-4-5", "content": list(blocks), "stop_reason": stop, "usage": usage}
    return ApiReply(data, "req_1")


@pytest.mark.req("R242", "R243", "R244")
def test_lines_are_compact_chained_and_dated(tmp_path: Path) -> None:
    made = journal(tmp_path)
    assert not made.path.exists()
    first = made.add(journal_lines.prompt("hi", "default"))
    second = made.add(journal_lines.note("more"))
    raw = made.path.read_bytes()
    assert raw.endswith(b"}\n") and b'": ' not in raw
    one, two = lines(tmp_path)
    assert (one["uuid"], one["parentUuid"], two["uuid"], two["parentUuid"]) == (first, None, second, first)
    for line in (one, two):
        assert UUID(str(line["uuid"])).version == 4 and UUID(str(line["uuid"])).variant == RFC_4122
        assert {"cwd", "gitBranch", "version", "userType", "isSidechain", "sessionId", "slug"} <= set(line)
    assert (one["timestamp"], two["timestamp"]) == ("2026-03-01T12:00:00.000Z", "2026-03-01T12:00:00.001Z")
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600


def test_times_grow_though_the_clock_goes_back(tmp_path: Path) -> None:
    clock = [START, START - timedelta(hours=3), START - timedelta(hours=3), START + timedelta(seconds=1)]
    made = journal(tmp_path, clock)
    for _ in clock:
        made.add(journal_lines.note("x"))
    times = [str(line["timestamp"]) for line in lines(tmp_path)]
    assert times == sorted(set(times)) and times[1] == "2026-03-01T12:00:00.001Z"


@pytest.mark.req("R246")
def test_a_reply_is_one_line_per_block_and_only_the_last_tells_how_it_ended(tmp_path: Path) -> None:
    made = journal(tmp_path)
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}]
    writing = ReplyWriter(
        made, {"id": "msg_1", "model": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}, "req_1"
    )
    first = writing.take(blocks[0])
    assert not made.path.exists()
    writing.take(blocks[1])
    assert [line["uuid"] for line in lines(tmp_path)] == [first]
    writing.finish(reply(*blocks))
    one, two = (line["message"] for line in lines(tmp_path))
    assert isinstance(one, dict) and isinstance(two, dict)
    assert (one["stop_reason"], two["stop_reason"]) == (None, "end_turn")
    assert (one["usage"]["output_tokens"], two["usage"]["output_tokens"]) == (1, 7)
    assert one["id"] == two["id"] == "msg_1" and [len(m["content"]) for m in (one, two)] == [1, 1]
    assert {line["requestId"] for line in lines(tmp_path)} == {"req_1"}


@pytest.mark.req("R247")
def test_a_result_is_one_line_with_its_record(tmp_path: Path) -> None:
    made = journal(tmp_path)
    made.add(journal_lines.result("toolu_1", CallResult("ok", {"stdout": "ok", "interrupted": False}), "line"))
    made.add(journal_lines.result("toolu_2", CallResult("bad", is_error=True), "line"))
    good, bad = lines(tmp_path)
    assert good["toolUseResult"] == {"stdout": "ok", "interrupted": False}
    assert good["sourceToolAssistantUUID"] == "line"
    assert bad["toolUseResult"] == "Error: bad"
    assert bad["message"]["content"][0]["is_error"] is True  # type: ignore[index]


@pytest.mark.req("R250")
def test_progress_hangs_below_the_newest_line_and_nothing_below_it(tmp_path: Path) -> None:
    made = journal(tmp_path)
    first = made.add(journal_lines.prompt("hi", "default"))
    made.progress({"type": "bash_progress", "output": "x"}, "toolu_1")
    second = made.add(journal_lines.note("on"))
    _, progress, last = lines(tmp_path)
    assert progress["parentUuid"] == first and last["parentUuid"] == first and last["uuid"] == second
    assert progress["parentToolUseID"] == "toolu_1" and progress["toolUseID"] == "bash-progress-0"
    assert [m["role"] for m in request(read(made.path)).messages] == ["user", "assistant"]


@pytest.mark.req("R257")
def test_threads_never_interleave_their_lines(tmp_path: Path) -> None:
    made = journal(tmp_path)
    made.add(journal_lines.prompt("hi", "default"))
    text = "x" * 20_000
    threads = [
        threading.Thread(target=lambda: [made.add(journal_lines.note(text)) for _ in range(20)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = lines(tmp_path)
    assert len(found) == 81
    assert [line["parentUuid"] for line in found[1:]] == [line["uuid"] for line in found[:-1]]


def test_a_torn_last_line_is_ended_first(tmp_path: Path) -> None:
    made = journal(tmp_path)
    made.add(journal_lines.prompt("hi", "default"))
    with made.path.open("ab") as file:
        file.write(b'{"type":"user","mess')
    made.add(journal_lines.note("on"))
    assert len(read(made.path).entries) == 2 and len(read(made.path).damage) == 1


def test_a_conversation_that_is_not_kept_leaves_nothing(tmp_path: Path) -> None:
    made = journal(tmp_path, write=discard_lines)
    made.add(journal_lines.prompt("hi", "default"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("R241")
def test_a_name_is_two_adjectives_and_a_surname_and_always_the_same() -> None:
    assert session_name(SESSION) == session_name(SESSION) != session_name("other")
    names = {session_name(str(number)) for number in range(2000)}
    first, second, last = ({name.split("-")[place] for name in names} for place in range(3))
    assert all(re.fullmatch("[a-z]+-[a-z]+-[a-z]+", name) for name in names)
    assert "gentle" in first and all(word.endswith("ing") for word in second)
    assert {"hopper", "noether", "turing"} <= last and not last & {"comet", "otter", "kettle"}


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / f"{SESSION}.jsonl"
    with lock_session(path):
        with pytest.raises(Busy) as busy, lock_session(path):
            pass
        assert str(os.getpid()) in busy.value.hint and "--fork-session" in busy.value.hint
    assert not lock_path(path).exists()
    with lock_session(path):
        pass


def test_a_lock_whose_holder_died_is_free(tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    child = os.fork()
    if not child:
        taken = lock_session(path)
        taken.__enter__()
        os._exit(0)
    os.waitpid(child, 0)
    assert lock_path(path).exists()
    with lock_session(path):
        pass


@pytest.mark.req("R245")
def test_files_are_saved_before_they_change(tmp_path: Path) -> None:
    project, store = tmp_path / "project", tmp_path / "history"
    project.mkdir()
    old, new = project / "old.txt", project / "new.txt"
    old.write_text("one")
    backups = Backups(store, project)
    assert backups.at_prompt("u1", "t1")["snapshot"]["trackedFileBackups"] == {}
    update = backups.before_change(old, "call", "t2")
    assert update is not None and update["isSnapshotUpdate"] and update["messageId"] == "call"
    assert update["snapshot"]["messageId"] == "u1" and update["snapshot"]["timestamp"] == "t1"
    assert backups.before_change(new, "call", "t3") is not None
    old.write_text("two")
    new.write_text("fresh")
    assert backups.before_change(old, "call", "t4") is None
    tracked = backups.at_prompt("u2", "t5")["snapshot"]["trackedFileBackups"]
    kept = {name: (store / tracked[name]["backupFileName"]).read_text() for name in tracked}
    assert kept == {"old.txt": "two", "new.txt": "fresh"}
    assert (tracked["old.txt"]["version"], tracked["new.txt"]["version"]) == (2, 2)
    assert backups.at_prompt("u3", "t6")["snapshot"]["trackedFileBackups"] == tracked
    assert sorted(path.read_text() for path in store.iterdir()) == ["fresh", "one", "two"]


def test_the_branch_is_read_from_the_repository(tmp_path: Path) -> None:
    assert current_branch(tmp_path) in ("", current_branch(tmp_path.parent))
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    (tmp_path / "deep").mkdir()
    assert current_branch(tmp_path / "deep") == "feature/x"
    (tmp_path / ".git" / "HEAD").write_text("5e1c309dae7f45e0f39b1bf3ac3cd9db12e7d689\n")
    assert current_branch(tmp_path) == "HEAD"
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {tmp_path / 'store'}\n")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "HEAD").write_text("ref: refs/heads/tree\n")
    assert current_branch(work) == "tree"
