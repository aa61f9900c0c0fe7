"""A plan that is written: every file of the new session, private, whole or not there."""

from __future__ import annotations

import json
import os
import resource
import signal
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from msgspec import Raw

import clew
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, read, talk, task
from clew.edit import write_plan
from clew.edit.kept_files import digest
from clew.edit.plan import plan
from clew.edit.undo_journal import UndoJournal, undo
from clew.edit.verify import compare_lines
from clew.edit.write_plan import SessionLines, planned_files
from clew.errors import NotFound, Refused
from clew.wire import rename_ids
from clew.wire.entry import Entry
from clew.wire.json_splice import Fields, join_fields, split_fields
from clew.wire.line import BOM
from clew.wire.rename_ids import IdMapping, RenamedLine, new_uuid, rename_references
from tests.edit.steps import STEPS

SAVED = "/home/ada/garden/gate.py"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "claude"


def full() -> Talk:
    """A session with an agent, an output too long to keep, and a file history."""
    child = talk().user("Find it.").reply(call=bash("ls")).result("x").reply("Found.")
    told = talk().snapshot({SAVED: "gate = 1\n"}).user("Look for the gate.")
    told = told.reply(call=task("Find", "Find it.")).agent(0, child).reply("Here it is.").turn_duration()
    told = told.user("And now?").reply("I read.", thinking="Well.", call=read(SAVED, "gate = 1\n")).result()
    return told.reply("Read.").title("The gate").last_prompt()


def saved(root: Path, told: Talk) -> Session:
    return clew.read(told.write(root))


def files(root: Path) -> set[str]:
    return {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}


@pytest.mark.req("R280", "R281", "R282", "R285", "R286")
def test_a_clone_brings_all_that_belongs_to_it(root: Path) -> None:
    source = saved(root, full())
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in root.rglob("*") if p.is_file()}
    made = plan(source).write()
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in before} == before
    copy = clew.read(made.path)
    assert len(copy.agents) == len(source.agents) == 1
    assert copy.agents[0].call is not None
    assert [e.text for e in copy.agents[0].session.entries] == [e.text for e in source.agents[0].session.entries]
    assert {e.session_id for e in copy.agents[0].session.entries} == {made.id}
    kept = sorted(p.name for p in (root / "file-history" / made.id).iterdir())
    assert kept == sorted(p.name for p in (root / "file-history" / source.id).iterdir())
    snapshots = [e for e in copy.entries if e.type == "file-history-snapshot"]
    assert all(e.message_id in {p.uuid for p in copy.prompts} for e in snapshots)
    assert snapshots


@pytest.mark.req("R281", "R284")
def test_the_chain_of_a_clone_is_that_of_its_source(root: Path) -> None:
    source = saved(root, full())
    copy = clew.read(plan(source).write().path)
    ours, theirs = ([e for e in s.entries if e.uuid] for s in (copy, source))
    renamed = {e.uuid: f.uuid for e, f in zip(theirs, ours, strict=True)}
    assert len(set(renamed.values())) == len(renamed)
    for mine, yours in zip(ours, theirs, strict=True):
        assert mine.parent == (renamed[yours.parent] if yours.parent else None)
        assert mine.source_tool_assistant == renamed.get(yours.source_tool_assistant)


def test_all_files_are_private(root: Path) -> None:
    made = plan(saved(root, full())).write()
    assert len(made.files) > 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.files} == {0o600}


def test_only_what_is_left_comes_along(root: Path) -> None:
    source = saved(root, full())
    made = plan(source).drop_turn(1).write()
    assert not [path for path in made.files if "subagents" in path.parts]
    assert len(clew.read(made.path).turns) == 1


def test_a_move_takes_the_working_directories_along(root: Path) -> None:
    told = talk(cwd="/home/ada/garden").user("here").reply("yes").change(cwd="/home/ada/garden/beds")
    source = saved(root, told.user("and here").reply("too").change(cwd="/srv/other").user("there").reply("no"))
    made = plan(source).move("/srv/plot").write()
    assert made.path.parent.name == "-srv-plot"
    assert [e.cwd for e in clew.read(made.path).prompts] == ["/srv/plot", "/srv/plot/beds", "/srv/other"]


@pytest.mark.req("R299")
def test_a_session_of_several_versions(root: Path) -> None:
    told = talk(version="2.0.50").user("a").reply("b", call=bash("ls")).result("x").reply("c")
    told = told.change(version="2.1.45").user("d").reply("e", thinking="Hm.").change(version="2.1.325").user("f")
    source = saved(root, told.reply("g", call=bash("ls")).result("y").reply("h"))
    copy = clew.read(plan(source).write().path)
    assert copy.versions == source.versions
    assert clew.request(copy).messages == clew.request(source).messages


def test_what_would_be_unsound_is_refused(root: Path) -> None:
    source = saved(root, full())
    call = next(c for c in source.calls if c.name == "Read")
    broken = plan(source).then(tuple(i for i in source.items if i is not call.result_entry), "by hand")
    with pytest.raises(Refused, match="would have no result"):
        broken.write()
    assert files(root) == {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file() and source.id in str(p)}


def test_damage_is_kept_or_mended(root: Path) -> None:
    told = talk().user("a").reply("b")
    lines = [*told.lines()[:-1], told.lines()[-1].rstrip(b"\n") + b'{"type":"never-seen","x":1}\n', b'{"cut": "of\n']
    path = told.write(root)
    path.write_bytes(b"".join(lines))
    copy = clew.read(plan(clew.read(path)).write().path)
    assert [e.type for e in copy.entries] == ["user", "assistant", "never-seen", "clew-origin"]
    assert [d.raw for d in copy.damage] == [b'{"cut": "of\n']


# -- compared with the plan


def written_lines(root: Path) -> tuple[SessionLines, list[bytes]]:
    """The lines that a clone consists of, and what they were planned as."""
    contents = planned_files(plan(saved(root, full())), "c1", root)
    lines = contents[root / "c1.jsonl"]
    assert isinstance(lines, SessionLines)
    return lines, b"".join(lines()).splitlines()[: len(lines.items)]


def compare(planned: SessionLines, made: Iterable[bytes]) -> list[bytes]:
    pairs = compare_lines(planned.items, (), planned.names, map(RenamedLine, made))
    return [line for _, line in pairs]


def test_lines_as_planned_are_accepted(root: Path) -> None:
    planned, lines = written_lines(root)
    assert compare(planned, lines) == lines


def test_each_line_that_is_lost_repeated_moved_or_left_as_it_was_is_found(root: Path) -> None:
    planned, lines = written_lines(root)
    old = [item.raw for item in planned.items]
    for at in range(len(lines)):
        wrong = [[*lines[:at], *lines[at + 1 :]], [*lines[: at + 1], *lines[at:]]]
        wrong += [[*lines[:at], lines[at + 1], lines[at], *lines[at + 2 :]]] if at + 1 < len(lines) else []
        wrong += [[*lines[:at], old[at], *lines[at + 1 :]]] if at < len(old) else []
        wrong += [[*lines[:at], lines[at][:cut], *lines[at + 1 :]] for cut in (-1, -9)]
        wrong += [[*lines[:at], lines[at] + end, *lines[at + 1 :]] for end in (b"\n", b"\n{}", b"{}")]
        wrong += [[*lines[:at], lines[at].replace(b",", b",\n", 1), *lines[at + 1 :]]]
        for written in wrong:
            with pytest.raises(Refused):
                compare(planned, written)


@pytest.mark.parametrize("step", [1, 7])
def test_each_wrong_byte_is_found(root: Path, step: int) -> None:
    planned, lines = written_lines(root)
    for at, line in enumerate(lines):
        for place in range(at % step, len(line), step):
            wrong = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
            with pytest.raises(Refused):
                compare(planned, [*lines[:at], wrong, *lines[at + 1 :]])


def test_each_reference_to_another_entry_is_found(root: Path) -> None:
    planned, lines = written_lines(root)
    ids = [uuid for line in lines if (uuid := json.loads(line).get("uuid"))]
    other = ids[-1]
    for at, line in enumerate(lines):
        for name, value in json.loads(line).items():
            if value in ids and value != other:
                stated = b'"%b":"%b"' % (name.encode(), value.encode())
                wrong = line.replace(stated, stated.replace(value.encode(), other.encode()))
                assert wrong != line
                with pytest.raises(Refused, match=f"line {at + 1} is not"):
                    compare(planned, [*lines[:at], wrong, *lines[at + 1 :]])


@pytest.mark.parametrize("step", ["clone", "move", *STEPS])
@pytest.mark.parametrize("last", [1, 2, 4, 100])
def test_a_byte_order_mark_stays_so_a_resume_sends_what_was_planned(root: Path, step: str, last: int) -> None:
    """A line with the mark is read by some versions only: without it a copy would send more than its source."""
    path = full().write(root)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-last], *[BOM + line for line in lines[-last:]]]))
    source = plan(clew.read(path))
    steps = {"clone": lambda: source, "move": lambda: source.move("/home/ada/elsewhere")}
    try:
        planned = steps[step]() if step in steps else STEPS[step](source, 0.0)
        made = planned.write()
    except Refused as refused:
        assert not any("is not" in text for text in refused.violations)  # refused as a plan, not when it was read back
        return
    written = clew.read(made.path)
    assert clew.request(written).messages == planned.request.messages
    marks = [entry.line.has_bom for entry in planned.session.entries]
    assert [entry.line.has_bom for entry in written.entries][: len(marks)] == marks


def test_a_byte_order_mark_that_is_added_is_found_and_none_is_lost(root: Path) -> None:
    planned, lines = written_lines(root)
    for at in range(len(planned.items)):
        with pytest.raises(Refused, match=f"line {at + 1} is not"):
            compare(planned, [*lines[:at], BOM + lines[at], *lines[at + 1 :]])
    path = next(root.glob("projects/*/*.jsonl"))
    path.write_bytes(b"".join(BOM + line for line in path.read_bytes().splitlines(keepends=True)))
    marked = planned_files(plan(clew.read(path)), "c1", root)[root / "c1.jsonl"]
    assert isinstance(marked, SessionLines)
    assert compare(marked, lines) == [BOM + line for line in lines]


def test_entries_that_would_get_the_same_id_are_found(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rename_ids, "new_uuid", lambda session, old: "00000000-0000-4000-8000-000000000000")
    with pytest.raises(Refused, match="the same id"):
        plan(saved(root, full())).write()
    assert not list(root.glob("projects/*/00000000*"))


MISTAKES: dict[str, Callable[[list[bytes | Raw], list[bytes | Raw]], object]] = {
    "an old id": lambda new, old: new.__setitem__(slice(None), old),
    "an id of another entry": lambda new, old: new.__setitem__(_changed(new, old)[0], new_uuid_json("another")),
    "two ids changed for each other": lambda new, old: _swap(new, _changed(new, old)[-2:]),
    "a value of another field": lambda new, old: _swap(new, [0, len(new) - 1]),
    "another value": lambda new, old: new.__setitem__(-1, b'"x"'),
    "an empty value": lambda new, old: new.__setitem__(-1, b""),
    "a value with a line end": lambda new, old: new.__setitem__(-1, bytes(new[-1]) + b"\n"),
}


def _changed(new: list[bytes | Raw], old: list[bytes | Raw]) -> list[int]:
    return [at for at, (a, b) in enumerate(zip(new, old, strict=True)) if bytes(a) != bytes(b)]


def _swap(values: list[bytes | Raw], places: list[int]) -> None:
    first, last = places
    values[first], values[last] = values[last], values[first]


def new_uuid_json(old: str) -> bytes:
    return b'"%b"' % new_uuid("c1", old).encode()


@pytest.mark.req("R301")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_any_line_is_found_before_the_session_is_there(
    root: Path, data: Path, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    """The fields of which a line is joined are compared with the plan, not split from it once more."""
    source = saved(root, full())
    before = files(root)
    made_lines = 0

    def rename(entry: Entry, names: IdMapping) -> RenamedLine:
        nonlocal made_lines
        made_lines += 1
        made = rename_references(entry, names)
        if made_lines != wrong or made.layout is None:
            return made
        old = list((split_fields(entry.line.json) or {}).values())
        values = list(made.values)
        if len(_changed(values, old)) < 2:
            return made  # as a title, which names only its session
        MISTAKES[mistake](values, old)
        changed.append(wrong)
        return RenamedLine(join_fields(made.layout.frame, values), made.layout, values)

    monkeypatch.setattr(write_plan, "rename_references", rename)
    changed: list[int] = []
    for wrong in range(1, 1 + len(source.entries) + len(source.agents[0].session.entries)):
        made_lines, known = 0, len(changed)
        if not refused_as_other_line(source) and len(changed) > known:
            pytest.fail(f"line {wrong} was written")
        assert files(root) == before or len(changed) == known
        for path in files(root) - before:
            (root / path).unlink()
    assert len(changed) > 8
    assert all(record.is_undone or record.state == "done" for record in UndoJournal().records())


def refused_as_other_line(source: Session) -> bool:
    try:
        plan(source).write()
    except Refused as refused:
        return any("is not the one that was planned" in text for text in refused.violations)
    return False


def test_each_line_is_split_once_and_each_file_is_read_back_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = saved(root, full())
    split, read_back = [], []

    def count_split(json: bytes | memoryview) -> Fields | None:
        split.append(bytes(json))
        return split_fields(json)

    def count_digest(path: Path) -> str:
        read_back.append(path)
        return digest(path)

    monkeypatch.setattr(rename_ids, "split_fields", count_split)
    monkeypatch.setattr(write_plan, "digest", count_digest)
    made = plan(source).write()
    entries = [*source.entries, *source.agents[0].session.entries]
    assert len(split) == len(set(split)) == len(entries)
    assert sorted(read_back) == sorted(made.files)


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_byte_that_the_disk_changes_is_found(root: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    source = saved(root, full())
    before = files(root)
    link = os.link

    def store(draft: Path, target: Path) -> None:
        data = bytearray(draft.read_bytes())
        if target.is_relative_to(root):  # not the journal
            data[{"first": 2, "middle": len(data) // 2, "last": len(data) - 3}[place]] ^= 2
            draft.write_bytes(data)
        link(draft, target)

    monkeypatch.setattr(os, "link", store)
    with pytest.raises(Refused, match="is not what was written") as refused:
        plan(source).write()
    assert len(refused.value.violations) == len(before)  # each file
    assert files(root) == before


# -- killed


def test_killed_at_any_byte_there_is_no_session_or_a_whole_one(root: Path) -> None:
    source = saved(root, full())
    assert source.path is not None
    whole = plan(source).write(id="ffffffff-0000-4000-8000-000000000000").path.stat().st_size
    outcomes = set()
    for limit in range(0, whole + 256, 97):
        name = f"{limit:08x}-0000-4000-8000-000000000000"
        was_killed = _killed_at(limit, source.path, name)
        path = source.path.with_name(f"{name}.jsonl")
        outcomes.add((was_killed, path.exists()))
        assert not path.exists() or path.stat().st_size == whole
    assert outcomes >= {(True, False), (False, True)}
    assert (False, False) not in outcomes


def _killed_at(limit: int, path: Path, name: str) -> bool:
    """Write a clone in a process that the system kills when a file would grow beyond so many bytes."""
    child = os.fork()
    if child == 0:
        os.environ["XDG_DATA_HOME"] = f"{path.parent}/data-{limit}"
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
        plan(clew.read(path)).write(id=name)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


# -- taken back


def test_what_was_written_can_be_taken_back(root: Path) -> None:
    source = saved(root, full())
    before = files(root)
    made = plan(source).write()
    assert files(root) > before
    journal = UndoJournal()
    undo(journal.find(made.id[:8]), journal)
    assert files(root) == before
    assert not (root / "file-history" / made.id).exists()
    with pytest.raises(NotFound):
        journal.find(made.id)


def test_what_was_gone_on_with_is_not_taken_back(root: Path) -> None:
    made = plan(saved(root, full())).write()
    with made.path.open("ab") as file:
        file.write(b'{"type":"never-seen"}\n')
    journal = UndoJournal()
    with pytest.raises(Refused, match="changed since"):
        undo(journal.find(None), journal)
    assert made.path.exists()


def test_a_broken_journal_is_read_as_far_as_it_goes(root: Path, data: Path) -> None:
    made = plan(saved(root, full())).write()
    journal = UndoJournal()
    with journal.path.open("ab") as file:
        file.write(b'{"number": "cut')
    assert journal.find(None).made == made.id


# -- the size that is told


def test_a_session_without_a_large_turn_tells_its_new_size(root: Path) -> None:
    """The program takes the size of a conversation from the last reply, and compacts one that tells too much."""
    told = talk().user("large").reply("so", call=bash("cat x")).result("word " * 20_000).reply("read").user("small")
    source = saved(root, told.reply("yes", usage={"cache_read_input_tokens": 120_000}))
    made = clew.read(plan(source).drop_turn(1).write().path)
    before, after = (s.replies[-1].tokens for s in (source, made))
    assert before is not None
    assert after is not None
    assert (before.cache_read_input_tokens, after.output_tokens) == (120_000, before.output_tokens)
    assert (after.cache_read_input_tokens or 0) < 100_000
