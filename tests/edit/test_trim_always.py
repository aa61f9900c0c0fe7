"""What must hold for every trim of every session."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.conversation.entry_graph import Cycle, Dangling
from clew.conversation.session import Session
from clew.demo.talk import Talk
from clew.edit.plan import plan
from clew.edit.strip import LINES
from clew.edit.trim_presets import PRESETS, Trim
from clew.edit.trim_tools import Tools
from clew.wire.entry_edit import block_bytes
from clew.wire.json_splice import extract
from tests.edit.talks import talks

EXAMPLES = 80
SOME = st.none() | st.integers(0, 3)
TOOLS = st.builds(
    Tools,
    st.sampled_from(["remove", "truncate"]),
    SOME,
    SOME,
    st.none() | st.sampled_from([0.0, 30.0, 50.0, 100.0]),
    st.sampled_from([(), ("Bash",), ("Read", "Agent"), ("*",)]),
)
FLAG = st.booleans()
TRIMS = st.sampled_from(sorted(PRESETS.values(), key=str)) | st.builds(
    Trim, st.none() | TOOLS, FLAG, FLAG, FLAG, st.frozensets(st.sampled_from(sorted(LINES))), FLAG
)


def signed(session: Session) -> set[bytes]:
    return {raw for e in session.entries for raw in blocks(e) if b'"signature"' in raw}


def blocks(entry: clew.Entry) -> list[bytes]:
    is_list = entry.message is not None and isinstance(entry.message.content, list)
    return block_bytes(entry) if is_list else []


def prompts(session: Session) -> list[bytes]:
    return [extract(e.line.json, "message") for e in session.prompts]


def unpaired(session: Session) -> set[str | None]:
    pairing = session.pairing
    return {call.id for call in pairing.open} | {b.tool_use_id for e in pairing.orphans for b in e.results}


@pytest.mark.req("R289", "R291", "R293", "R303")
@given(talks(), TRIMS)
@settings(max_examples=EXAMPLES)
def test_a_trim_breaks_nothing(told: Talk, what: Trim) -> None:
    before = Session(told.bytes())
    made = plan(before).trim(what)
    after = made.session
    assert made.violations == ()
    assert not [p for p in after.graph.problems if isinstance(p, Dangling | Cycle)]
    assert unpaired(after) <= unpaired(before)
    assert signed(after) <= signed(before)
    if not what.thinking and not what.tools and not what.compacted:
        assert signed(after) == signed(before)
    if not what.compacted:
        assert [t.text for t in after.turns] == [t.text for t in before.turns] or what.pictures
        assert len(after.turns) == len(before.turns)
    if not what.pictures:
        assert set(prompts(after)) <= set(prompts(before))
        assert what.compacted or prompts(after) == prompts(before)
    assert [e.raw for e in after.entries if e.type == "never-seen"] == [
        e.raw for e in before.entries if e.type == "never-seen"
    ]


@pytest.mark.req("R302")
@given(talks(), TRIMS)
@settings(max_examples=EXAMPLES)
def test_to_trim_twice_is_to_trim_once(told: Talk, what: Trim) -> None:
    once = plan(Session(told.bytes())).trim(what)
    assert once.trim(what).session.items == once.session.items


@pytest.mark.req("R302", "R301", "R285")
@given(talks(), TRIMS)
@settings(max_examples=EXAMPLES // 2)
def test_a_trim_of_what_a_trim_wrote_changes_nothing(told: Talk, what: Trim) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", f"{folder}/data")
        path = told.write(Path(folder) / "claude")
        content = path.read_bytes()
        written = clew.read(plan(clew.read(path)).trim(what).write().path)
        again = plan(written).trim(what)
        assert again.session.items == written.items
        assert path.read_bytes() == content


@pytest.mark.req("R300")
@given(talks(), TRIMS)
@settings(max_examples=EXAMPLES // 2)
def test_the_report_counts_what_is_there(told: Talk, what: Trim) -> None:
    made = plan(Session(told.bytes())).trim(what)
    report = made.report()
    for tally, session in ((report.before, made.source), (report.after, made.session)):
        assert tally.entries == len(session.entries)
        assert tally.calls == len(session.calls)
        assert tally.bytes == sum(len(item.raw) for item in session.items)
        assert tally.context.bytes >= tally.bytes
    sent = [clew.request(s).messages for s in (made.source, made.session)]
    if sent[0] == sent[1]:
        assert report.before.context.tokens == report.after.context.tokens


@pytest.mark.shared
@pytest.mark.req("R291", "R302")
@pytest.mark.parametrize("preset", ["fit", "heavy"])
def test_real_sessions_are_trimmed_soundly_and_once(shared: Path, preset: str) -> None:
    paths = [p for p in sorted(shared.glob("**/*.jsonl")) if 0 < p.stat().st_size < 2_000_000]
    trimmed = 0
    for path in paths:
        before = Session(path.read_bytes())
        if before.turns:
            made = plan(before).trim(preset)
            assert made.violations == (), path
            assert made.trim(preset).session.items == made.session.items, path
            trimmed += 1
    assert trimmed > 100
