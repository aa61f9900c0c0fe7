"""Attachments and system lines beside the path: below the last message, and below a call or its result."""

from __future__ import annotations

from typing import Any

from tests.oracle.script import OPUS, Script, Theme, reminder, second, use, uuid

case = Theme("notes")


def note(s: Script, words: str, at: float | None = None, **fields: Any) -> str:
    return s.attach("zzz", reminder(words), timestamp=None if at is None else second(at), **fields)


def answered(s: Script) -> str:
    s.user("u1")
    s.reply(use("t1"))
    return s.result("t1")


# Below the last message


@case
def two_below_the_last_reply(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A")
    note(s, "B", parent=reply)


@case
def two_below_the_last_reply_as_system_turns(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    reply = s.reply("a1")
    s.attach("zzz", reminder("A"), role="system")
    s.attach("zzz", reminder("B"), role="system", parent=reply)


@case
def two_below_the_last_prompt(s: Script) -> None:
    prompt = s.user("u1")
    note(s, "A")
    note(s, "B", parent=prompt)


@case
def older_one_is_the_later_line(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A", 90000)
    note(s, "B", 80000, parent=reply)


@case
def two_at_one_time(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A", 80000)
    note(s, "B", 80000, parent=reply)


@case
def one_without_a_time(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    s.attach("zzz", reminder("A"), timestamp="")
    note(s, "B", parent=reply)


@case
def two_lines_of_two(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A", 80000)
    note(s, "AA", 86000)
    note(s, "B", 82000, parent=reply)
    note(s, "BB", 84000)


@case
def prompt_below_one_of_two(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A")
    s.user("u2")
    s.reply("a2")
    note(s, "B", parent=reply)


@case
def line_of_an_agent_below_the_last_reply(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A", isSidechain=True)
    note(s, "B", parent=reply)


@case
def below_a_pinned_reply(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A")
    s.pin(reply, explicit=True)


@case
def below_a_reply_that_was_pinned_before(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A")
    s.pin(reply)
    note(s, "B", parent=reply)


@case
def beside_a_system_line(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    note(s, "A")
    s.system("informational", parent=reply)


@case
def beside_a_command(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    s.system("local_command", "<local-command-stdout>x</local-command-stdout>")
    note(s, "A", parent=reply)


@case
def meta_prompt_beside_one(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    s.user("meta", isMeta=True)
    note(s, "A", parent=reply)


@case
def before_the_reply_above_it(s: Script) -> None:
    s.user("u1")
    note(s, "A", parent=uuid(3))
    s.reply("a1", parent=uuid(1))


@case
def two_below_one_out_of_order(s: Script) -> None:
    s.turns(1)
    note(s, "A", 82000, parent=uuid(5))
    note(s, "B", 84000, parent=uuid(5))
    note(s, "C", 80000, parent=uuid(2), uuid=uuid(5))


# Below a call or its result


@case
def line_of_two_out_of_order(s: Script) -> None:
    result = answered(s)
    note(s, "A", 82000, parent=uuid(5))
    note(s, "B", 80000, parent=result, uuid=uuid(5))


@case
def line_of_two_out_of_order_and_a_reply_beside(s: Script) -> None:
    result = answered(s)
    note(s, "A", parent=uuid(5))
    note(s, "B", parent=result, uuid=uuid(5))
    s.reply("a2", parent=result)


@case
def line_of_two_out_of_order_and_a_reply_below(s: Script) -> None:
    result = answered(s)
    inner = note(s, "A", 82000, parent=uuid(5))
    note(s, "B", 80000, parent=result, uuid=uuid(5))
    s.reply("a2", parent=inner, timestamp=second(84000))


@case
def line_of_two_out_of_order_below_an_open_call(s: Script) -> None:
    s.user("u1")
    call = s.reply(use("t1"))
    note(s, "A", parent=uuid(4))
    note(s, "B", parent=call, uuid=uuid(4))


@case
def two_below_a_result_the_older_later(s: Script) -> None:
    result = answered(s)
    note(s, "A", 84000)
    note(s, "B", 80000, parent=result)


@case
def fork_below_the_last_result(s: Script) -> None:
    result = answered(s)
    note(s, "A", 82000, parent=uuid(5))
    note(s, "B", 80000, parent=result, uuid=uuid(5))
    note(s, "C", 84000, parent=uuid(5))


@case
def fork_beside_another_below_the_last_result(s: Script) -> None:
    result = answered(s)
    top = note(s, "A")
    note(s, "B")
    note(s, "C", parent=top)
    note(s, "D", parent=result)


@case
def fork_below_a_result_and_a_reply_beside(s: Script) -> None:
    result = answered(s)
    top = note(s, "A")
    note(s, "B")
    note(s, "C", parent=top)
    s.reply("a2", parent=result)


@case
def deeper_fork_below_a_result_and_a_reply_beside(s: Script) -> None:
    result = answered(s)
    note(s, "A")
    inner = note(s, "B")
    note(s, "C")
    note(s, "D", parent=inner)
    s.reply("a2", parent=result)


@case
def prompt_below_one_of_two_below_the_last_result(s: Script) -> None:
    result = answered(s)
    note(s, "A")
    s.user("u2")
    s.reply("a2")
    note(s, "B", parent=result)


@case
def meta_prompt_and_attachment_out_of_order(s: Script) -> None:
    result = answered(s)
    note(s, "A", parent=uuid(5))
    s.user("meta", isMeta=True, parent=result, uuid=uuid(5))
    s.reply("a2", parent=result)


# Only context at the end: the newest message that ends a branch is continued, with what hangs below it


@case
def context_without_a_parent_and_one_below_a_prompt(s: Script) -> None:
    s.user("u1")
    note(s, "A")
    note(s, "B", parent=None)


@case
def context_without_a_parent_and_a_line_of_two(s: Script) -> None:
    s.turns(1)
    note(s, "A")
    note(s, "B")
    note(s, "C", parent=None)


@case
def context_without_a_parent_and_a_fork(s: Script) -> None:
    s.turns(1)
    top = note(s, "A", 80000)
    note(s, "B", 84000)
    note(s, "C", 82000, parent=top)
    note(s, "D", 86000, parent=None)


@case
def context_below_a_missing_line_and_one_below_a_reply(s: Script) -> None:
    s.turns(1)
    note(s, "A")
    s.attach("zzz", reminder("B"), parent="ffffffff-0000-4000-8000-000000000000")


@case
def context_without_a_parent_that_is_pinned(s: Script) -> None:
    s.turns(1)
    note(s, "A")
    s.pin(note(s, "B", parent=None))


@case
def context_without_a_parent_and_two_replies(s: Script) -> None:
    prompt = s.user("u1")
    s.reply("a1", timestamp=second(80004))
    s.reply("a2", parent=prompt, timestamp=second(80000))
    note(s, "A", 80008, parent=None)


@case
def context_without_a_parent_and_two_replies_at_one_time(s: Script) -> None:
    prompt = s.user("u1")
    s.reply("a1", timestamp=second(80000))
    s.reply("a2", parent=prompt, timestamp=second(80000))
    note(s, "A", 80008, parent=None)


@case
def context_without_a_parent_and_a_later_reply_without_a_time(s: Script) -> None:
    prompt = s.user("u1")
    s.reply("a1")
    s.reply("a2", parent=prompt, timestamp="")
    note(s, "A", 80008, parent=None)


@case
def context_without_a_parent_and_an_earlier_reply_without_a_time(s: Script) -> None:
    prompt = s.user("u1")
    s.reply("a1", timestamp="")
    s.reply("a2", parent=prompt)
    note(s, "A", 80008, parent=None)


@case
def context_without_a_parent_and_a_reply_newer_than_the_prompt_below_it(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1", timestamp=second(80004))
    s.user("u2", timestamp=second(80000))
    note(s, "A", 80006, parent=reply)
    note(s, "B", 80008, parent=None)


@case
def context_without_a_parent_and_a_cycle(s: Script) -> None:
    s.turns(1)
    note(s, "A")
    s.edit(0, parentUuid=uuid(2))
    note(s, "B", parent=None)


# Context of hooks, which versions without stored texts render too


def hook(s: Script, words: str, parent: str) -> str:
    attachment = {"type": "hook_additional_context", "content": [words], "hookName": "Stop", "hookEvent": "Stop"}
    return s.add("attachment", {"attachment": {**attachment, "toolUseID": "x"}}, parent=parent)


@case
def hook_below_the_last_reply(s: Script) -> None:
    s.user("u1")
    hook(s, "c", s.reply("a1"))


@case
def two_hooks_below_the_last_reply(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    hook(s, "c", reply)
    hook(s, "d", reply)


@case
def two_hooks_below_the_last_prompt(s: Script) -> None:
    s.turns(1)
    prompt = s.user("u2")
    hook(s, "c", prompt)
    hook(s, "d", prompt)


@case
def prompt_beside_context_at_the_end(s: Script) -> None:
    s.user("u1")
    reply = s.reply("a1")
    s.user("u2")
    note(s, "A", parent=reply)


@case
def system_line_below_context_at_the_end(s: Script) -> None:
    s.user("u1")
    s.reply("a1")
    note(s, "A")
    s.system("turn_duration")


@case
def system_line_below_context_of_a_prompt(s: Script) -> None:
    s.user("u1")
    note(s, "A")
    s.system("informational")


@case
def command_below_context_at_the_end(s: Script) -> None:
    s.user("u1")
    s.reply("a1")
    note(s, "A")
    s.system("local_command", "<local-command-stdout>x</local-command-stdout>")


@case
def date_below_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.add("attachment", {"attachment": {"type": "date", "date": "2026-01-01"}})
    s.reply("a2")
