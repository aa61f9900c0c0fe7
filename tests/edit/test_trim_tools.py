"""Tools: calls and results go together or are made short, by name, age and share; the rest stays as it was."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import clew
from clew.conversation.parent_links import link_entries
from clew.conversation.session import Session
from clew.demo.talk import DENSE, Talk, bash, grep, read, talk, task, tool
from clew.edit.plan import Plan, plan
from clew.edit.trim_presets import Trim
from clew.edit.trim_tools import CHARACTERS, LINES, Tools, truncate
from clew.facts.context_size import prompt_tokens
from clew.wire.entry import Entry
from clew.wire.json_splice import extract

LONG = "\n".join(f"line {n} of a long output" for n in range(200))


def session(told: Talk) -> Session:
    return Session(told.bytes())


def turns(count: int, told: Talk | None = None) -> Talk:
    """Turns of a prompt, a call with a long result, and an answer."""
    told = told or talk()
    for number in range(count):
        told = told.user(f"question {number}").reply(f"looking {number}", call=bash(f"look {number}")).result(LONG)
        told = told.reply(f"answer {number}")
    return told


def commands(made: Plan | Session) -> list[str]:
    found = made.session if isinstance(made, Plan) else made
    return [call.input["command"] for call in found.calls if "command" in call.input]


def said(entries: Iterable[Entry]) -> list[str]:
    return [e.text for e in entries if e.text]


# -- removing


@pytest.mark.req("R287", "R288", "R291")
def test_a_call_goes_with_its_result_and_its_empty_entries() -> None:
    before = session(turns(2))
    made = plan(before).strip_tools()
    assert commands(made) == []
    assert not made.session.pairing.orphans
    assert len(before.entries) - len(made.session.entries) == 4
    assert said(made.session.active) == said(before.active)
    assert made.violations == ()


@pytest.mark.req("R288")
def test_an_entry_with_other_blocks_keeps_them() -> None:
    before = session(turns(1, talk().user("go").reply("first", call=bash("ls"), joined=True).result("x").reply("then")))
    made = plan(before).strip_tools(names=["Bash"])
    entry = made.session.turns[0].entries[1]
    assert [b.type for b in entry.blocks] == ["text"]
    assert entry.text == "first"


@pytest.mark.req("R288")
def test_a_reply_left_with_nothing_but_thinking_goes() -> None:
    before = session(
        talk().user("go").reply(thinking="Hm.", call=bash("ls")).result("x").reply("Done.", thinking="So.")
    )
    made = plan(before).strip_tools()
    assert [b.type for e in made.session.entries for b in e.blocks] == ["text", "thinking", "text"]


THOUGHT = {"type": "thinking", "thinking": "And now?", "signature": "c2ln"}
FALLBACK = {"type": "fallback", "from": {"model": "claude-fable-5"}, "to": {"model": "claude-opus-5-5"}}


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize(
    ("blocks", "left"),
    [
        ([{"type": "text", "text": "So."}, THOUGHT], ["text"]),
        ([THOUGHT, {"type": "text", "text": "So."}, THOUGHT, THOUGHT], ["thinking", "text"]),
        ([{"type": "text", "text": "So."}, FALLBACK, THOUGHT], ["text", "fallback"]),
        ([FALLBACK, THOUGHT], []),
        ([FALLBACK], []),
    ],
)
def test_thinking_right_before_a_removed_call_goes_with_it(blocks: list[Any], left: list[str], joined: bool) -> None:
    told = talk().user("one").reply(blocks=blocks, call=bash("ls"), joined=joined).result("x").reply("done").user("two")
    made = plan(session(told.reply("end"))).strip_tools()
    assert made.violations == ()
    found = [block.type for reply in made.session.turns[0].replies for block in reply.blocks]
    assert found == [*left, "text"]


def test_what_stood_beside_a_result_does_not_become_a_prompt() -> None:
    told = talk().user("go").reply(call=bash("ls"))
    use = told.uses[0].id
    both = [{"type": "tool_result", "tool_use_id": use, "content": "x"}, {"type": "text", "text": "mind the step"}]
    before = session(told.user(both, toolUseResult="x").reply("Done."))
    assert len(before.turns) == 1
    made = plan(before).strip_tools()
    assert [turn.text for turn in made.session.turns] == ["go"]
    assert "mind the step" in said(made.session.active)


@pytest.mark.req("R287")
def test_the_last_turns_with_tools_are_spared() -> None:
    before = session(turns(4).user("thanks").reply("welcome"))
    assert commands(plan(before).strip_tools(keep=2)) == ["look 2", "look 3"]
    assert commands(plan(before).strip_tools(keep=9)) == [f"look {n}" for n in range(4)]
    assert commands(plan(before).strip_tools(keep=0)) == []


@pytest.mark.req("R287")
def test_the_last_calls_are_spared() -> None:
    assert commands(plan(session(turns(4))).strip_tools(calls=3)) == ["look 1", "look 2", "look 3"]


@pytest.mark.req("R287")
@pytest.mark.parametrize(("percent", "left"), [(0, 4), (25, 3), (26, 2), (50, 2), (100, 0)])
def test_the_oldest_share_of_the_turns_loses_its_tools(percent: float, left: int) -> None:
    made = plan(session(turns(4))).strip_tools(percent=percent)
    assert commands(made) == [f"look {n}" for n in range(4 - left, 4)]


@pytest.mark.req("R287")
def test_only_the_tools_that_are_named() -> None:
    told = talk().user("go").reply(calls=[bash("ls"), grep("x"), read("/home/ada/garden/a.py", "x\n")])
    before = session(told.result("a").result("b").result().reply("Done."))
    assert [c.name for c in plan(before).strip_tools(names=["Bash", "Gr*"]).session.calls] == ["Read"]


@pytest.mark.req("R287")
def test_several_conditions_spare_what_one_of_them_spares() -> None:
    made = plan(session(turns(10))).strip_tools(percent=90, keep=3)
    assert commands(made) == ["look 7", "look 8", "look 9"]


@pytest.mark.req("R291")
def test_parallel_calls_lose_their_results_across_the_cut() -> None:
    told = talk().user("go").reply(calls=[bash("a"), bash("b")]).result("2", for_=1).result("1", for_=0).reply("ok")
    for names in (["Bash"], []):
        made = plan(session(told)).strip_tools(names=names)
        assert not made.session.calls
        assert not made.session.pairing.orphans
        assert made.violations == ()


def test_calls_of_other_branches_go_with_the_old_ones() -> None:
    told = turns(2).rewind(to=2).user("question 1, put better").reply(call=bash("other")).result("x").reply("ok")
    assert commands(plan(session(told)).strip_tools(keep=1)) == ["other"]
    assert commands(plan(session(told)).strip_tools(keep=2)) == ["look 0", "look 1", "other"]


@pytest.mark.req("R289")
def test_later_entries_hang_below_what_is_left() -> None:
    made = plan(session(turns(3))).strip_tools()
    assert not made.session.graph.problems
    assert [e.text for e in made.session.active] == said(made.session.active)


def test_progress_and_hooks_of_a_removed_call_go() -> None:
    told = talk().user("go").reply(call=bash("ls"))
    use = told.uses[0].id
    told = told.progress("bash_progress", output="so far").attachment("hook_success", toolUseID=use, hookName="x")
    told = told.result("x").attachment("date", rendered="Today").reply("ok")
    made = plan(session(told)).strip_tools()
    kinds = [e.type for e in made.session.entries]
    assert kinds == ["user", "attachment", "assistant"]


@pytest.mark.req("R290")
def test_snapshots_of_removed_entries_go() -> None:
    told = talk().snapshot({"a.py": "1"}).user("go").reply(call=bash("ls"))
    told = told.snapshot({"a.py": "2"}, of=told.leaf, update=True).result("x").reply("ok")
    made = plan(session(told)).strip_tools()
    [left] = [e for e in made.session.entries if e.type == "file-history-snapshot"]
    assert left.message_id == made.session.turns[0].prompt.uuid


def test_an_agent_inside_the_file_goes_with_its_call() -> None:
    child = talk().user("Find it.").reply(call=bash("find")).result("x").reply("Found.")
    told = talk(version="1.0.80").user("go").reply(call=task("Find", "Find it.")).agent(0, child).reply("ok")
    before = session(told)
    assert any(e.is_sidechain for e in before.entries)
    made = plan(before).strip_tools(names=["Task"])
    assert not any(e.is_sidechain for e in made.session.entries)
    assert not made.session.calls


def test_the_file_of_a_removed_agent_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    child = talk().user("Find it.").reply(call=bash("find")).result("x").reply("Found.")
    told = talk().user("go").reply(call=task("Find", "Find it.")).agent(0, child).reply("ok")
    told = told.user("more").reply(call=task("Look", "Look.")).agent(0, child, agent_id="a" * 17).reply("ok")
    use = next(c.id for c in session(told).calls if c.name == "Agent")
    path = told.file(f"{{project}}/{{session}}/tool-results/{use}.txt", b"long").write(tmp_path / "claude")
    before = clew.read(path)
    assert len(before.agents) == 2
    written = clew.read(plan(before).strip_tools(keep=1).write().path)
    assert [a.id for a in written.agents] == ["a" * 17]
    assert written.path is not None
    assert not list(written.path.with_suffix("").glob("tool-results/*"))


# -- what waits


def contents(session: Session) -> list[bytes]:
    """What is said in the last turn, to the byte."""
    return [extract(e.line.json, "message", "content") for e in session.turns[-1].entries]


@pytest.mark.parametrize("how", ["remove", "truncate"])
def test_a_call_without_a_result_at_the_end_is_left_alone(how: Any) -> None:
    told = turns(1).user("go").reply(thinking="Hm.", calls=[bash("a" * 500), bash("b")]).result(LONG, for_=1)
    before = session(told)
    made = plan(before).trim(Trim(Tools(how), thinking=True))
    assert contents(made.session) == contents(before)


def test_results_that_the_model_has_not_seen_are_left_alone() -> None:
    before = session(turns(1).user("go").reply("so", thinking="Hm.", call=bash("ls")).result(LONG))
    made = plan(before).trim(Trim(Tools("truncate"), thinking=True))
    assert contents(made.session) == contents(before)
    assert commands(plan(before).strip_tools()) == ["ls"]


def test_a_call_that_was_never_answered_goes_from_an_older_turn() -> None:
    before = session(talk().user("go").reply("so", call=bash("ls")).interrupt(in_tool=True).user("on").reply("ok"))
    made = plan(before).strip_tools()
    assert not made.session.calls
    assert made.violations == ()


# -- truncating


def test_truncated_calls_and_results_stay_paired() -> None:
    before = session(turns(2, talk().user("go").reply(call=bash("x" * 500)).result("short").reply("ok")))
    made = plan(before).strip_tools(how="truncate")
    assert [c.id for c in made.session.calls] == [c.id for c in before.calls]
    assert len(made.session.entries) == len(before.entries)
    for call in made.session.calls:
        assert len(call.output) <= CHARACTERS
        assert call.output.count("\n") < LINES
        assert len(call.input["command"]) <= CHARACTERS
    assert made.session.calls[0].output == "short"
    assert made.session.calls[1].output.startswith("line 0 of a long output\nline 1")


@pytest.mark.parametrize("text", ["", "a\nb", "a\nb\nc", "x" * 120, "x" * 121, "🙂" * 300, "\n" * 9, " " * 500, LONG])
def test_truncating_twice_is_truncating_once(text: str) -> None:
    short = truncate(text)
    assert truncate(short) == short
    assert len(short) <= min(len(text), CHARACTERS)
    assert short == text or len(text) > CHARACTERS or text.count("\n") >= LINES


def test_a_truncated_result_of_many_parts_is_one_text_with_notes_for_pictures() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 400}}
    parts: list[dict[str, Any]] = [
        {"type": "text", "text": "Here:"},
        picture,
        {"type": "tool_reference", "tool_name": "x"},
    ]
    before = session(talk().user("go").reply(call=bash("ls")).result(parts).reply("ok"))
    made = plan(before).strip_tools(how="truncate")
    [call] = made.session.calls
    assert call.result is not None
    assert call.result.content == [
        {"type": "text", "text": "Here:\n[image removed: image/png, 1,200 bytes]"},
        {"type": "tool_reference", "tool_name": "x"},
    ]
    assert made.strip_tools(how="truncate").session.items == made.session.items


def test_deep_inputs_are_truncated_too() -> None:
    deep: Any = "x" * 400
    for _ in range(20):
        deep = [{"in": deep}]
    before = session(talk().user("go").reply(call=tool("X", a=deep)).result("ok").reply("ok"))
    made = plan(before).strip_tools(how="truncate")
    assert "x" * 200 not in made.session.entries[1].raw.decode()


# -- the rest stays


def test_other_lines_keep_their_bytes() -> None:
    before = session(turns(3).title("The gate").line({"type": "never-seen", "tool_use_id": "x"}))
    made = plan(before).strip_tools(keep=1)
    old = {e.raw for e in before.entries}
    changed = [e for e in made.session.entries if e.raw not in old]
    links = [json.loads(e.raw) for e in changed]
    for data, entry in zip(links, changed, strict=True):
        was = next(json.loads(e.raw) for e in before.entries if e.uuid == entry.uuid)
        names = {k for k in data if data[k] != was.get(k)}
        assert names <= {"parentUuid", "message"}
        if "message" in names:  # the last reply alone, which tells the new size
            data["message"]["usage"] = was["message"]["usage"] = None
            assert data["message"] == was["message"]
            assert entry.text == "answer 2"


def test_the_last_reply_tells_the_new_size() -> None:
    before = session(turns(4))
    made = plan(before).strip_tools(keep=1)
    was, now = before.replies[-1].tokens, made.session.replies[-1].tokens
    assert was and now
    assert now.output_tokens == was.output_tokens
    told = [prompt_tokens(tokens) for tokens in (was, now)]
    report = made.report()
    less = report.before.context.tokens - report.after.context.tokens
    assert told[0] - told[1] == pytest.approx(less, abs=5)
    assert less > 500
    assert [r.tokens for r in made.session.replies[:-1]] == [
        r.tokens for r in before.replies[:-1] if r.id in {x.id for x in made.session.replies}
    ]


def test_what_is_sent_alike_tells_no_new_size() -> None:
    before = session(turns(2).line({"type": "mode", "mode": "a"}).line({"type": "mode", "mode": "b"}))
    made = plan(before).trim("light")
    assert clew.request(made.session).messages == clew.request(before).messages
    assert [r.tokens for r in made.session.replies] == [r.tokens for r in before.replies]


def test_removing_calls_takes_results_along_that_answer_none() -> None:
    told = talk(step=DENSE).user("one").reply(call=bash("ls")).result("a").reply("so")
    told = told.user("two").reply(call=bash("lost"))
    lines = told.result("stray").reply("then").user("three").reply("end").lines()
    session = Session(b"".join(line for line in lines if b'"command":"lost"' not in line))
    assert len(session.pairing.orphans) == 1
    made = plan(session).strip_tools().session
    assert not any(entry.results for entry in made.entries)
    assert [turn.text for turn in made.turns] == ["one", "two", "three"]


def test_a_trim_links_each_session_once(tmp_path: Path) -> None:
    """Three sessions: the original, the trimmed one, and the same with its usage restated."""
    before = clew.read(turns(30).write(tmp_path))
    linked = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal linked
        linked += event == "call" and frame.f_code is link_entries.__code__

    sys.setprofile(count)
    try:
        trimmed = plan(before).trim("fit")
        trimmed.report()
        trimmed.write()
    finally:
        sys.setprofile(None)
    assert linked == 3
