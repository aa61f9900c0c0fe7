"""A resume reads the end of a file; the result is that of reading all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clew.chat.store.resume_session import resume, session_state
from clew.chat.store.resumed_part import read_part, read_resumed_part
from clew.demo.talk import Talk, bash, talk, todo
from clew.errors import Refused
from clew.wire.boundary_search import find_last_boundary
from tests.oracle.generate import generate

NAME = "aaaaaaaa-0000-4000-8000-000000000000.jsonl"
SEEDS = range(150)  # a fifth of these sessions was compacted


def state(path: Path, *, whole: bool = False) -> dict[str, Any] | str:
    try:
        found = session_state(path, read_part(path, 0)) if whole else resume(path)
    except Refused as refusal:
        return str(refusal)
    return {**structs.asdict(found), "closing": [str(line) for line in found.closing]}


def write(folder: Path, made: Talk) -> Path:
    path = folder / NAME
    path.write_bytes(b"".join(bytes(line) for line in made.lines()))
    return path


def told(**more: Any) -> Talk:
    """A conversation that was compacted once, with a state from before it."""
    made = talk(version="2.1.325", model="claude-opus-5-5", permission_mode="acceptEdits", **more)
    made = made.user("first").snapshot({"/x/a.txt": "old"}).reply("One.", call=todo(["water the plants"])).result()
    return (
        made.reply("Done.")
        .pr_link(7, "mira/herbs")
        .user("second")
        .reply("Two.", call=bash("ls"))
        .result("a")
        .reply("b")
    )


def test_random_sessions_are_resumed_as_if_all_was_read(tmp_path: Path) -> None:
    path = tmp_path / NAME
    starts = []
    for data in (generate(seed).data for seed in SEEDS):
        if b'"compact_boundary"' in data:
            path.write_bytes(data)
            starts.append(read_resumed_part(path).start)
            assert state(path) == state(path, whole=True)
    assert sum(map(bool, starts)) > 20


@pytest.mark.parametrize("keep", [0, 2])
def test_only_what_follows_the_last_compaction_is_read_as_entries(tmp_path: Path, keep: int) -> None:
    made = told()
    for number in range(3):
        made = made.compact(f"Summary {number}.", keep=keep).user(f"prompt {number}").reply("Yes.")
    path = write(tmp_path, made)
    part = read_resumed_part(path)
    boundary = find_last_boundary(path)
    assert boundary is not None and 0 < part.start <= boundary.offset
    assert (part.start == boundary.offset) is not bool(keep)
    assert state(path) == state(path, whole=True)


def test_the_state_from_before_the_compaction_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path, told().compact("Summary.").user("third", permissionMode=None).reply("Three."))
    part = read_resumed_part(path)
    found = session_state(path, part)
    assert part.start
    assert found.mode == "acceptEdits" and [t["content"] for t in found.todos] == ["water the plants"]
    assert found.backups and found.pull_requests and found.largest_requests
    assert state(path) == state(path, whole=True)


def repeat(made: Talk) -> Talk:
    """Repeat a line from before the compaction."""
    return made.raw(bytes(made.lines()[0])).user("fourth").reply("Four.")


def hang_below_later(made: Talk) -> Talk:
    """Hang the last line of the file below a line from before the compaction."""
    first = next(e["uuid"] for e in made.data() if e.get("uuid"))
    return made.user("fourth", parentUuid=first).reply("Four.")


def name_earlier(made: Talk) -> Talk:
    first = next(e["uuid"] for e in made.data() if e.get("type") == "assistant")
    return made.last_prompt("first", leaf=first)


def end(made: Talk) -> Talk:
    return made


CHANGES = {"repeated": repeat, "below an earlier line": hang_below_later, "named": name_earlier, "unchanged": end}


@pytest.mark.parametrize("name", CHANGES)
def test_lines_that_refer_to_earlier_ones_are_resumed_as_if_all_was_read(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, CHANGES[name](told().compact("Summary.").user("third").reply("Three.")))
    assert state(path) == state(path, whole=True)
    assert bool(read_resumed_part(path).start) is (name == "unchanged")


def test_an_earlier_end_by_the_model_forbids_the_resume(tmp_path: Path) -> None:
    made = told().line({"type": "ended-by-model"}).compact("Summary.").user("third").reply("Three.")
    with pytest.raises(Refused, match="the model ended this conversation"):
        resume(write(tmp_path, made))


def test_text_about_a_boundary_is_no_boundary(tmp_path: Path) -> None:
    made = told().user('What is "compact_boundary"?', note={"subtype": "compact_boundary"}).reply("A mark.")
    path = write(tmp_path, made)
    assert find_last_boundary(path) is None
    compacted = write(
        tmp_path, made.compact("Summary.").user('"compact_boundary"', note="compact_boundary").reply("No.")
    )
    found = find_last_boundary(compacted)
    assert found is not None and found.is_boundary and compacted.read_bytes()[found.offset :].startswith(found.raw)
