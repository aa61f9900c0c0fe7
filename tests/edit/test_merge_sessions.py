"""The same session, continued on two machines, as one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import clew
from clew.conversation.entry_graph import Dangling
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, talk, task
from clew.edit.merge_sessions import merge
from clew.edit.plan import plan
from clew.errors import Refused
from clew.wire.entry_types import FileHistorySnapshot
from tests.edit.talks import talks

SAVED = "/home/ada/garden/gate.py"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def begun() -> Talk:
    return (
        talk()
        .snapshot({SAVED: "gate = 1\n"})
        .user("one")
        .reply("first", call=bash("ls"))
        .result("a")
        .reply("so")
        .last_prompt()
    )


def on(machine: str, told: Talk, *, hours: int = 0) -> Talk:
    """The talk as it goes on in another place, where new entries get other ids."""
    setup = replace(told.setup, seed=f"{told.setup.seed}/{machine}")
    return replace(told, setup=setup).pause(hours=hours)


def child(word: str) -> Talk:
    return talk(seed=word).user(f"Find {word}.").reply(f"Found {word}.")


def further(told: Talk, word: str, *, hours: int) -> Talk:
    """Another turn with an agent, a long output and a saved file, some hours later."""
    told = on(word, told, hours=hours).snapshot({SAVED: f"gate = '{word}'\n"}, version=2).user(word)
    told = told.reply(call=task(f"Find {word}", f"Find {word}.")).agent(0, child(word))
    path = f"/home/{word}/.claude/projects/x/{told.session_id}/tool-results/b{word}.txt"
    told = told.reply(call=bash("make")).result("long", detail={"persistedOutputPath": path})
    told = told.file(f"{{project}}/{{session}}/tool-results/b{word}.txt", word.encode())
    return told.reply(f"did {word}").last_prompt()


def both(tmp_path: Path, mine: int, yours: int) -> tuple[Session, Session]:
    first, second = further(begun(), "left", hours=mine), further(begun(), "right", hours=yours)
    return clew.read(first.write(tmp_path / "a")), clew.read(second.write(tmp_path / "b"))


@pytest.mark.parametrize(("mine", "yours", "goes_on"), [(1, 2, "right"), (2, 1, "left")])
def test_both_branches_are_kept_and_the_newest_is_gone_on_with(
    tmp_path: Path, mine: int, yours: int, goes_on: str
) -> None:
    first, second = both(tmp_path, mine, yours)
    made, found = merge(plan(first), second)
    assert (found.common, found.differing) == (4 + 1, ())
    assert found.first == found.other > 0
    assert [turn.text for turn in made.session.turns] == ["one", goes_on]
    assert sorted(b.last.text for b in made.session.branches) == ["left", "right"]
    assert request(made.session).messages == request(first if goes_on == "left" else second).messages
    assert made.violations == ()


def test_the_order_of_the_first_stays_and_parents_come_first(tmp_path: Path) -> None:
    first, second = both(tmp_path, 2, 1)
    made = plan(first).merge(second).session
    mine = [e.uuid for e in first.entries if e.uuid]
    assert [e.uuid for e in made.entries if e.uuid in mine] == mine
    places = {e.uuid: i for i, e in enumerate(made.entries)}
    assert all(places[e.parent] < places[e.uuid] for e in made.entries if e.uuid and e.parent)
    assert {e.uuid for e in second.entries} <= {e.uuid for e in made.entries}


@pytest.mark.req("R285", "R301")
def test_the_files_of_both_come_along(tmp_path: Path) -> None:
    first, second = both(tmp_path, 1, 2)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    made, found = merge(plan(first), second)
    written = made.write()
    copy = clew.read(written.path)
    assert sorted(a.description for a in copy.agents) == ["Find left", "Find right"]
    assert all(a.call is not None for a in copy.agents)
    assert {p.name: p.read_text() for p in (written.path.with_suffix("") / "tool-results").iterdir()} == {
        "bleft.txt": "left",
        "bright.txt": "right",
    }
    output = next(c.detail for c in copy.calls if c.detail and "bright" in str(c.detail))
    assert Path(output["persistedOutputPath"]).read_text() == "right"
    saved = {p.name: p.read_text() for p in (tmp_path / "a" / "file-history" / written.id).iterdir()}
    assert sorted(saved.values()) == ["gate = 'left'\n", "gate = 'right'\n", "gate = 1\n"]
    told = [FileHistorySnapshot.of(e).backups[SAVED].name for e in copy.entries if e.type == "file-history-snapshot"]
    assert [saved[str(name)] for name in told] == ["gate = 1\n", "gate = 'left'\n", "gate = 'right'\n"]
    assert len(found.renamed) == 1 and found.renamed[0].endswith("@v3")
    assert {p: p.read_bytes() for p in before} == before


def test_entries_that_differ_are_told_and_the_first_counts(tmp_path: Path) -> None:
    first = talk().user("one").reply("mine").user("x")
    second = talk().user("one").reply("yours").user("x").reply("y")
    made, found = merge(plan(clew.read(first.write(tmp_path / "a"))), clew.read(second.write(tmp_path / "b")))
    assert len(found.differing) == 1
    assert "mine" in [e.text for e in made.session.entries] and "yours" not in [e.text for e in made.session.entries]


def test_a_fork_under_another_id_is_the_same_session(tmp_path: Path) -> None:
    told = begun()
    first, fork = told.user("left").reply("l"), told.fork().pause(hours=1).user("right").reply("r")
    made, found = merge(plan(clew.read(first.write(tmp_path))), clew.read(fork.write(tmp_path)))
    assert found.common == 5 and found.differing == ()
    assert [turn.text for turn in made.session.turns] == ["one", "right"]


def test_an_agent_that_both_have_is_joined(tmp_path: Path) -> None:
    told = talk().user("go").reply(call=task("Find", "Find it.")).agent(0, child("it"))
    first, second = told.user("left").reply("l"), on("b", told, hours=1).user("right").reply("r")
    path = second.write(tmp_path / "b")
    (agent,) = (tmp_path / "b").rglob("agent-*.jsonl")
    last = agent.read_bytes().splitlines()[-1]
    more = last.replace(b"Found it.", b"And more.").replace(b'"uuid":"', b'"uuid":"f')
    agent.write_bytes(agent.read_bytes() + more + b"\n")
    written = plan(clew.read(first.write(tmp_path / "a"))).merge(clew.read(path)).write()
    (copy,) = clew.read(written.path).agents
    assert [e.text for e in copy.session.entries][-2:] == ["Found it.", "And more."]


def test_a_third_one_is_joined_to_two(tmp_path: Path) -> None:
    told = begun()
    paths = [on(w, told, hours=n).user(w).reply("ok").write(tmp_path / w) for n, w in enumerate(("a", "b", "c"))]
    first, *others = map(clew.read, paths)
    made = plan(first)
    for other in others:
        made = made.merge(other)
    assert sorted(b.last.text for b in made.session.branches) == ["a", "b", "c"]
    assert [turn.text for turn in made.session.turns] == ["one", "c"]


def test_sessions_that_share_nothing_are_refused(tmp_path: Path) -> None:
    first, second = talk().user("a").reply("b"), talk(seed=1).user("a").reply("b")
    with pytest.raises(Refused, match="share no entry"):
        plan(clew.read(first.write(tmp_path))).merge(clew.read(second.write(tmp_path)))


def test_one_that_has_nothing_more_is_refused(tmp_path: Path) -> None:
    path = begun().write(tmp_path / "b")
    with pytest.raises(Refused, match="has no entry that"):
        plan(clew.read(begun().user("x").write(tmp_path / "a"))).merge(clew.read(path))


def test_outputs_of_one_name_that_differ_are_refused(tmp_path: Path) -> None:
    name = "{project}/{session}/tool-results/b1.txt"
    first = begun().user("x").file(name, b"mine").write(tmp_path / "a")
    second = on("b", begun(), hours=1).user("y").file(name, b"yours").write(tmp_path / "b")
    with pytest.raises(Refused, match=r"tool-results/b1\.txt, and they differ"):
        plan(clew.read(first)).merge(clew.read(second))


@given(told=talks(3), words=st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=2), later=st.booleans())
@settings(max_examples=40)
def test_a_merge_holds_every_entry_of_both(told: Talk, words: list[str], later: bool) -> None:
    first, second = on("a", told, hours=24), on("b", told, hours=48 if later else 0)
    for word in words:
        first, second = first.user(f"left {word}").reply("l"), second.user(f"right {word}").reply("r")
    sources = [Session(each.bytes()) for each in (first, second)]
    with tempfile.TemporaryDirectory() as folder:
        paths = [each.write(Path(folder) / name) for each, name in ((first, "a"), (second, "b"))]
        made = plan(clew.read(paths[0])).merge(clew.read(paths[1])).session
    held = {e.uuid for e in made.entries}
    assert all({e.uuid for e in source.entries} <= held for source in sources)
    assert [p for p in made.graph.problems if isinstance(p, Dangling)] == []
    assert request(made).messages == request(sources[1 if later else 0]).messages
