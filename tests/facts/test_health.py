"""The state of a session: damage, odd links, lost prompts, and what each version would bring back."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.conversation.load import find, read
from clew.conversation.session import Session
from clew.demo.talk import ABSENT, DENSE, NIL, Talk, bash, edit, talk, task
from clew.facts.health import BROKEN, DAMAGED, LOSES, SOUND, VERDICTS, VERSIONS, Health, health
from clew.facts.inventory import inventory
from clew.wire.json_codec import encode

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
NEWEST = VERSIONS[-1]


def checked(told: Talk, *versions: str) -> Health:
    return health(Session(told.bytes()), versions or VERSIONS)


def three(version: str = "2.1.232", step: timedelta | None = None) -> Talk:
    """Three turns, the second with a call."""
    told = talk(version=version, step=step).user("one").reply("first")
    return told.user("two").reply("look", call=bash("ls")).result("a").reply("second").user("three").reply("third")


def without(told: Talk, *numbers: int) -> bytes:
    """The file without some of its lines, counted from 1."""
    return b"".join(line for number, line in enumerate(told.lines(), 1) if number not in numbers)


# -- sessions with nothing wrong


@pytest.mark.req("R347")
@pytest.mark.parametrize(
    "version", ["2.0.36", "2.0.37", "2.0.42", "2.0.50", "2.0.76", "2.1.4", "2.1.29", "2.1.45", "2.1.325"]
)
def test_a_whole_session_of_any_version_is_sound(version: str) -> None:
    found = checked(three(version))
    assert found.verdict == SOUND
    assert (found.damage, found.flaws, found.prompts.lost) == ((), (), ())
    assert [(r.version, r.is_resumable, r.kept, r.due, r.share) for r in found.resumes] == [
        (asked, True, 3, 3, 1.0) for asked in VERSIONS
    ]


def test_prompts_on_a_branch_that_was_left_are_not_lost() -> None:
    told = three("2.1.325").last_prompt().last_prompt(leaf=NIL, explicit=True).rewind(to=2).user("other").reply("yes")
    found = checked(told)
    assert found.verdict == SOUND
    assert (found.prompts.total, found.prompts.reachable, found.prompts.left) == (4, 2, 2)
    assert found.prompts.reachable_share == 0.5


def test_a_branch_from_before_the_first_prompt_is_one_that_was_left() -> None:
    found = checked(talk().user("one").reply("a").rewind(to=1).user("again").reply("b"))
    assert (found.verdict, found.prompts.left, found.prompts.lost) == (SOUND, 1, ())


def test_a_branch_below_a_hooks_progress_is_one_that_was_left() -> None:
    told = talk(version="2.1.29").progress("hook_progress").progress("hook_progress").user("one").reply("a")
    found = checked(told.rewind(to=1).user("again").reply("b"))
    assert (found.verdict, found.prompts.left, found.prompts.lost) == (SOUND, 1, ())


def test_prompts_before_a_compaction_are_not_lost() -> None:
    found = checked(three().compact("what was said").user("four").reply("fourth"))
    assert found.verdict == SOUND
    assert (found.prompts.total, found.prompts.reachable, found.prompts.context, found.prompts.compacted) == (
        4,
        4,
        1,
        3,
    )
    assert found.prompts.context_share == 0.25
    assert all((r.kept, r.due) == (1, 1) for r in found.resumes)


def test_messages_that_a_compaction_kept_are_lost_to_versions_that_do_not_know_of_it() -> None:
    found = checked(three("2.1.325").compact("what was said", keep=2).user("four").reply("fourth"))
    assert found.verdict == SOUND
    assert (found.prompts.context, found.prompts.compacted) == (2, 2)
    assert [(r.kept, len(r.lost)) for r in found.resumes] == [(1, 1), (1, 1), (1, 1), (2, 0)]


def test_a_file_that_holds_only_state_is_sound() -> None:
    found = checked(talk().summary_line("a title", leaf="somewhere else").title("mine"))
    assert (found.verdict, found.is_conversation) == (SOUND, False)
    assert health(Session(b"")).verdict == SOUND


def test_an_agents_own_file_is_judged_without_a_resume(tmp_path: Path) -> None:
    path = delegated().write(tmp_path)
    agent = next(path.with_suffix("").rglob("agent-*.jsonl"))
    found = health(read(agent))
    assert (found.verdict, found.is_agent, found.resumes, found.prompts.reachable) == (SOUND, True, (), 1)


# -- damaged lines


@pytest.mark.req("R051")
def test_a_malformed_line_is_counted_and_reported_with_its_number_and_place() -> None:
    whole = three()
    start = len(b"".join(whole.lines()[:2]))
    found = health(Session(b"".join([*whole.lines()[:2], b"{no json}\n", *whole.lines()[2:]])))
    assert [(d.line, d.offset, d.kind, d.saved) for d in found.damage] == [(3, start, "unreadable", 0)]
    assert found.damage[0].reason
    assert found.prompts.total == found.prompts.reachable == 3
    assert found.verdict == DAMAGED


def test_joined_lines_are_damaged_but_resumable_when_the_newest_version_goes_on_past_what_it_does_not_see() -> None:
    told = talk(step=DENSE).user("one").reply("first").user("two").reply("second")
    found = health(Session(told.lines()[0].rstrip(b"\n") + b"".join(told.lines()[1:])))
    assert [(d.kind, d.saved) for d in found.damage] == [("joined", 2)]
    assert (found.verdict, found.prompts.lost) == (DAMAGED, ())
    assert [r.lost for r in found.resumes] == [(1,), (1,), (1,), ()]


def test_joined_lines_lose_a_prompt_when_the_next_one_came_minutes_later() -> None:
    told = talk().user("one").reply("first").user("two").reply("second")
    found = health(Session(told.lines()[0].rstrip(b"\n") + b"".join(told.lines()[1:])))
    assert (found.verdict, found.prompts.lost) == (LOSES, (1,))
    assert [r.lost for r in found.resumes] == [(1,)] * 4


def test_a_prompt_that_is_the_second_on_its_line_is_lost() -> None:
    for step, lost in ((DENSE, (2,)), (None, (1, 2))):  # what came minutes before the next reply is lost with it
        told = talk(step=step).user("one").reply("first").user("two").reply("second")
        first, reply, *rest = told.lines()
        found = health(Session(first + reply.rstrip(b"\n") + b"".join(rest)))
        assert (found.verdict, found.prompts.lost, found.prompts.reachable) == (LOSES, lost, 2)


def test_a_prompt_saved_from_a_spliced_line_is_lost_to_every_version() -> None:
    lines = three(step=DENSE).lines()
    found = health(Session(b"".join([*lines[:2], lines[1][:40], *lines[2:]])))
    assert [(d.line, d.kind, d.saved) for d in found.damage] == [(3, "spliced", 1)]
    assert (found.verdict, found.prompts.lost, found.prompts.reachable) == (LOSES, (3,), 3)
    assert all(r.lost == (3,) or r.lost == (1, 3) for r in found.resumes)


def test_nul_bytes_and_a_torn_end_are_told_apart() -> None:
    found = checked(three().raw(b"\0" * 64 + b"\n").raw(b'{"parentUuid":"x","type":"assistant","message":{"rol'))
    assert [(d.kind, d.saved, d.prompt) for d in found.damage] == [("nul", 0, False), ("torn", 0, False)]
    assert found.verdict == DAMAGED


def test_an_unreadable_line_that_looks_like_a_prompt_is_a_lost_prompt() -> None:
    found = checked(three().raw(b'{"parentUuid":"x","type":"user","message":{"role":"user","content":"wh'))
    assert (found.verdict, found.prompts.lost) == (LOSES, (10,))
    result = checked(three().raw(b'{"type":"user","message":{"content":[{"type":"tool_result","con'))
    assert (result.verdict, result.prompts.lost) == (DAMAGED, ())
    before = checked(three().raw(b'{"type":"user","message":"x"\n').compact("in short").user("four").reply("d"))
    assert (before.verdict, before.prompts.lost) == (DAMAGED, ())


def test_nothing_but_damage_is_broken() -> None:
    found = health(Session(b'{"type":"user"\n'))
    assert (found.verdict, found.is_conversation, len(found.damage)) == (BROKEN, False, 1)


def test_a_session_that_the_newest_version_refuses_is_broken() -> None:
    found = checked(talk().user("one").reply("a", timestamp=ABSENT))
    assert (found.verdict, found.refusal) == (BROKEN, "the last message has no time")
    assert [r.is_resumable for r in found.resumes] == [True, True, True, False]


def test_lines_read_leniently_are_told_with_the_reason() -> None:
    odd = checked(talk().user("one").reply("a", requestId=5))
    assert [(f.kind, f.line) for f in odd.flaws] == [("lenient", 2)]
    assert odd.flaws[0].text.startswith("unexpected type")
    assert odd.verdict == SOUND
    bad = health(Session(talk().user("caf!").reply("a").bytes().replace(b"caf!", b"caf\xff")))
    assert ([f.text for f in bad.of("lenient")], bad.verdict) == (["invalid UTF-8"], DAMAGED)


# -- broken links


@pytest.mark.req("R148")
def test_a_missing_parent_is_bridged_by_new_versions_and_ends_the_path_in_old_ones() -> None:
    session = Session(without(three(), 4))
    found = health(session)
    assert [(f.kind, f.line) for f in found.of("dangling", "cycle")] == [("dangling", 4)]
    assert found.verdict == DAMAGED
    assert [(r.kept, r.lost) for r in found.resumes] == [(1, (1, 3))] * 3 + [(3, ())]
    older = health(session, ["2.1.45"])
    assert (older.verdict, older.judged, older.prompts.lost) == (LOSES, "2.1.45", (1, 3))


@pytest.mark.req("R148")
@pytest.mark.timeout(20)
def test_cycles_neither_hang_nor_crash() -> None:
    data = three().data()
    data[0]["parentUuid"] = data[3]["uuid"]
    found = health(Session(b"".join(encode(d) + b"\n" for d in data)))
    assert [(f.kind, f.line) for f in found.flaws] == [("cycle", 1)]
    assert (found.verdict, found.prompts.reachable) == (DAMAGED, 3)
    assert ["hangs" in r.refusal for r in found.resumes] == [True, True, False, False]


@pytest.mark.req("R148")
@pytest.mark.timeout(20)
def test_what_a_cycle_cuts_off_is_lost() -> None:
    data = three(step=DENSE).data()
    data[2]["parentUuid"] = data[3]["uuid"]
    near = health(Session(b"".join(encode(d) + b"\n" for d in data)))
    assert (near.verdict, near.prompts.lost) == (DAMAGED, ())
    data[0]["timestamp"] = data[1]["timestamp"] = "2026-01-05T08:00:00.000Z"
    found = health(Session(b"".join(encode(d) + b"\n" for d in data)))
    assert (found.verdict, found.prompts.lost, found.prompts.left) == (LOSES, (1,), 0)


def test_entries_without_a_uuid_hide_each_other() -> None:
    found = checked(talk().user("one", uuid=ABSENT).user("two", uuid=ABSENT).user("three").reply("c"))
    assert found.prompts.total == 3
    assert found.verdict == LOSES


def test_a_repeated_uuid_is_told_and_the_prompt_counts_once() -> None:
    told = talk().user("one").reply("a")
    found = health(Session(told.bytes() + told.bytes()))
    assert [(f.kind, f.line) for f in found.of("duplicate")] == [("duplicate", 3), ("duplicate", 4)]
    assert (found.verdict, found.prompts.total) == (DAMAGED, 1)


def test_a_parent_that_is_no_part_of_the_conversation_is_a_gap() -> None:
    told = talk(step=DENSE).user("one").reply("a")
    told = (
        told.line({"type": "x-new", "uuid": "n1", "parentUuid": told.data()[-1]["uuid"]})
        .at("n1")
        .user("two")
        .reply("b")
    )
    found = checked(told)
    assert [(f.kind, f.line) for f in found.flaws] == [("gap", 4)]
    assert (found.verdict, found.resumes[0].lost) == (DAMAGED, (1,))


@settings(deadline=None)
@given(st.data())
def test_every_prompt_has_one_fate_whatever_the_parents_say(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 9))
    names = [f"u{n}" for n in range(count)]
    entries: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        parent = data.draw(st.sampled_from([None, "missing", *names]))
        spoken = data.draw(st.sampled_from(["user", "assistant", "system", "progress", "x-new"]))
        message = {"role": spoken, "id": name, "content": "hi"}
        entries.append({"type": spoken, "uuid": name, "parentUuid": parent, "message": message})
        entries[-1]["timestamp"] = f"2026-01-01T00:00:{number:02}.000Z"
    assert_one_fate(entries)


def test_a_prompt_that_a_resume_skips_is_not_reachable() -> None:
    parents = [None, "u5", "u6", None, "missing", "missing", "missing", "u1"]
    kinds = ["progress" if number == 3 else "user" for number in range(len(parents))]
    entries: list[dict[str, Any]] = [
        {"type": kind, "uuid": f"u{number}", "parentUuid": parent, "message": {"role": kind, "content": "hi"}}
        for number, (kind, parent) in enumerate(zip(kinds, parents, strict=True))
    ]
    for number, entry in enumerate(entries):
        entry["timestamp"] = f"2026-01-01T00:00:{number:02}.000Z"
    found = assert_one_fate(entries)
    assert (found.prompts.reachable, found.prompts.lost) == (6, (1,))


def assert_one_fate(entries: list[dict[str, Any]]) -> Health:
    found = health(Session(b"".join(encode(e) + b"\n" for e in entries)))
    made = found.prompts
    assert found.verdict in VERDICTS
    assert made.total == sum(e["type"] == "user" for e in entries)
    assert made.total - made.reachable - made.left == found.resumes[-1].due - made.context
    assert made.context + made.compacted == made.reachable
    assert all(0 <= r.share <= 1 and len(r.lost) <= r.due for r in found.resumes)
    return found


@pytest.mark.timeout(60)
def test_a_long_session_with_many_branches_is_checked_in_one_pass() -> None:
    lines, above = [], None
    for number in range(6000):
        entry = {"type": "user", "uuid": f"u{number}", "parentUuid": above, "timestamp": "2026-01-01T00:00:00.000Z"}
        lines.append(encode({**entry, "message": {"role": "user", "content": "hi"}}))
        above = above if number % 3 == 2 and number < 5990 else f"u{number}"
    found = health(Session(b"\n".join(lines)), [NEWEST])
    assert found.prompts.left > 1900
    assert found.prompts.total == found.prompts.reachable + found.prompts.left == 6000


# -- calls, results, agents


@pytest.mark.req("R168")
def test_calls_without_result_and_results_without_call_are_reported() -> None:
    told = talk().user("go").reply("two", calls=[bash("ls"), bash("pwd")]).result("a", for_=0).reply("hm")
    told = told.user("on").reply(call=bash("w").with_id("toolu_x")).result("x").reply("done")
    lines = [line for line in told.lines() if b'"tool_use","id":"toolu_x"' not in line]
    found = health(Session(b"".join(lines)))
    assert [(f.kind, f.line) for f in found.of("call", "result")] == [("call", 4), ("result", 8)]
    assert "Bash" in found.of("call")[0].text


@pytest.mark.req("R168")
def test_a_second_result_for_a_call_is_reported_as_one_too_many() -> None:
    told = (
        talk().user("go").reply(call=bash("ls").with_id("t1")).result("a", for_="t1").result("b", for_="t1").reply("ok")
    )
    assert [(f.kind, f.line) for f in checked(told).flaws] == [("extra", 4)]


def delegated(agent_id: str = "a1b2c3d4e5f60718a") -> Talk:
    child = talk(seed="child").user("find it").reply("found")
    told = talk().user("go").reply(call=task("look", "find it"))
    return told.agent(None, child, agent_id=agent_id).reply("done")


def test_an_agent_under_its_call_is_no_flaw(tmp_path: Path) -> None:
    found = health(read(delegated().write(tmp_path)))
    assert (found.agents, found.flaws, found.verdict) == (1, (), SOUND)


@pytest.mark.req("R198")
def test_an_agent_file_whose_entries_carry_another_id_is_reported(tmp_path: Path) -> None:
    path = delegated().write(tmp_path)
    agent = next(path.with_suffix("").rglob("agent-*.jsonl"))
    agent.rename(agent.with_name("agent-a000.jsonl"))
    agent.with_suffix(".meta.json").rename(agent.with_name("agent-a000.meta.json"))
    found = health(read(path))
    assert [f.kind for f in found.flaws] == ["name"]
    assert "agent-a000.jsonl" in found.flaws[0].text and "a1b2c3d4e5f60718a" in found.flaws[0].text


def test_an_agent_that_no_call_answers_to_is_reported_unless_the_program_began_it(tmp_path: Path) -> None:
    path = talk(version="2.1.29").user("hi").reply("ho").write(tmp_path)
    stray = path.with_suffix("") / "subagents"
    stray.mkdir(parents=True)
    child = talk(seed="child").user("unasked", isSidechain=True).reply("hm", isSidechain=True).bytes()
    (stray / "agent-abc1234.jsonl").write_bytes(child)
    (stray / "agent-acompact-9f.jsonl").write_bytes(child)
    found = health(read(path))
    assert [(f.kind, f.text) for f in found.flaws] == [("agent", "no call belongs to the agent abc1234")]
    assert (found.agents, found.verdict) == (2, SOUND)


def test_damage_in_an_agents_file_belongs_to_the_session(tmp_path: Path) -> None:
    path = delegated().write(tmp_path)
    agent = next(path.with_suffix("").rglob("agent-*.jsonl"))
    agent.write_bytes(agent.read_bytes() + b"broken\n")
    found = health(find(path.stem, claude=tmp_path))
    assert [(d.agent, d.line, d.kind) for d in found.damage] == [("a1b2c3d4e5f60718a", 3, "unreadable")]
    assert found.verdict == DAMAGED


def test_times_that_run_backwards_are_counted() -> None:
    told = talk().user("one").reply("a").user("two", timestamp="2020-01-01T00:00:00.000Z").reply("b")
    assert checked(told).backward == 1
    assert checked(three()).backward == 0


# -- the inventory


@pytest.mark.req("R056")
def test_versions_are_listed_with_their_counts() -> None:
    told = talk(version="2.0.37").user("one").reply("a").change(version="2.0.42").user("two").reply("b").user("three")
    assert inventory(Session(told.bytes())).versions == {"2.0.37": 2, "2.0.42": 3}


@pytest.mark.req("R087")
@pytest.mark.parametrize("version", ["2.0.42", "2.1.29", "2.1.325"])
def test_the_inventory_equals_an_independent_count(version: str) -> None:
    told = (
        three(version).snapshot({}).user("four").reply("hm", thinking="well", calls=[bash("ls"), edit("a", "b", "c")])
    )
    told = told.result("x").result("y").reply("ok").title("mine").queue("enqueue", "later").raw(b"\n")
    made = inventory(Session(told.bytes()))
    rows = [json.loads(line) for line in told.bytes().splitlines() if line.strip()]
    messages = [r["message"] for r in rows if "message" in r]
    blocks = [b["type"] for m in messages if isinstance(m["content"], list) for b in m["content"]]
    stops = [str(r["message"]["stop_reason"] or "null") for r in rows if r["type"] == "assistant"]
    assert (made.lines, made.blank, made.size) == (len(told.lines()), 1, len(told.bytes()))
    assert made.types == Counter(r["type"] for r in rows)
    assert made.blocks == Counter(blocks)
    assert made.stop_reasons == Counter(stops)
    assert made.calls == blocks.count("tool_use") == 3
    assert made.human_turns == 4


@pytest.mark.req("R180")
def test_the_share_of_tool_results_among_user_entries_is_told() -> None:
    told = talk().user("go")
    for number in range(4):
        told = told.reply(call=bash(f"ls {number}")).result("a")
    assert inventory(Session(told.reply("done").bytes())).result_share == 0.8
    assert inventory(Session(b"")).result_share == 0.0


# -- real files


@pytest.mark.shared
@pytest.mark.req("R051")
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("entireio__cli/@entire_checkpoints_v1/37/995ebed6e4/2/full.jsonl", {"joined"}),
        ("M-Thisness__M-Claude/Archives/18240050-3ee8-41cd-a89a-0a5c4b709607.jsonl", {"unreadable"}),
    ],
)
def test_real_damage_is_found(name: str, kinds: set[str]) -> None:
    path = CORPUS / name
    if not path.is_file():
        pytest.skip("the shared samples are not beside this checkout")
    found = health(read(path))
    assert {d.kind for d in found.damage} == kinds
    assert found.verdict in (DAMAGED, LOSES)
    whole = sum(_is_object(line) for line in path.read_bytes().split(b"\n"))
    assert len(found.damage) == sum(bool(line.strip()) for line in path.read_bytes().split(b"\n")) - whole


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


@pytest.mark.shared
@pytest.mark.req("R180")
def test_most_user_entries_of_real_sessions_are_results() -> None:
    paths = sorted(CORPUS.rglob("*.jsonl"))
    if not paths:
        pytest.skip("the shared samples are not beside this checkout")
    made = [inventory(read(path)) for path in paths]
    users = sum(m.types.get("user", 0) for m in made)
    assert 0.75 < sum(m.result_entries for m in made) / users < 0.95
