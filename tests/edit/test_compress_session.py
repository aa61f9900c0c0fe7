"""Compression: prompts to the byte, older replies shorter, recent turns as they were; and all of it is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given as always
from hypothesis import settings
from hypothesis import strategies as st

import clew
from clew.conversation.load import request
from clew.conversation.resume_request import CONTINUE_PROMPT
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, read, talk, task
from clew.edit.plan import Plan, plan
from clew.edit.summary.compact_boundary import MARK
from clew.edit.summary.summariser import SummaryTask, summarise_by_extract
from clew.errors import ApiError
from clew.facts.context_size import prompt_tokens
from clew.wire.entry import Entry
from clew.wire.entry_types import Compaction, SummaryDetail
from clew.wire.json_splice import extract
from tests.edit.talks import talks

ERAS = ("2.0.50", "2.1.29", "2.1.45", "2.1.80", "2.1.140", "2.1.325")
REPORT = " ".join(f"I looked at pump {n}. The valve in `pump{n}.py` was stuck because of rust." for n in range(12))
LONG = "line of output\n" * 60


def worked(turns: int = 4, told: Talk | None = None) -> Talk:
    """Turns with thinking, two calls at once, and two texts each."""
    told = told or talk()
    for number in range(1, turns + 1):
        told = told.user(f"prompt {number}").reply(
            f"First {number}. {REPORT}", thinking="Hm.", calls=[bash("ls"), CODE]
        )
        told = told.result(LONG, for_=0).result(for_=1).reply(f"{REPORT} Last {number}.").turn_duration()
    return told


CODE = read("/home/ada/garden/pump.py", "x = 1\n" * 80)


def session(told: Talk) -> Session:
    return Session(told.bytes())


def shouted(pieces: Sequence[SummaryTask]) -> list[str | ApiError]:
    """A summariser that says which piece it was given."""
    return [f"SUM of {piece.name} in {piece.limit}" for piece in pieces]


class Recorder:
    """Extracts, and what was asked for."""

    def __init__(self) -> None:
        self.pieces: list[SummaryTask] = []

    def __call__(self, pieces: Sequence[SummaryTask]) -> list[str | ApiError]:
        self.pieces.extend(pieces)
        return summarise_by_extract(pieces)


def sent(made: Plan | Session, version: str = "2.1.325") -> list[str]:
    """What a resume sends, a word for each block."""
    found = request(made.session if isinstance(made, Plan) else made, version)
    return [_word(message["role"][0], block) for message in found.messages for block in message["content"]]


def asked_of(words: list[str]) -> list[str]:
    """The texts of the user, without what the program says where a turn is unfinished."""
    return [word for word in words if word.startswith("u: ") and word != f"u: {CONTINUE_PROMPT}"]


def _word(role: str, block: dict[str, Any]) -> str:
    match block["type"]:
        case "text":
            return f"{role}: {block['text']}".removesuffix("\n")
        case "tool_use":
            return f"{role} {block['name']}"
        case "tool_result":
            return f"{role} = {block['content']}"
    return f"{role} {block['type']}"


def prompt_bytes(made: Session) -> list[bytes]:
    return [extract(e.line.json, "message") for e in made.entries if e.type == "user" and not e.results]


def given_tokens(entry: Entry) -> int:
    assert entry.message and entry.message.usage
    return prompt_tokens(entry.message.usage)


def texts(made: Session) -> list[Entry]:
    return [entry for entry in made.entries if entry.type == "assistant" and MARK in entry.data]


@pytest.mark.req("R294", "R295")
@pytest.mark.parametrize("era", ERAS)
def test_every_version_sends_the_prompts_the_summaries_and_the_recent_turns(era: str) -> None:
    before = session(worked(4))
    made = plan(before).compress(shouted, bands="1:verbatim,1:short,rest:brief")
    recent = sent(session(worked(4)), era)
    assert sent(made, era) == [
        "u: prompt 1",
        "a: SUM of turn 1 in 240\n\n[Calls left out: Bash, Read]",
        "u: prompt 2",
        "a: SUM of turn 2 in 240\n\n[Calls left out: Bash, Read]",
        "u: prompt 3",
        "a: SUM of turn 3 in 700\n\n[Calls left out: Bash, Read]",
        *recent[recent.index("u: prompt 4") :],
    ]
    assert made.violations == ()


@pytest.mark.req("R295")
def test_recent_turns_keep_their_bytes_but_for_the_size_that_the_last_reply_tells() -> None:
    before = session(worked(3))
    made = plan(before).compress(bands="1:verbatim,rest:brief").session
    old, new = ([e for e in s.turns[-1].entries if e.uuid] for s in (before, made))
    assert [extract(e.line.json, "message", "content") for e in old] == [
        extract(e.line.json, "message", "content") for e in new
    ]
    assert [e.uuid for e in old] == [e.uuid for e in new]
    changed = [e for e, was in zip(new, old, strict=True) if e.raw != was.raw]
    assert [e.type for e in changed] == ["assistant"]
    assert given_tokens(changed[0]) < given_tokens(old[-2])


@pytest.mark.req("R297", "R298")
def test_a_boundary_marks_the_place_and_summary_lines_tell_what_was_removed() -> None:
    before = session(worked(3))
    made = plan(before).compress(shouted, bands="1:verbatim,rest:brief").session
    [boundary] = [entry for entry in made.entries if entry.is_boundary]
    facts = Compaction.of(boundary)
    assert (boundary.parent, facts.trigger) == (None, "manual")
    assert facts.pre_tokens and facts.post_tokens and facts.pre_tokens > facts.post_tokens > 0
    last = before.graph.nodes[boundary.logical_parent or ""]
    assert (last.type, last.text) == ("assistant", f"{REPORT} Last 2.")
    assert boundary.logical_parent not in made.graph.nodes
    lines = [entry for entry in made.entries if entry.type == "summary"]
    assert [SummaryDetail.of(line).summary for line in lines][:2] == [
        f"SUM of turn {number} in 240 [Calls left out: Bash, Read]" for number in (1, 2)
    ]
    assert [line.leaf for line in lines][:2] == [entry.uuid for entry in texts(made)]
    assert made.title == before.title


@pytest.mark.req("R296")
def test_calls_can_stay_without_their_results() -> None:
    made = plan(session(worked(2))).compress(shouted, bands="1:verbatim,rest:short", tools="keep")
    assert sent(made)[:6] == [
        "u: prompt 1",
        "a Bash",
        "a Read",
        "u = [900 characters left out]",
        "u = [714 characters left out]",
        "a: SUM of turn 1 in 700",
    ]
    assert made.violations == ()
    result = next(entry for entry in made.session.entries if entry.results)
    assert len(result.raw) < 1000
    assert "line of output" not in result.raw.decode()


@pytest.mark.req("R296")
def test_kept_calls_have_short_inputs_short_results_and_how_errors_began() -> None:
    told = talk().user("go").reply(call=bash("echo " + "x" * 500)).result("short").reply(call=bash("make"))
    told = told.result("Exit code 2\n" + LONG, error=True).reply(REPORT).user("more").reply("end")
    made = plan(session(told)).compress(bands="1:verbatim,rest:brief", tools="keep")
    uses = [call for call in made.session.calls if call.entry.uuid]
    assert [len(str(call.input["command"])) <= 160 for call in uses] == [True, True]
    assert uses[0].output == "short"
    assert uses[1].output.startswith("Exit code 2 line of output") and uses[1].output.endswith("left out]")
    assert uses[1].failed


def test_thinking_goes_from_compressed_turns_alone() -> None:
    made = plan(session(worked(3))).compress(bands="1:verbatim,rest:brief").session
    assert [sum(b.type == "thinking" for e in turn.entries for b in e.blocks) for turn in made.turns] == [0, 0, 1]


def test_short_turns_are_not_summarised() -> None:
    told = talk().user("hi").reply("hello").user("ho").reply("ok", call=bash("ls")).result("x").reply("yes")
    recorder = Recorder()
    made = plan(session(told)).compress(recorder, bands="rest:brief")
    assert recorder.pieces == []
    assert sent(made) == ["u: hi", "a: hello", "u: ho", "a: ok\n\nyes\n\n[Calls left out: Bash]"]


def test_what_a_person_typed_in_the_middle_of_a_turn_stays() -> None:
    told = talk().user("go").reply(REPORT, call=bash("ls")).result("x").user("[aside]", meta=True).reply(REPORT)
    told = told.interrupt().user("more").reply("end")
    before = session(told)
    made = plan(before).compress(shouted, bands="1:verbatim,rest:brief")
    assert prompt_bytes(made.session) == prompt_bytes(before)
    assert sent(made)[:4] == [
        "u: go",
        "u: [aside]",
        "a: SUM of turn 1 in 240\n\n[Calls left out: Bash]",
        "u: [Request interrupted by user]",
    ]


def test_a_summary_that_is_no_shorter_is_not_taken() -> None:
    made = plan(session(worked(2))).compress(lambda pieces: ["x" * 9000], bands="1:verbatim,rest:brief")
    assert "First 1." in sent(made)[1]


def test_a_failed_piece_stays_as_it_was_and_is_told() -> None:
    def half(pieces: Sequence[SummaryTask]) -> list[str | ApiError]:
        return ["SUM", ApiError("Overloaded.", "overloaded_error", 529)]

    before = session(worked(3))
    made = plan(before).compress(half, bands="1:verbatim,rest:brief")
    assert made.steps == ("compress 1 turn; turn 2 stays as it was: Overloaded.",)
    assert "SUM" in sent(made)[1]
    old, new = ([extract(e.line.json, "message") for e in s.turns[1].entries] for s in (before, made.session))
    assert old == new


def test_when_every_piece_fails_nothing_is_planned() -> None:
    before = plan(session(worked(2)))
    assert before.compress(lambda pieces: [ApiError("No.", "x")] * len(pieces), bands="1:verbatim,rest:brief") is before


def test_agents_of_calls_that_go_do_not_come_along(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    child = talk().user("Find it.").reply("Found.")
    told = (
        talk().user("go").reply(call=task("Find", "Find it.")).agent(0, child).reply(REPORT).user("more").reply("end")
    )
    path = told.write(tmp_path / "claude")
    dropped = plan(clew.read(path)).compress(bands="1:verbatim,rest:brief").write()
    kept = plan(clew.read(path)).compress(bands="1:verbatim,rest:brief", tools="keep").write()
    assert (len(dropped.files), len(clew.read(dropped.path).agents)) == (1, 0)
    [agent] = clew.read(kept.path).agents
    assert agent.call is not None


# -- earlier compactions


@pytest.mark.parametrize("version", ["2.0.50", "2.1.100", "2.1.232"])
@pytest.mark.parametrize("era", ERAS)
def test_what_an_earlier_compaction_preserved_is_still_sent(version: str, era: str) -> None:
    told = worked(2, talk(version=version)).compact("In short.", keep=4)
    before = session(worked(2, told))
    made = plan(before).compress(shouted, bands="1:verbatim,rest:brief")
    old, new = sent(before, era), sent(made, era)
    assert asked_of(new) == asked_of(old)
    assert new[new.index("u: prompt 2") :] == old[old.index("u: prompt 2", 1) :]
    assert made.violations == ()
    assert len([e for e in made.session.active if e.is_boundary]) == 2
    assert [turn.text for turn in made.session.turns] == [turn.text for turn in before.turns]


# -- again


@pytest.mark.req("R302")
def test_compressing_again_changes_nothing_unless_more_is_asked_for() -> None:
    once = plan(session(worked(4))).compress(bands="1:verbatim,rest:short")
    assert once.compress(bands="1:verbatim,rest:short") is once
    assert once.compress(bands="2:verbatim,rest:short") is once
    recorder = Recorder()
    more = once.compress(recorder, bands="1:verbatim,1:short,rest:brief")
    assert [piece.name for piece in recorder.pieces] == ["turn 1", "turn 2"]
    assert all("Calls left out" not in piece.turn_texts[0].text for piece in recorder.pieces)
    assert [entry.data[MARK] for entry in texts(more.session)] == ["brief", "brief", "short"]
    assert all(entry.text.count("[Calls left out: Bash, Read]") == 1 for entry in texts(more.session))
    assert len([entry for entry in more.session.entries if entry.is_boundary]) == 1
    lines = [entry for entry in more.session.entries if entry.type == "summary" and MARK in entry.data]
    assert [line.leaf for line in lines] == [entry.uuid for entry in texts(more.session)]


def test_kept_calls_can_be_dropped_later() -> None:
    kept = plan(session(worked(2))).compress(bands="1:verbatim,rest:brief", tools="keep")
    made = kept.compress(bands="1:verbatim,rest:brief")
    assert [len(turn.calls) for turn in made.session.turns] == [0, 2]
    assert texts(made.session)[0].text.endswith("[Calls left out: Bash, Read]")


BANDS = st.sampled_from(
    ["rest:brief", "1:verbatim,rest:brief", "1:verbatim,1:short,rest:brief", "2:verbatim,rest:short"]
)


@pytest.mark.req("R294", "R291")
@settings(max_examples=150)
@always(
    talks(), st.booleans(), BANDS, st.sampled_from(["drop", "keep"]), st.sampled_from([summarise_by_extract, shouted])
)
def test_whatever_the_session(told: Talk, has_more: bool, bands: str, tools: Any, summarise: Any) -> None:
    before = session(worked(2, told) if has_more else told)
    made = plan(before).compress(summarise, bands=bands, tools=tools)
    after = made.session
    assert made.violations == ()
    assert prompt_bytes(after) == prompt_bytes(before)
    for era in ERAS:
        old, new = sent(before, era), sent(after, era)
        assert asked_of(new) == asked_of(old)
        assert not request(after, era).refusal or request(before, era).refusal
    again = made.compress(summarise, bands=bands, tools=tools)
    assert again is made


STRAY = [{"type": "tool_result", "tool_use_id": "toolu_lost", "content": "stray"}]


@pytest.mark.parametrize(
    "edit",
    [
        lambda made: made.compress(bands="rest:short"),
        lambda made: made.strip_tools(),
        lambda made: made.strip_tools(names=["Bash"]),
        lambda made: made.trim("heavy"),
        lambda made: made.drop_turn(1),
        lambda made: made.keep_turns([2, 3]),
        lambda made: made.end_with(2),
        lambda made: made.compact("In short.", keep_last=2),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_no_edit_leaves_a_result_that_an_old_version_sends_without_its_call(
    edit: Callable[[Plan], Plan], first: bool
) -> None:
    told = talk().user(STRAY) if first else talk()
    told = told.user("one").reply(call=bash("ls")).result("x" * 300).reply("done").user("two").user(STRAY)
    told = (
        told.reply("so", thinking="Hm.").user("three").reply(thinking="Well.", call=bash("pwd")).result("y").reply("c")
    )
    made = edit(plan(Session(told.bytes())))
    for version in ("2.0.50", "2.1.29", "2.1.45", "2.1.325"):
        blocks = [block for message in request(made.session, version).messages for block in message["content"]]
        known = {block["id"] for block in blocks if block["type"] == "tool_use"}
        sent = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        assert sent <= known, version
    assert made.violations == ()
