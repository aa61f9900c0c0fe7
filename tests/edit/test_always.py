"""What must hold for every plan over every session."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.conversation.entry_graph import Cycle, Dangling
from clew.conversation.session import Session
from clew.demo.talk import Talk
from clew.edit.plan import plan
from clew.wire.entry_edit import block_bytes
from clew.wire.json_splice import extract
from tests.edit.steps import STEPS, Steps, planned
from tests.edit.talks import talks

EXAMPLES = 60
CHANGING = {"redact", "trim fit", "trim heavy"}  # words on purpose, or pictures


PLACES = st.floats(0, 1)
PLANS = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), PLACES), min_size=1, max_size=3)


@contextmanager
def on_disk(told: Talk) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", f"{folder}/data")
        yield told.write(Path(folder) / "claude")


def prompts(session: Session) -> set[bytes]:
    return {extract(e.line.json, "message") for e in session.prompts}


def open_ids(session: Session) -> set[str]:
    return {call.id for call in session.pairing.open}


def orphan_ids(session: Session) -> set[str | None]:
    return {b.tool_use_id for e in session.pairing.orphans for b in e.results}


def signatures(session: Session) -> set[bytes]:
    return {raw for e in session.entries for raw in blocks(e) if b'"signature"' in raw}


def blocks(entry: clew.Entry) -> list[bytes]:
    is_list = entry.message is not None and isinstance(entry.message.content, list)
    return block_bytes(entry) if is_list else []


@pytest.mark.req("R289", "R291", "R293", "R303")
@given(talks(), PLANS)
@settings(max_examples=EXAMPLES)
def test_a_plan_breaks_nothing(told: Talk, steps: Steps) -> None:
    before = Session(told.bytes())
    made = planned(plan(before), steps)
    if made is None:
        return
    after = made.session
    assert made.violations == ()
    assert not [p for p in after.graph.problems if isinstance(p, Dangling | Cycle)]
    assert open_ids(after) <= open_ids(before)
    assert orphan_ids(after) <= orphan_ids(before)
    assert signatures(after) <= signatures(before)
    if not CHANGING & {name for name, _ in steps}:
        assert prompts(after) <= prompts(before)
    unknown = [e.raw for e in before.entries if e.type == "never-seen"]
    if all(name != "end" for name, _ in steps):
        assert [e.raw for e in after.entries if e.type == "never-seen"] == unknown


@pytest.mark.req("R280", "R281", "R285", "R286", "R301")
@given(talks(), PLANS)
@settings(max_examples=EXAMPLES)
def test_what_is_written_is_what_was_planned(told: Talk, steps: Steps) -> None:
    with on_disk(told) as path:
        content, times = path.read_bytes(), path.stat()
        made = planned(plan(clew.read(path)), steps)
        if made is None:
            return
        written = clew.read(made.write().path)
        assert path.read_bytes() == content
        assert path.stat().st_mtime_ns == times.st_mtime_ns
        assert written.path is not None
        assert written.path.parent == path.parent
        for version in ("2.0.50", "2.1.29", "2.1.45", "2.1.325"):
            assert clew.request(written, version).messages == clew.request(made.session, version).messages
        assert {e.session_id for e in written.entries if e.session_id} == {written.id}
        assert not {e.uuid for e in written.entries if e.uuid} & {e.uuid for e in clew.read(path).entries}
        shape = [(e.type, e.uuid is None, e.parent is None) for e in written.entries if e.type != "clew-origin"]
        assert shape == [(e.type, e.uuid is None, e.parent is None) for e in made.session.entries]


@given(talks(), PLANS, PLANS)
@settings(max_examples=EXAMPLES)
def test_two_plans_are_one(told: Talk, first: Steps, second: Steps) -> None:
    """Writing what a plan made and planning again sends what one plan of both would."""
    with on_disk(told) as path:
        source = clew.read(path)
        middle = planned(plan(source), first)
        both = planned(plan(source), first + second)
        if middle is None or both is None:
            return
        apart = planned(plan(clew.read(middle.write().path)), second)
        assert apart is not None
        assert clew.request(apart.session).messages == clew.request(both.session).messages
        assert [t.text for t in apart.session.turns] == [t.text for t in both.session.turns]


@given(talks())
@settings(max_examples=EXAMPLES)
def test_a_copy_says_the_same_to_every_version(told: Talk) -> None:
    with on_disk(told) as path:
        source = clew.read(path)
        copy = clew.read(plan(source).write().path)
        assert [t.text for t in copy.turns] == [t.text for t in source.turns]
        for version in ("2.0.50", "2.1.29", "2.1.45", "2.1.325"):
            assert clew.request(copy, version).messages == clew.request(source, version).messages
        assert [e.line.json for e in copy.entries if not e.uuid and e.type == "never-seen"] == [
            e.line.json.replace(source.id.encode(), copy.id.encode()) for e in source.entries if e.type == "never-seen"
        ]
