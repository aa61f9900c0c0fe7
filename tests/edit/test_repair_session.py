"""Broken sessions, mended: every prompt that is in the file is brought back, and nothing is said that was not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.api.lint import lint
from clew.conversation.load import request
from clew.conversation.session import Session
from clew.demo.talk import DENSE, Talk, bash, talk, task
from clew.edit.fix.repair_session import FIXES, TEXTS, repair, restored_prompts
from clew.edit.plan import plan
from clew.facts.health import SOUND, VERSIONS, health
from tests.conversation.lines import Json, reply, text, user, written
from tests.edit.broken import PROMPTS, WAYS, five
from tests.edit.talks import talks
from tests.step_count import Work, assert_linear

LOST = {"a line cut short": 4}  # of a line that is half gone there is nothing to bring back


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def mended(raw: bytes) -> Session:
    return plan(Session(raw)).repair().session


@pytest.mark.req("R291", "R289")
@pytest.mark.parametrize("way", WAYS)
def test_every_version_brings_back_every_prompt(way: str) -> None:
    source = Session(WAYS[way])
    made, fixes = repair(plan(source))
    assert fixes and made.violations == ()
    wanted = LOST.get(way, len(PROMPTS))
    print(
        f"{way:36}",
        *(f"{b}→{a}" for b, a in zip(restored_prompts(source), restored_prompts(made.session), strict=True)),
    )
    assert restored_prompts(made.session) == (wanted,) * len(VERSIONS)
    found = health(made.session)
    assert found.verdict == SOUND, found.flaws
    assert [flaw for flaw in found.flaws if flaw.kind != "agent"] == []
    assert fixes[0].before == restored_prompts(source) and fixes[-1].after == restored_prompts(made.session)


@pytest.mark.parametrize("way", WAYS)
def test_a_repaired_session_needs_no_repair(way: str) -> None:
    assert repair(plan(mended(WAYS[way])))[1] == ()


@pytest.mark.parametrize("way", WAYS)
def test_prompts_and_results_stay_in_order(way: str) -> None:
    said = [turn.text for turn in mended(WAYS[way]).turns]
    assert said == [prompt for prompt in PROMPTS if way not in LOST or prompt in said]
    assert len(said) == LOST.get(way, len(PROMPTS))


def test_each_fix_has_words() -> None:
    assert set(FIXES) <= set(TEXTS)


def test_a_repaired_session_is_written_beside_the_broken_one(tmp_path: Path) -> None:
    path = five().write(tmp_path)
    path.write_bytes(WAYS["every prompt's parent lost"])
    before = path.stat().st_mtime_ns
    written = plan(clew.read(path)).repair().write()
    assert restored_prompts(clew.read(written.path)) == (5, 5, 5, 5)
    assert path.stat().st_mtime_ns == before and path.read_bytes() == WAYS["every prompt's parent lost"]


def test_a_call_inside_is_answered_by_an_error_where_its_result_would_stand() -> None:
    made = mended(WAYS["a result lost"])
    call = next(c for c in made.calls if c.input == {"command": "ls two"} or "two" in str(c.input))
    assert call.failed and "not in the session" in call.output
    sent = request(made).messages
    at = next(i for i, m in enumerate(sent) if any(b.get("id") == call.id for b in m["content"]))
    assert sent[at + 1]["content"][0]["tool_use_id"] == call.id


def test_one_of_parallel_calls_is_answered(tmp_path: Path) -> None:
    told = talk().user("go").reply("So:", calls=[bash("a"), bash("b"), bash("c")]).result("A", for_=0)
    told = told.result("C", for_=2).reply("done").user("more").reply("yes")
    made = mended(told.bytes())
    assert [c.output[:10] for c in made.calls] == ["A", "The result", "C"]
    sent = request(made).messages
    assert [b["type"] for b in sent[2]["content"]] == ["tool_result"] * 3
    assert len(made.turns) == 2


def test_a_last_call_that_may_be_waiting_is_left_alone() -> None:
    told = talk().user("go").reply("So:", call=bash("a"))
    assert repair(plan(Session(told.bytes())))[1] == ()
    spoken = told.user("and?").reply("yes")
    assert [fix.name for fix in repair(plan(Session(spoken.bytes())))[1]] == ["call"]


def test_the_words_of_a_result_whose_call_is_lost_are_kept() -> None:
    made = mended(WAYS["a call lost"])
    texts = [b["text"] for m in request(made).messages for b in m["content"] if b["type"] == "text"]
    assert any("a two" in text and "call that is not in the session" in text for text in texts)


@pytest.mark.parametrize("way", ["one id for two calls", "a call twice in a reply", "a result twice"])
def test_each_call_is_there_once_with_its_own_result(way: str) -> None:
    made = mended(WAYS[way])
    assert [call.output for call in made.calls] == [f"a {said}" for said in PROMPTS]
    assert all(not call.extras for call in made.calls)
    assert sum(len(entry.uses) for entry in made.entries) == len(PROMPTS)


@pytest.mark.req("R303")
@pytest.mark.parametrize("way", ["every prompt's parent lost", "a ring", "two prompts with one uuid", "a result lost"])
def test_lines_that_nobody_knows_stay(way: str) -> None:
    odd = b'{"type":"novelty","what":[1]}\n{"type":"novelty","uuid":"n1","parentUuid":null,"what":2}\n'
    made = mended(odd + WAYS[way] + odd.splitlines(keepends=True)[0])
    assert [e.data["what"] for e in made.entries if e.type == "novelty"] == [[1], 2, [1]]


def test_what_is_damaged_in_an_agents_file_is_saved_too(tmp_path: Path) -> None:
    child = talk().user("Find it.").reply(call=bash("ls")).result("x").reply("Found.")
    path = talk().user("go").reply(call=task("Find", "Find it.")).agent(0, child).reply("ok").write(tmp_path)
    (agent,) = tmp_path.rglob("agent-*.jsonl")
    raw = agent.read_bytes().splitlines(keepends=True)
    agent.write_bytes(raw[0] + raw[1].rstrip(b"\n") + b"".join(raw[2:]))
    made, fixes = repair(plan(clew.read(path)))
    assert [fix.name for fix in fixes] == ["agent"]
    (copy,) = clew.read(made.write().path).agents
    assert copy.session.damage == () and len(copy.session.entries) == len(raw)


def branched() -> Talk:
    told = five("2.1.325").last_prompt().rewind(to=3).user("other").reply("so")
    return told.last_prompt()


@pytest.mark.parametrize("told", [five("2.0.50"), five("2.1.29"), five("2.1.325"), branched()])
def test_a_sound_session_is_left_alone(told: Talk) -> None:
    made, fixes = repair(plan(Session(told.bytes())))
    assert fixes == () and made.steps == ()


@given(told=talks(), data=st.data())
@settings(max_examples=60)
def test_any_lines_lost_are_made_up_for(told: Talk, data: st.DataObject) -> None:
    """Whatever lines are gone: no parent is missing afterwards, no result stands alone, nothing is lost that was there."""
    raw = told.lines()
    lost = data.draw(st.sets(st.integers(0, len(raw) - 1), max_size=4))
    source = Session(b"".join(line for number, line in enumerate(raw) if number not in lost))
    made, _ = repair(plan(source))
    after = health(made.session)
    assert after.of("dangling", "cycle", "duplicate", "gap", "result") == ()
    assert made.violations == () or not source.prompts  # without a prompt there is nothing to resume
    assert restored_prompts(made.session)[-1] >= restored_prompts(source)[-1]
    kept = {e.uuid for e in made.session.entries}
    assert {e.uuid for e in source.prompts} <= kept


def test_a_conversation_whose_first_prompt_is_lost_begins_with_the_next_one() -> None:
    told = (
        talk()
        .user("lost")
        .reply(call=bash("ls"))
        .result("x")
        .reply("yes")
        .user("second")
        .reply("b")
        .user("third")
        .reply("c")
    )
    for clock in (told, talk(step=DENSE).user("lost").reply("yes").user("second").reply("b").user("third").reply("c")):
        source = Session(b"".join(clock.lines()[1:]))
        made, fixes = repair(plan(source))
        assert "beginning" in [fix.name for fix in fixes] and made.violations == ()
        assert [turn.text for turn in made.session.turns] == ["second", "third"]
        assert request(made.session).messages[0]["role"] == "user"
        assert {e.uuid for e in source.entries} <= {e.uuid for e in made.session.entries}
        assert repair(plan(Session(made.session.items)))[1] == ()


BLANK_TEXTS = {
    "a prompt": (talk().user("a").reply("b").user(" \n\t ").reply("c"), 3),
    "the first prompt": (talk().user("\u00a0").reply("c"), 1),
    "the only prompt": (talk().user("  "), 1),
    "a text before a call": (talk().user("a").reply("\n\n", call=bash("ls"), joined=True).result("x").reply("c"), 2),
}


@pytest.mark.parametrize("name", BLANK_TEXTS)
def test_a_text_of_nothing_but_white_space_is_flagged_and_replaced(name: str) -> None:
    told, line = BLANK_TEXTS[name]
    before = Session(told.bytes())
    found = health(before)
    assert found.verdict == "damaged" and [flaw.line for flaw in found.of("blank")] == [line]
    assert [v.rule for v in lint(request(before).messages) if v.is_refused] == ["blank"]
    made = plan(before).repair()
    assert health(made.session).verdict == "sound"
    assert [v for v in lint(made.request.messages) if v.is_refused] == []
    assert len(made.session.prompts) == len(before.prompts) and made.violations == ()
    assert plan(made.session).repair().session is made.session


def test_a_blank_text_that_is_not_sent_is_no_flaw() -> None:
    told = talk().user("a").reply("\n\n", call=bash("ls")).result("x").reply("c")
    assert health(Session(told.bytes())).verdict == "sound"


def test_branches_below_a_lost_line_join_in_the_same_place() -> None:
    told = talk().user("one").reply("1").user("two").reply("2").user("left").reply("3")
    told = told.rewind(to=3).user("on").reply("4")
    lines = told.lines()
    made = (
        plan(Session(b"".join(lines[:3] + lines[4:]))).repair().session
    )  # without the reply that both branches follow
    assert [turn.text for turn in made.turns] == ["one", "two", "on"]


def one_uuid(count: int) -> list[Json]:
    """Replies that share a uuid, each with a prompt below it."""
    pairs = ((reply("a", "p", text(f"No. {i}.")), user(f"q{i}", "a", "Again.")) for i in range(count))
    return [user("p", None, "Go on."), *(line for pair in pairs for line in pair)]


def no_parents(count: int) -> list[Json]:
    """Turns whose parents are missing, in a file that begins with its last reply."""
    pairs = ((user(f"q{i}", f"gone{i}", f"No. {i}."), reply(f"a{i}", f"q{i}", text("Done."))) for i in range(count))
    lines = [line for pair in pairs for line in pair]
    return [reply("z", "end", text("Good.")), *lines, user("end", f"a{count - 1}", "So?")]


@pytest.mark.parametrize(("flaw", "shape"), [("duplicate", one_uuid), ("parent", no_parents)])
def test_a_flaw_is_repaired_in_linear_time(flaw: str, shape: Callable[[int], list[Json]]) -> None:
    def prepare(count: int) -> Work:
        session = Session(written(shape(count)))
        assert session.graph.problems and session.links
        return lambda: FIXES[flaw](session)

    assert_linear(prepare, 50)
