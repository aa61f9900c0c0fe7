"""Compaction: a range of turns summed up, what is around it word for word, and nothing lost from the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import clew
from clew.conversation.load import request
from clew.conversation.resume_request import CONTINUE_PROMPT, NO_RESPONSE
from clew.conversation.session import Session
from clew.demo.talk import Talk, bash, talk
from clew.edit.plan import Plan, plan
from clew.edit.summary import compact_session
from clew.edit.summary.summariser import SummaryTask, summarise_by_extract
from clew.errors import ApiError, NotFound, Refused
from clew.facts.context_size import prompt_tokens as given_tokens
from clew.wire.entry_types import Compaction
from clew.wire.json_splice import extract
from tests.edit.talks import talks

ERAS = ("2.0.50", "2.1.29", "2.1.45", "2.1.80", "2.1.140", "2.1.325")
NOISE = (f"u: {CONTINUE_PROMPT}", f"a: {NO_RESPONSE}")


def chat(turns: int, told: Talk | None = None, first: int = 1) -> Talk:
    told = told or talk()
    for number in range(first, first + turns):
        told = told.user(f"ask {number}").reply(call=bash("ls")).result("x" * 400).reply(f"answer {number}")
    return told


def session(told: Talk) -> Session:
    return Session(told.bytes())


def sent(made: Plan | Session, era: str = "2.1.325") -> list[str]:
    """The texts that a resume sends."""
    found = request(made.session if isinstance(made, Plan) else made, era)
    blocks = [(message["role"][0], block) for message in found.messages for block in message["content"]]
    words = [f"{role}: {block['text']}".removesuffix("\n") for role, block in blocks if block["type"] == "text"]
    return [word for word in words if word not in NOISE]


def summed(turns: str, text: str, goes_on: bool = True) -> str:
    end = "\n\nThe conversation goes on below, word for word." if goes_on else ""
    return f"u: An earlier part of this conversation ({turns}) was summed up:\n\n{text}{end}"


@pytest.mark.req("R297", "R298")
@pytest.mark.parametrize("era", ERAS)
def test_every_version_goes_on_with_the_summary_and_the_tail(era: str) -> None:
    before = session(chat(4))
    made = plan(before).compact("They fixed it.", keep_last=1)
    assert sent(made, era) == [summed("turns 1 to 3", "They fixed it."), "u: ask 4", "a: answer 4"]
    assert made.violations == ()
    assert made.steps == ("compact turns 1 to 3",)


@pytest.mark.parametrize("era", ERAS)
def test_without_a_tail_it_goes_on_from_the_summary(era: str) -> None:
    made = plan(session(chat(2).last_prompt())).compact("They fixed it.")
    assert sent(made, era) == [summed("turns 1 to 2", "They fixed it.", goes_on=False)]


@pytest.mark.parametrize("era", ERAS)
def test_turns_before_the_range_stay_before_the_summary(era: str) -> None:
    middle = plan(session(chat(4))).compact("They fixed it.", turns=(2, 3))
    assert sent(middle, era) == [
        "u: ask 1",
        "a: answer 1",
        summed("turns 2 to 3", "They fixed it."),
        "u: ask 4",
        "a: answer 4",
    ]
    end = plan(session(chat(3))).compact("They fixed it.", turns=(2, 3))
    assert sent(end, era) == ["u: ask 1", "a: answer 1", summed("turns 2 to 3", "They fixed it.", goes_on=False)]


@pytest.mark.req("R298")
def test_the_boundary_tells_the_sizes_and_the_last_entry_that_was_summed_up() -> None:
    before = session(chat(4))
    made = plan(before).compact("They fixed it.", keep_last=1).session
    [compaction] = made.compactions
    facts = Compaction.of(compaction.boundary)
    assert (compaction.boundary.parent, facts.trigger) == (None, "manual")
    assert compaction.boundary.logical_parent == before.turns[2].entries[-1].uuid
    assert facts.pre_tokens and facts.post_tokens and facts.pre_tokens > facts.post_tokens
    assert compaction.summary and compaction.summary.parent == compaction.boundary.uuid
    assert compaction.summary.is_transcript_only


def test_nothing_is_lost_and_the_history_reads_on() -> None:
    before = session(chat(4))
    made = plan(before).compact("They fixed it.", keep_last=1).session
    assert {e.uuid for e in before.entries} <= {e.uuid for e in made.entries}
    assert [turn.text for turn in made.turns] == [turn.text for turn in before.turns]
    contents = {e.uuid: extract(e.line.json, "message", "content") for e in made.entries}
    assert all(contents[e.uuid] == extract(e.line.json, "message", "content") for e in before.entries)


def test_the_last_reply_tells_the_new_size() -> None:
    """A resume would compact it once more if the reply still told of all that is gone."""
    before = session(chat(6))
    made = plan(before).compact("They fixed it.", keep_last=1).session
    sizes = []
    for each in (before, made):
        last = [e for e in each.active if e.type == "assistant"][-1]
        assert last.message and last.message.usage
        sizes.append(given_tokens(last.message.usage))
    assert sizes[1] < sizes[0]


def test_an_earlier_summary_is_part_of_what_is_summed_up() -> None:
    told = chat(2, chat(2).compact("The first half.", keep=3), first=3)
    asked: list[SummaryTask] = []

    def recorded(pieces: Sequence[SummaryTask]) -> list[str | ApiError]:
        asked.extend(pieces)
        return ["All of it."]

    made = plan(session(told)).compact(recorded, keep_last=1)
    assert [each.text for each in asked[0].turn_texts] == ["The first half.", "answer 3"]
    assert sent(made) == [summed("turn 3", "All of it."), "u: ask 4", "a: answer 4"]


def test_turns_that_were_summed_up_before_cannot_be_again() -> None:
    found = plan(session(chat(2, chat(2).compact("The first half."), first=3)))
    with pytest.raises(Refused, match="turns 1 to 2 were already summarised"):
        found.compact("x", turns=(1, 2))
    with pytest.raises(Refused, match="turns 1 to 2 were already summarised"):
        found.compact("x", keep_last=2)
    with pytest.raises(Refused, match="no turn would be summarised"):
        plan(session(chat(1))).compact("x", keep_last=1)
    with pytest.raises(Refused, match="no turn is left"):
        plan(session(talk())).compact("x")
    with pytest.raises(Refused, match="the summary is empty"):
        found.compact(" \n")


def test_the_range_has_to_begin_where_messages_were_preserved() -> None:
    found = plan(session(chat(3, chat(2).compact("The first half.", keep=3), first=3)))
    with pytest.raises(Refused, match="preserved messages; start the range with that turn"):
        found.compact("x", turns=(4, 4))
    assert found.compact("x", turns=(1, 4)).violations == ()


def test_a_turn_that_is_not_there() -> None:
    with pytest.raises(NotFound, match="No turn matches '9'") as missing:
        plan(session(chat(2))).compact("x", turns=(1, 9))
    assert missing.value.hint.endswith("has the turns 1 to 2.")


def test_a_call_is_not_parted_from_its_result() -> None:
    call = replace(bash("ls"), id="toolu_ls")
    told = talk(version="2.0.50").user("one").reply("a").user("two").reply(call=call)
    told = told.user("typed while it ran").result("x", for_="toolu_ls").reply("b").user("four").reply("c")
    found = session(told)
    chosen = compact_session.choose_range(found, keep_last=2)
    assert chosen.name == "turn 1"
    assert [turn.number for turn in chosen.tail] == [2, 3, 4]
    assert compact_session.choose_range(found, turns=(3, 4)).name == "turns 2 to 4"


def test_a_failed_piece_is_an_error() -> None:
    def failing(pieces: Sequence[SummaryTask]) -> list[str | ApiError]:
        return [ApiError("Overloaded.", "overloaded_error", 529)]

    with pytest.raises(ApiError, match="Overloaded"):
        plan(session(chat(2))).compact(failing)


def test_a_long_history_is_summed_up_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_session, "CHUNK", 60)
    found = session(chat(9))
    asked = compact_session.summary_tasks(found, compact_session.choose_range(found))
    assert [piece.name for piece in asked] == ["turns 1 to 3", "turns 4 to 6", "turns 7 to 9"]
    assert sum(piece.limit for piece in asked) <= compact_session.LIMIT


def test_extracts_tell_what_was_asked_and_what_came_of_it() -> None:
    made = plan(session(chat(3))).compact(summarise_by_extract, keep_last=1)
    assert sent(made)[0] == summed("turns 1 to 2", "1. ask 1\n   answer 1\n2. ask 2\n   answer 2")


def test_written_and_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    made = plan(clew.read(chat(3).write(tmp_path / "claude"))).compact("They fixed it.", keep_last=1)
    assert sent(clew.read(made.write().path)) == sent(made)


@pytest.mark.req("R291")
@settings(max_examples=150)
@given(talks(), st.integers(0, 2), st.booleans())
def test_whatever_the_session(told: Talk, keep: int, twice: bool) -> None:
    before = session(told)
    try:
        made = plan(before).compact(summarise_by_extract, keep_last=keep)
        made = made.compact("Again.") if twice else made
    except Refused:
        return
    assert made.violations == ()
    assert {extract(e.line.json, "message") for e in before.prompts} == {
        extract(e.line.json, "message") for e in made.session.prompts
    }
    for era in ERAS:
        leaf = request(before, era).leaf
        if leaf is None or leaf != before.leaf:
            continue  # it goes on from elsewhere, before and after
        words = sent(made, era)
        assert words[0].startswith("u: An earlier part")
        if keep and not twice:
            tail = [turn.text for turn in before.turns[-keep:]]
            assert all(any(text in word for word in words) for text in tail)


# -- commands and their caveats

CAVEAT = "<local-command-caveat>Not for you.</local-command-caveat>"


def with_command(caveat: str = CAVEAT) -> Session:
    told = chat(2).user(caveat, meta=True).user("<command-name>/model</command-name>")
    return session(chat(1, told.user("<local-command-stdout>opus</local-command-stdout>"), first=4))


def left(made: Plan) -> list[str]:
    return [word.removeprefix("u: ") for word in sent(made) if word.startswith("u: ") and "summed up" not in word]


@pytest.mark.parametrize("caveat", [CAVEAT, "Caveat: not for you."])
def test_a_command_that_stays_keeps_its_caveat(caveat: str) -> None:
    made = plan(with_command(caveat)).compact("In short.", keep_last=2)
    assert left(made)[:2] == [caveat, "<command-name>/model</command-name>"]
    assert made.violations == ()


def test_a_command_that_is_summed_up_takes_its_caveat_along() -> None:
    made = plan(with_command()).compact("In short.", turns=(3, 3))
    assert left(made) == ["ask 1", "ask 2", "ask 4"] and made.violations == ()


@pytest.mark.parametrize(
    ("edit", "stays"),
    [
        (lambda made: made.drop_turn(2), True),
        (lambda made: made.drop_turn(3), False),
        (lambda made: made.keep_turns([1, 3]), True),
        (lambda made: made.keep_turns([1, 4]), False),
        (lambda made: made.end_with(2), False),
        (lambda made: made.end_with(3), True),
    ],
)
def test_a_caveat_shares_the_fate_of_its_command(edit: Callable[[Plan], Plan], stays: bool) -> None:
    made = edit(plan(with_command()))
    found = [e.text for e in made.session.active]
    assert (CAVEAT in found, "<command-name>/model</command-name>" in found) == (stays, stays)
