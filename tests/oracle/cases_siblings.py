"""Siblings: what parallel calls left beside the path."""

from __future__ import annotations

from typing import Any

from tests.oracle.mock_api import text
from tests.oracle.script import NOWHERE, OPUS, Script, Theme, answer, think, use, uuid

case = Theme("siblings")


@case
def text_beside_the_call(s: Script) -> None:
    s.user("u1")
    asked = s.reply(use("t1"), mid="m1")
    s.reply("x", mid="m1")
    s.result("t1", parent=asked)
    s.reply("end")


@case
def one_of_two_calls_answered_at_the_end(s: Script) -> None:
    s.user("u1")
    asked = s.reply(use("t1"), mid="m1")
    s.reply(use("t2"), mid="m1")
    s.result("t1", parent=asked)


@case
def results_below_their_calls(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    answered = s.result("t1", "r1", parent=one)
    s.result("t2", "r2", parent=two)
    s.reply("end", parent=answered)


@case
def results_out_of_order(s: Script) -> None:
    s.user("u1")
    asked = [s.reply(use(f"t{n}"), mid="m1") for n in (1, 2, 3)]
    for n, second in ((3, 50), (1, 40), (2, 30)):
        s.result(f"t{n}", f"r{n}", parent=asked[n - 1], timestamp=f"2026-01-03T10:00:{second}.000Z")
    s.reply("end", timestamp="2026-01-03T10:00:55.000Z")


@case
def result_that_names_its_call_but_hangs_nowhere(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=None, sourceToolAssistantUUID=one)
    s.result("t2", "r2", parent=two)
    s.reply("end")


@case
def lines_below_the_result_aside(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    s.attach("zzz", "RU")
    s.user("extra")
    s.result("t2", "r2", parent=two)
    s.reply("end")


@case
def attachment_between_parallel_results(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply(use("t2"), mid="m1")
    s.result("t1", "r1")
    s.attach("zzz", "A")
    s.result("t2", "r2")
    s.reply("end")


@case
def attachment_between_parallel_results_aside(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    s.result("t2", "r2", parent=two)
    s.attach("zzz", "A")
    s.reply("end")


@case
def result_before_its_call_in_the_file(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    s.result("t2", "r2", parent=two)
    s.reply("end")
    s.move(3, 1)


@case
def reply_split_by_the_result_of_another(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply(use("t2"), mid="m2")
    s.result("t1", "r1")
    s.reply(use("t3"), mid="m2")
    s.result("t2", "r2")
    s.result("t3", "r3")
    s.reply("end")


@case
def two_replies_with_results_aside(s: Script) -> None:
    s.user("u1")
    for reply in (1, 2):
        one = s.reply(use(f"t{reply}1"), mid=f"m{reply}")
        two = s.reply(use(f"t{reply}2"), mid=f"m{reply}")
        s.result(f"t{reply}1", "r1", parent=one)
        s.result(f"t{reply}2", "r2", parent=two)
    s.reply("end")


@case
def results_aside_are_an_agents(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one, isSidechain=True)
    s.result("t2", "r2", parent=two)
    s.reply("end")


@case
def block_aside_is_an_agents(s: Script) -> None:
    root = s.user("u1")
    s.reply("aside", mid="m1", isSidechain=True)
    s.reply("a1", mid="m1", parent=root)
    s.user("u2")
    s.reply("a2")


@case
def same_reply_on_another_branch(s: Script) -> None:
    root = s.user("u1")
    s.reply("left", mid="m1")
    s.user("other", parent=root)
    s.reply("right", mid="m1")


@case
def block_aside_before_the_one_on_the_path(s: Script) -> None:
    root = s.user("u1")
    s.reply(think("th"), mid="m1")
    s.reply("x", mid="m1", parent=root)
    s.reply("y", mid="m1")


@case
def result_aside_comes_twice(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "first", parent=one)
    s.result("t1", "second", parent=one)
    s.result("t2", "r2", parent=two)
    s.reply("end")


@case
def result_aside_for_the_only_call(s: Script) -> None:
    s.user("u1")
    asked = s.reply(use("t1"), mid="m1")
    s.result("t1", "aside", parent=asked)
    s.user("u2", parent=asked)
    s.reply("a2")


@case
def result_aside_of_a_retried_call(s: Script) -> None:
    s.user("u1")
    asked = s.reply(use("t1"), mid="m1")
    s.result("t1", "old", parent=asked)
    s.reply("a-old")
    s.result("t1", "new", parent=asked)
    s.reply("a-new")


@case
def one_line_answers_calls_of_two_replies(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    asked = s.reply(use("t2"), mid="m2")
    s.user([answer("t1", "r1"), answer("t2", "r2")], parent=None)
    s.reply("end", parent=asked)


@case
def result_aside_with_a_text(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.user([answer("t1", "r1"), text("beside")], parent=one)
    s.result("t2", "r2", parent=two)
    s.reply("end")


@case
def prompt_between_call_and_results_aside(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    s.user("mid", parent=two)
    s.result("t2", "r2")
    s.reply("end")


@case
def siblings_before_a_compaction(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    s.result("t2", "r2", parent=two)
    s.compact("SUM")
    s.user("u2")
    s.reply("a2")


@case
def reply_goes_on_behind_a_compaction(s: Script) -> None:
    s.user("u1")
    s.reply("before", mid="m1")
    s.compact("SUM")
    s.reply("behind", mid="m1")
    s.user("u2")
    s.reply("a2")


@case
def replies_without_an_id_are_not_one(s: Script) -> None:
    s.user("u1")
    s.reply("x")
    s.user("u2")
    s.reply("y")
    s.reply("aside", parent=uuid(1))
    s.move(4, 2)
    for index in (1, 2, 4):
        entry = s.copy(index)
        s.edit(index, message={key: value for key, value in entry["message"].items() if key != "id"})


@case
def call_below_a_missing_line_with_results_aside(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1", parent=NOWHERE)
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    s.result("t2", "r2", parent=two)
    s.reply("end")


@case
def ten_parallel_calls(s: Script) -> None:
    s.user("u1")
    asked = [s.reply(use(f"t{n}"), mid="m1") for n in range(10)]
    for n in (9, 0, 5, 1, 2, 8, 3, 4, 7, 6):
        s.result(f"t{n}", f"r{n}", parent=asked[n])
    s.reply("end")


@case
def thinking_and_text_before_parallel_calls(s: Script) -> None:
    s.user("u1")
    s.reply(think("th"), mid="m1")
    s.reply("x", mid="m1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t2", "r2", parent=two)
    s.result("t1", "r1", parent=one)
    s.reply("end")


@case
def progress_between_parallel_results(s: Script) -> None:
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.progress(parent=one)
    s.result("t1", "r1")
    s.progress(parent=two)
    s.result("t2", "r2")
    s.reply("end")


@case
def block_aside_between_those_on_the_path(s: Script) -> None:
    root = s.user("u1")
    first = s.reply("x", mid="m1")
    s.reply("aside", mid="m1", parent=root, timestamp="2026-01-03T10:00:30.000Z")
    s.reply("y", mid="m1", parent=first)
    s.user("u2")
    s.reply("end")


@case
def block_aside_behind_those_on_the_path_but_older(s: Script) -> None:
    root = s.user("u1")
    s.reply("x", mid="m1")
    second = s.reply("y", mid="m1")
    s.reply("aside", mid="m1", parent=root, timestamp="2026-01-03T10:00:02.500Z")
    s.user("u2", parent=second)
    s.reply("end")


@case
def blocks_aside_around_those_on_the_path(s: Script) -> None:
    root = s.user("u1")
    s.reply("aside1", mid="m1")
    first = s.reply("x", mid="m1", parent=root)
    s.reply("aside2", mid="m1", parent=root)
    last = s.reply("y", mid="m1", parent=first)
    s.reply("aside3", mid="m1", parent=root)
    s.line(s.copy(4))
    s.user("u2", parent=last)
    s.reply("end")


@case
def call_before_a_compaction_of_a_reply_behind_it(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.result("t1", "r1")
    s.compact("SUM")
    s.reply(use("t2"), mid="m1")
    s.result("t2", "r2")
    s.reply("end")


@case
def call_before_a_compaction_that_preserved_another(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.result("t1", "r1")
    kept = s.reply("kept")
    s.compact("SUM", messages=[kept])
    s.reply(use("t2"), mid="m1")
    s.result("t2", "r2")
    s.reply("end")


# Meta entries beside the path


@case
def meta_entry_below_a_call(s: Script) -> None:
    s.user("u1")
    asked = s.reply(use("t1"))
    s.user("aside", isMeta=True)
    s.user("more", isMeta=True)
    s.result("t1", parent=asked)
    s.reply("a1")


@case
def meta_entry_below_a_call_and_a_reply_below_it(s: Script) -> None:
    s.user("u1")
    asked = s.reply(use("t1"))
    s.user("aside", isMeta=True)
    s.reply("branch")
    s.result("t1", parent=asked)
    s.reply("a1")


@case
def meta_entry_below_a_result_beside_the_path(s: Script) -> None:
    s.user("u1")
    first = s.reply(use("t1"), mid="m1")
    second = s.reply(use("t2"), mid="m1")
    s.result("t1", parent=first)
    s.user("aside", isMeta=True)
    s.result("t2", parent=second)
    s.reply("a1")


@case
def meta_entry_below_the_text_of_a_reply_with_a_call(s: Script) -> None:
    s.user("u1")
    words = s.reply("text", mid="m1")
    asked = s.reply(use("t1"), mid="m1")
    s.user("aside", parent=words, isMeta=True)
    s.result("t1", parent=asked)
    s.reply("a1")


@case
def meta_entry_below_a_reply_without_a_call(s: Script) -> None:
    s.user("u1")
    words = s.reply("a1")
    s.user("aside", isMeta=True)
    s.user("u2", parent=words)
    s.reply("a2")


@case
def prompt_below_a_call(s: Script) -> None:
    s.user("u1")
    asked = s.reply(use("t1"))
    s.user("aside")
    s.result("t1", parent=asked)
    s.reply("a1")


def _with_parallel_calls(s: Script) -> None:
    s.user("u1")
    first = s.reply(use("t1"), mid="m")
    second = s.reply(use("t2"), mid="m")
    s.result("t1", parent=first)
    s.result("t2", parent=second)
    s.reply("done")
    s.user("u2")


@case
def id_of_calls_comes_again_behind_a_prompt(s: Script) -> None:
    _with_parallel_calls(s)
    s.reply("again", mid="m")
    s.user("u3")
    s.reply("a3")


@case
def id_of_calls_is_that_of_an_api_error(s: Script) -> None:
    _with_parallel_calls(s)
    s.reply("API Error", mid="m", model="<synthetic>", isApiErrorMessage=True)
    s.user("u3")
    s.reply("a3")


@case
def result_beside_the_path_comes_twice(s: Script) -> None:
    s.user("u1")
    first = s.reply(use("t1"), mid="m")
    second = s.reply(use("t2"), mid="m")
    third = s.reply(use("t3"), mid="m")
    s.result("t1", parent=first)
    s.result("t2", parent=second)
    last = s.result("t3", parent=third)
    s.line(s.copy(5))
    s.reply("done", parent=last)


@case
def calls_without_a_message_id(s: Script) -> None:
    s.user("u1")
    first = s.reply(use("t1"), requestId="req")
    second = s.reply(use("t2"), requestId="req")
    for line in s.lines[1:]:
        if isinstance(line, dict):
            del line["message"]["id"]
    s.result("t1", parent=first)
    s.result("t2", parent=second)
    s.reply("done")


@case
def sibling_of_a_reply_whose_text_was_moved(s: Script) -> None:
    s.user("u1")
    s.reply(think("hm"), mid="m")
    s.reply("x", mid="m")
    one = s.reply(use("t1"), mid="m")
    two = s.reply(use("t2"), mid="m")
    s.result("t2", parent=two)
    s.result("t1", parent=one)
    s.reply("a1")
    s.user("u2")
    s.reply("a2")
    s.move(2, 8)


# Attachments below a result beside the path


def _hook(s: Script, words: str, call: str, kind: str = "hook_blocking_error", **fields: Any) -> str:
    inside = {"hookName": "PostToolUse:Read", "toolUseID": call, "hookEvent": "PostToolUse"}
    more = {"blockingError": {"blockingError": words, "command": "c"}} if kind == "hook_blocking_error" else {}
    return s.attach(kind, words, inside={**inside, "content": [words], **more}, **fields)


def _calls_in_parallel(s: Script) -> tuple[str, str]:
    """Two calls and the result of the first, which is beside the path."""
    s.user("u1")
    one = s.reply(use("t1"), mid="m1")
    two = s.reply(use("t2"), mid="m1")
    s.result("t1", "r1", parent=one)
    return one, two


def _answer_the_second(s: Script, call: str) -> None:
    s.result("t2", "r2", parent=call)
    s.reply("end")


@case
def hook_error_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    _hook(s, "H1", "t1")
    _answer_the_second(s, two)


@case
def hook_errors_below_both_results(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    _hook(s, "H1", "t1")
    s.result("t2", "r2", parent=two)
    _hook(s, "H2", "t2")
    s.reply("end")


@case
def hook_errors_below_both_results_with_system_turns(s: Script) -> None:
    s.model = OPUS
    hook_errors_below_both_results(s)


@case
def hook_context_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    _hook(s, "H1", "t1", "hook_additional_context")
    _answer_the_second(s, two)


@case
def other_attachment_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    s.attach("zzz", "A")
    _answer_the_second(s, two)


@case
def two_hooks_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    _hook(s, "H1", "t1")
    _hook(s, "H2", "t1", "hook_additional_context")
    _answer_the_second(s, two)


@case
def hook_error_and_a_prompt_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    _hook(s, "H1", "t1")
    s.user("extra")
    _answer_the_second(s, two)


@case
def hook_error_of_another_call_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    _hook(s, "H1", "t9")
    _answer_the_second(s, two)


@case
def hook_below_a_call_on_the_path(s: Script) -> None:
    one, two = _calls_in_parallel(s)
    _hook(s, "H1", "t1", "hook_additional_context", parent=one)
    _answer_the_second(s, two)


@case
def hook_and_a_note_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    _hook(s, "H1", "t1")
    s.user("meta", isMeta=True)
    _answer_the_second(s, two)


@case
def hook_of_the_first_call_behind_both_results(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    first = s.last
    second = s.result("t2", "r2", parent=two)
    _hook(s, "H1", "t1", parent=first)
    s.reply("end", parent=second)


@case
def hook_below_a_result_on_the_path(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    answered = s.result("t1")
    _hook(s, "H1", "t1")
    s.reply("end", parent=answered)


@case
def attachment_beside_the_path_below_a_prompt(s: Script) -> None:
    asked = s.user("u1")
    s.attach("zzz", "A")
    s.reply("a1", parent=asked)


@case
def attachment_beside_the_path_below_a_reply(s: Script) -> None:
    s.user("u1")
    said = s.reply("a1")
    s.attach("zzz", "A")
    s.user("u2", parent=said)
    s.reply("a2")


@case
def hook_behind_the_end_of_the_turn_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    first = s.last
    _answer_the_second(s, two)
    end = s.last
    _hook(s, "H1", "t1", parent=first)
    s.user("u2", parent=end)
    s.reply("a2")


@case
def note_and_a_hook_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    s.user("meta", isMeta=True)
    _hook(s, "H1", "t1")
    _answer_the_second(s, two)


@case
def system_line_and_a_hook_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    s.system("informational")
    _hook(s, "H1", "t1")
    _answer_the_second(s, two)


@case
def command_and_a_hook_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    s.system("local_command", "<command-name>/x</command-name>")
    _hook(s, "H1", "t1")
    _answer_the_second(s, two)


@case
def system_line_alone_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    s.system("informational")
    _answer_the_second(s, two)


@case
def hook_and_a_system_line_below_the_result_aside(s: Script) -> None:
    _, two = _calls_in_parallel(s)
    _hook(s, "H1", "t1")
    s.system("informational")
    _answer_the_second(s, two)


@case
def first_call_is_a_later_line_than_the_others(s: Script) -> None:
    prompt = s.user("u1")
    first = uuid(9)
    second_call = s.reply(use("t2"), mid="m1", parent=first)
    s.reply(use("t3"), mid="m1")
    s.result("t3")
    s.result("t1", parent=first)
    answered = s.result("t2", parent=second_call)
    s.reply(use("t1"), mid="m1", parent=prompt, uuid=first)
    s.reply("a2", parent=answered, uuid=uuid(10))


@case
def text_is_a_later_line_than_the_calls(s: Script) -> None:
    prompt = s.user("u1")
    thought = s.reply(think("h"), mid="m1", parent=prompt)
    said = uuid(9)
    first = s.reply(use("t1"), mid="m1", parent=said)
    s.reply(use("t2"), mid="m1")
    s.result("t2")
    answered = s.result("t1", parent=first)
    s.reply("S", mid="m1", parent=thought, uuid=said)
    s.reply("a2", parent=answered, uuid=uuid(10))
