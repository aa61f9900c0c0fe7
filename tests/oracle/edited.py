"""Edited sessions to be resumed: what a plan promises, and how the session that keeps the promise is written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

import clew
from clew.chat.store.fork_session import fork
from clew.conversation.session import Session
from clew.edit.plan import Plan, plan
from clew.edit.rename_session import retitle, tag
from clew.edit.undo_journal import UndoJournal, undo
from clew.wire.json_codec import encode
from clew.wire.layout import Tree, session_at
from clew.wire.session_writer import create
from clew.wire.timestamps import format_timestamp
from tests.edit.steps import STEPS, Steps, planned, turn_of

Write = Callable[[Plan, Path], Path]

EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)  # of a session that has no times

PLANS: dict[str, Steps] = {
    "clone": [],
    **{name: [(name, 0.5)] for name in STEPS},
    "drop the first": [("drop", 0.0)],
    "drop the last": [("drop", 1.0)],
    "drop, then end": [("drop", 0.0), ("end", 0.6)],
}


def write(made: Plan, folder: Path) -> Path:
    return made.write(folder=folder).path


@dataclass(frozen=True)
class Case:
    """A plan and the function that writes the session. A resume of that session sends what the plan says."""

    name: str
    plan: Plan
    write: Write = write


def cases(sources: Mapping[str, Session], plans: dict[str, Steps] = PLANS) -> Iterator[Case]:
    """Every source with every plan that leaves something and changes something."""
    for name, source in sources.items():
        seen = set()
        for what, steps in plans.items():
            made = planned(plan(source), steps)
            if made is None:
                continue
            content = b"".join(item.raw for item in made.session.items)
            if content not in seen:
                seen.add(content)
                yield Case(f"{name}: {what}", made)


# Edits that are not steps of a plan


def other_cases(sources: Mapping[str, Session], folder: Path) -> Iterator[Case]:
    """Every source merged with a continuation, forked, retitled and tagged, and with an edit that was undone."""
    for name, source in sources.items():
        if not source.turns:
            continue
        made = plan(source)
        half = made.end_with(turn_of(made, 0.5))
        for what, later in (("a later", True), ("an earlier", False)):
            other = continued(half, made, later, folder / "other" / str(uuid4()))
            yield Case(f"{name}: merge with {what} one", made.merge(other))
        yield Case(f"{name}: fork", made, forked)
        yield Case(f"{name}: fork in the middle", half, forked_at(made, turn_of(made, 0.5)))
        yield Case(f"{name}: retitle and tag", made, named)
        yield Case(f"{name}: undo of names", made, unnamed)
        yield Case(f"{name}: undo of an edit", made, undone)


def continued(half: Plan, whole: Plan, later: bool, folder: Path) -> Session:
    """The first half of a session with a turn of its own, as another machine continues it: after the end, or before."""
    leaf = half.session.leaf
    assert leaf
    after = (whole.session if later else half.session).ended or EARLIEST
    prompt, reply = (str(uuid5(NAMESPACE_URL, f"{leaf.uuid} {later} {role}")) for role in ("user", "assistant"))
    known: dict[str, Any] = {
        key: leaf.data[key] for key in ("cwd", "version", "gitBranch", "userType") if key in leaf.data
    }
    known |= {"sessionId": whole.source.id, "isSidechain": False}
    text = [{"type": "text", "text": "Continued."}]
    answer = {"id": f"msg_{reply}", "type": "message", "model": "claude-opus-4-5-20251101", "stop_reason": "end_turn"}
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": prompt, "parentUuid": leaf.uuid}
        | {"message": {"role": "user", "content": "Continue on this machine."}},
        {"type": "assistant", "uuid": reply, "parentUuid": prompt}
        | {"message": {**answer, "role": "assistant", "content": text, "usage": {}}},
    ]
    times = (after + timedelta(seconds=1), after + timedelta(seconds=4))
    added = [
        encode({**line, **known, "timestamp": format_timestamp(time)}) for line, time in zip(lines, times, strict=True)
    ]
    path = folder / f"{whole.source.id}.jsonl"
    return clew.read(create(path, [*(item.raw.rstrip(b"\r\n") for item in half.session.items), *added]))


def forked(made: Plan, folder: Path) -> Path:
    return _fork(write(made, folder / "forked"), folder, "")


def forked_at(whole: Plan, turn: int) -> Write:
    return lambda _, folder: _fork(write(whole, folder / "forked"), folder, str(turn))


def _fork(path: Path, folder: Path, at: str) -> Path:
    return fork(session_at(path), str(uuid4()), Tree(folder), at, folder)


def named(made: Plan, folder: Path) -> Path:
    path = write(made, folder)
    retitle(clew.read(path), "A title")
    tag(clew.read(path), "a-tag")
    return path


def unnamed(made: Plan, folder: Path) -> Path:
    """A title and a tag, both undone. A tag stands after the title, so that a new line takes the title back."""
    path = write(made, folder)
    numbers = [retitle(clew.read(path), "A title").number, tag(clew.read(path), "a-tag").number]
    for number in numbers:
        undo(UndoJournal().find(number), UndoJournal())
    return path


def undone(made: Plan, folder: Path) -> Path:
    """An edit of the session that was taken back; what is left is the session."""
    path = write(made, folder)
    before = path.read_bytes()
    edit = plan(clew.read(path)).end_with(1).write(folder=folder)
    undo(UndoJournal().find(edit.number), UndoJournal())
    assert not os.path.lexists(edit.path)
    assert path.read_bytes() == before
    return path
