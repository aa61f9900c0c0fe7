"""Rows: what is shown of a session, before anything is printed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from clew.conversation.session import Session
from clew.demo.talk import DENSE, Talk, bash, edit, read, talk
from clew.view.depths import DEPTHS
from clew.view.row_types import CallRow, PromptRow, ReplyRow, Row
from clew.view.rows import ViewOptions, preamble_rows, remaining_rows, rows
from tests.conversation import lines
from tests.step_count import Work, assert_linear


def told(said: Talk, **wish: Any) -> list[Row]:
    session = Session(said.bytes())
    return list(rows(session, session.turns, ViewOptions(**wish)))


def kinds(found: list[Row]) -> list[str]:
    return [row.kind for row in found]


def garden() -> Talk:
    made = talk(step=DENSE).user("one").reply("a", thinking="hm", call=bash("ls")).result("x\ny").reply("b")
    return made.user("two").reply("c")


def test_each_depth_holds_all_of_the_one_before() -> None:
    found = [[(r.kind, r.text) for r in told(garden(), depth=depth)] for depth in DEPTHS]
    for less, more in pairwise(found):
        assert [row for row in more if row in less] == less
    assert kinds(told(garden())) == ["prompt", "reply", "call", "result", "reply", "prompt", "reply"]


def test_rows_carry_what_a_printer_needs() -> None:
    prompt, reply, call, result, *_ = told(garden())
    assert isinstance(prompt, PromptRow) and isinstance(reply, ReplyRow) and isinstance(call, CallRow)
    assert (prompt.number, prompt.images, prompt.round_badge) == (1, 0, "round 1 · first")
    assert prompt.time is not None and reply.model == "claude-opus-5"
    assert (call.tool, call.failed, call.is_open, call.seconds) == ("Bash", False, False, 1.0)
    assert (result.text, result.limit) == ("x\ny", 6)
    assert told(garden(), lines=None)[3].limit is None


def test_the_text_of_a_row_is_whole() -> None:
    long = "\n".join(map(str, range(100)))
    found = told(talk(step=DENSE).user("go").reply(call=bash("seq")).result(long), lines=2)
    assert (found[-1].text, found[-1].limit) == (long, 2)


def test_only_the_turns_asked_for() -> None:
    session = Session(garden().bytes())
    assert [r.text for r in rows(session, session.turns[1:], ViewOptions())] == ["two", "c"]


def test_the_rest_of_a_turn_is_what_was_not_shown_yet() -> None:
    session = Session(garden().bytes())
    turn = session.turns[0]
    after = list(remaining_rows(session, turn, 4, ViewOptions()))
    assert kinds(after) == ["reply"] and after[0].text == "b"
    assert list(remaining_rows(session, turn, len(turn.entries), ViewOptions())) == []


@pytest.mark.req("R233")
def test_a_reply_is_shown_once_however_its_lines_lie() -> None:
    made = talk(step=DENSE).user("go").reply("text", calls=[bash("a"), bash("b")], message_id="msg_1")
    made = made.result("1", for_=0).result("2", for_=1)
    made = made.reply("text", message_id="msg_1")
    assert kinds(told(made)) == ["prompt", "reply", "call", "result", "call", "result"]


def test_an_edit_is_its_diff_and_a_failed_one_its_failure_too() -> None:
    made = (
        talk(step=DENSE).user("go").reply(call=read("/g/x", "a\n")).result().reply(call=edit("/g/x", "a", "b")).result()
    )
    assert kinds(told(made))[-2:] == ["call", "diff"]
    failed = talk(step=DENSE).user("go").reply(call=edit("/g/x", "a", "b")).result("no such file", error=True)
    assert kinds(told(failed))[-1] == "failure"


def test_odd_input_of_a_tool_does_not_matter() -> None:
    for given in ({"todos": "none"}, {"todos": [1, {"content": 2}]}, {}):
        block = {"type": "tool_use", "id": "toolu_x", "name": "TodoWrite", "input": given}
        assert "call" in kinds(told(talk(step=DENSE).user("go").reply(blocks=[block])))
    block = {"type": "tool_use", "id": "toolu_y", "name": "ExitPlanMode", "input": "text"}
    assert "call" in kinds(told(talk(step=DENSE).user("go").reply(blocks=[block])))


def test_a_call_without_an_id_is_passed_over() -> None:
    block = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    assert kinds(told(talk(step=DENSE).user("go").reply("ok", blocks=[block]))) == ["prompt", "reply"]


def test_what_comes_before_the_first_prompt_is_apart() -> None:
    session = Session(talk(step=DENSE).reply("early").user("go").reply("late").bytes())
    assert [r.text for r in preamble_rows(session, ViewOptions())] == ["early"]
    assert [r.text for r in rows(session, session.turns, ViewOptions())] == ["go", "late"]


@pytest.mark.req("R232")
def test_no_entry_of_the_program_becomes_a_prompt() -> None:
    made = talk(step=DENSE).user("real").user("meta", meta=True).user("<local-command-caveat>x</local-command-caveat>")
    made = made.user("<user-prompt-submit-hook>y</user-prompt-submit-hook>").reply("ok").compact("summary")
    assert [r.text for r in told(made, meta=True) if r.kind == "prompt"] == ["real"]
    assert next(r.text for r in told(made, meta=True) if r.kind == "meta") == "meta"
    assert not any(r.kind == "meta" for r in told(made, depth="full"))


def test_rows_of_calls_take_linear_time_where_no_line_has_a_folder() -> None:
    def prepare(count: int) -> Work:
        pairs = (
            (
                lines.reply(f"a{i}", f"r{i - 1}" if i else "p", lines.use(f"t{i}")),
                lines.result(f"r{i}", f"a{i}", f"t{i}"),
            )
            for i in range(count)
        )
        session = lines.session(lines.user("p", None, "go"), *(line for pair in pairs for line in pair))
        return lambda: list(rows(session, session.turns, ViewOptions()))

    assert_linear(prepare, 80)
