"""The examples of the README and the design, run on a tree of sessions: each name does what they say it does."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import clew
from clew.demo.talk import Talk, bash, read, talk, task
from tests.content_times import set_last_use
from tests.conversation.lines import texts

GATE, PATH, BED = (f"{i}f2a0000-0000-4000-8000-000000000000" for i in (3, 4, 5))


def squeaking() -> Talk:
    told = talk(GATE, cwd="/home/ada/garden").user("Why does the gate squeak?")
    told = told.reply("I look.", calls=[read("gate.md", "Rust."), bash("oil --now", "Oil the gate")])
    return told.result().result("no oil", error=True).reply("Rust, and there is no oil.")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three sessions in two projects; the last was not used for a month."""
    root = tmp_path / "claude"
    now = time.time()
    set_last_use(squeaking().write(root), now)
    errand = talk().user("Count the stones.").reply("Nine.")
    told = talk(PATH, cwd="/home/ada/garden").user("How long is the path?")
    told = told.reply(call=task("Count", "Count the stones.")).agent(0, errand).reply("Nine stones.")
    set_last_use(told.write(root), now)
    old = talk(BED, cwd="/srv/flower-bed").user("Plant tulips").reply("Planted.").write(root)
    set_last_use(old, now - timedelta(days=30).total_seconds())
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(root))
    return root


def test_the_readme(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = clew.find("3f2a")
    for turn in session.turns:
        print(">", turn.text)
        for call in turn.calls:
            print("   ", clew.label(call), "FAILED" if call.failed else "")
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "> Why does the gate squeak?"
    assert [line.split()[0] for line in printed[1:]] == ["Read", "Bash"]
    assert [line.endswith("FAILED") for line in printed[1:]] == [False, True]
    messages = clew.request(session).messages
    assert [m["role"] for m in messages] == ["user", "assistant", "user", "assistant"]
    assert texts(messages)[0] == "user: Why does the gate squeak?"
    total = sum(map(clew.usage, clew.sessions()), clew.Usage()).total
    assert total.output == sum(clew.usage(s).total.output for s in clew.sessions())
    assert total.output > 0


# -- finding


def test_a_session_is_found_by_enough_of_its_id(tree: Path) -> None:
    assert clew.find(GATE).id == clew.find("3").id == clew.find("3F2A").id == GATE
    assert clew.find(GATE, claude=tree).title == "Why does the gate squeak?"


def test_too_little_of_an_id_stands_for_several(tree: Path) -> None:
    talk(f"3f2b{GATE[4:]}").user("hi").reply("hello").write(tree)
    with pytest.raises(clew.Ambiguous) as caught:
        clew.find("3f2")
    assert caught.value.matches == (GATE, f"3f2b{GATE[4:]}")
    assert str(caught.value) == "'3f2' matches 2 sessions."
    assert GATE in caught.value.hint


def test_what_is_not_there_is_not_found_but_something_near_is(tree: Path) -> None:
    with pytest.raises(clew.NotFound) as caught:
        clew.find("3f2b")
    assert caught.value.asked == "3f2b"
    assert GATE in caught.value.near
    assert "Did you mean" in caught.value.hint
    with pytest.raises(clew.NotFound) as caught:
        clew.find("zzzz")
    assert caught.value.near == ()
    with pytest.raises(clew.ClewError):
        clew.find("")


def test_a_session_is_read_from_its_path(tree: Path) -> None:
    path = clew.find("3f2a").path
    assert path is not None
    assert clew.read(path).turns == clew.read(str(path)).turns == clew.find(str(path)).turns
    with pytest.raises(FileNotFoundError):
        clew.read(tree / "nothing.jsonl")


# -- listing


@pytest.mark.req("R350")
def test_sessions_come_newest_first_and_then_by_name(tree: Path) -> None:
    assert [s.id for s in clew.sessions()][-1] == BED
    for path in tree.glob("projects/*/*.jsonl"):
        set_last_use(path, 1)
    listings = [[s.id for s in clew.sessions()] for _ in range(3)]
    assert listings == [[GATE, PATH, BED]] * 3


def test_sessions_of_a_project(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {s.id for s in clew.sessions(project="garden")} == {GATE, PATH}
    assert [s.id for s in clew.sessions(project="/srv/flower-bed")] == [BED]
    with pytest.raises(clew.NotFound):
        list(clew.sessions(project="orchard"))
    here = tmp_path / "orchard"
    here.mkdir()
    told = talk(cwd=str(here.resolve())).user("Prune").reply("Pruned.")
    set_last_use(told.write(tree), time.time())
    monkeypatch.chdir(here)
    assert [s.id for s in clew.sessions(project=".", since="7d")] == [told.session_id]


@pytest.mark.req("R348")
def test_sessions_of_a_time(tree: Path) -> None:
    assert {s.id for s in clew.sessions(since="7d")} == {GATE, PATH}
    assert [s.id for s in clew.sessions(until="7d")] == [BED]
    assert {s.id for s in clew.sessions(since=datetime.now(UTC) - timedelta(days=60))} == {GATE, PATH, BED}
    assert list(clew.sessions(since="7d", until="8d")) == []
    with pytest.raises(ValueError, match="is not a time"):
        list(clew.sessions(since="soon"))


def test_nothing_is_parsed_before_it_is_asked_for(tree: Path) -> None:
    listed = list(clew.sessions())
    for path in tree.glob("projects/*/*.jsonl"):
        path.unlink()
    assert len(listed) == 3
    with pytest.raises(FileNotFoundError):
        _ = listed[0].entries


def test_an_empty_tree_has_no_sessions(tmp_path: Path) -> None:
    assert list(clew.sessions(claude=tmp_path)) == []
    with pytest.raises(clew.NotFound):
        clew.find("3f2a", claude=tmp_path)


# -- adding up


@pytest.mark.req("R121")
def test_forks_count_once(tree: Path) -> None:
    before = sum(map(clew.usage, clew.sessions()), clew.Usage())
    squeaking().fork().write(tree)
    assert len(list(clew.sessions())) == 4
    after = sum(map(clew.usage, clew.sessions()), clew.Usage())
    assert after == before
    grown = squeaking().fork("6f2a0000-0000-4000-8000-000000000000").user("And now?").reply("Now it is silent.")
    grown.write(tree)
    more = sum(map(clew.usage, clew.sessions()), clew.Usage())
    assert len(more.replies) == len(before.replies) + 1


def test_the_replies_of_agents_are_part_of_the_sum(tree: Path) -> None:
    session = clew.find("4f2a")
    assert len(clew.usage(session).replies) == len(session.replies) + 1 == 3


# -- requests


def test_a_request_as_another_version_would_make_it(tree: Path) -> None:
    session = clew.find("3f2a")
    assert texts(clew.request(session, prompt="And now?").messages)[-1] == "user: And now?"
    assert len(clew.request(session).messages[1]["content"]) == 3
    assert len(clew.request(session, version="2.1.45").messages[1]["content"]) == 2  # it loses parallel results


def test_a_session_is_a_snapshot(tree: Path) -> None:
    session = clew.find("3f2a")
    turns = session.turns
    assert session.path is not None
    session.path.write_bytes(session.path.read_bytes() + talk(GATE).user("more").lines()[0])
    assert session.turns is turns
    assert len(clew.find("3f2a").entries) == len(session.entries) + 1
    assert repr(session) == f"<Session {GATE}>"
