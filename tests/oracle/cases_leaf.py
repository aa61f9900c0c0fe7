"""Leaf: which line of the file a resume goes on from."""

from __future__ import annotations

from tests.oracle.script import NOWHERE, Script, Theme, use, uuid

case = Theme("leaf")
LATER = "2026-01-03T11:00:00.000Z"


@case
def plain(s: Script) -> None:
    s.turns(2)


@case
def last_two_lines_swapped(s: Script) -> None:
    s.turns(2)
    s.move(2)


@case
def root_is_the_last_line(s: Script) -> None:
    s.turns(2)
    s.move(0)


@case
def middle_is_the_last_line(s: Script) -> None:
    s.turns(3)
    s.move(2)


@case
def middle_is_the_last_line_and_the_newest(s: Script) -> None:
    s.turns(3)
    s.edit(2, timestamp=LATER)
    s.move(2)


@case
def middle_comes_twice(s: Script) -> None:
    s.turns(3)
    s.line(s.copy(2))


@case
def middle_comes_twice_newer(s: Script) -> None:
    s.turns(3)
    s.line(s.copy(2, timestamp=LATER))


@case
def root_comes_twice_newer(s: Script) -> None:
    s.turns(3)
    s.line(s.copy(0, timestamp=LATER))


@case
def first_reply_comes_twice_with_other_words(s: Script) -> None:
    root = s.user("u1")
    first = s.reply("a1")
    s.user("u2")
    s.reply("a2")
    s.reply("a1bis", uuid=first, parent=root)


def branches(s: Script) -> None:
    """A prompt and its reply, and below that two turns side by side."""
    s.user("u1")
    fork = s.reply("a1")
    s.user("bA")
    s.reply("aA")
    s.user("bB", parent=fork)
    s.reply("aB")


@case
def last_of_two_branches(s: Script) -> None:
    branches(s)


@case
def two_branches_root_last(s: Script) -> None:
    branches(s)
    s.move(0)


@case
def two_branches_left_prompt_last(s: Script) -> None:
    branches(s)
    s.move(2)


@case
def two_branches_left_leaf_comes_twice(s: Script) -> None:
    branches(s)
    s.line(s.copy(3))


@case
def older_branch_is_the_newer_one(s: Script) -> None:
    branches(s)
    s.edit(3, timestamp=LATER)


@case
def prompt_is_the_leaf_of_the_last_branch(s: Script) -> None:
    s.user("u1")
    fork = s.reply("a1")
    s.user("u2")
    s.reply("a2")
    s.user("u3", parent=fork)


@case
def root_below_which_two_branches_hang_is_last_and_newest(s: Script) -> None:
    branches(s)
    s.edit(0, timestamp=LATER)
    s.move(0)


@case
def agent_lines_at_the_end(s: Script) -> None:
    s.turns(1)
    s.user("s1", parent=None, isSidechain=True)
    s.reply("s2", isSidechain=True)


@case
def agent_lines_below_the_reply(s: Script) -> None:
    s.turns(1)
    s.user("s1", isSidechain=True)
    s.reply("s2", isSidechain=True)


@case
def prompt_below_agent_lines(s: Script) -> None:
    s.turns(1)
    s.user("s1", isSidechain=True)
    s.reply("s2", isSidechain=True)
    s.user("u2")
    s.reply("a2")


@case
def agent_lines_only(s: Script) -> None:
    s.user("s1", isSidechain=True)
    s.reply("s2", isSidechain=True)


@case
def note_below_agent_lines(s: Script) -> None:
    s.user("s1", isSidechain=True)
    s.reply("s2", isSidechain=True)
    s.system("informational")


@case
def call_with_agent_lines_between_it_and_its_result(s: Script) -> None:
    s.user("u1")
    asked = s.reply(use("t1", "Task"))
    s.user("s1", parent=None, isSidechain=True)
    s.reply(use("t2"), isSidechain=True)
    s.result("t2", isSidechain=True)
    s.reply("s2", isSidechain=True)
    s.result("t1", parent=asked)
    s.reply("a1")


@case
def agent_line_in_the_chain_that_is_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1", isSidechain=True)
    s.reply("a1")


@case
def agent_call_in_the_chain(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), isSidechain=True)
    s.result("t1")
    s.reply("a1")


@case
def one_prompt(s: Script) -> None:
    s.user("u1")


@case
def one_reply(s: Script) -> None:
    s.reply("a1")


@case
def one_note_of_the_program(s: Script) -> None:
    s.system("informational")


@case
def one_attachment(s: Script) -> None:
    s.attach("zzz", "A")


@case
def one_meta_prompt(s: Script) -> None:
    s.user("meta", isMeta=True)


@case
def title_only(s: Script) -> None:
    s.line({"type": "ai-title", "aiTitle": "x", "sessionId": s.session})


@case
def no_line_at_all(s: Script) -> None:
    """An empty file."""


@case
def leaf_without_a_time(s: Script) -> None:
    s.turns(2)
    s.edit(3, timestamp=None)


@case
def leaf_whose_time_is_no_time(s: Script) -> None:
    s.turns(2)
    s.edit(3, timestamp="soon")


@case
def leaf_whose_time_is_a_number(s: Script) -> None:
    s.turns(2)
    s.edit(3, timestamp=1767434404000)


@case
def leaf_whose_time_has_an_offset(s: Script) -> None:
    s.turns(2)
    s.edit(3, timestamp="2026-01-03T12:00:09+02:00")


@case
def middle_without_a_time(s: Script) -> None:
    s.turns(2)
    s.edit(1, timestamp=None)


@case
def no_line_has_a_time(s: Script) -> None:
    s.turns(2)
    for index in range(4):
        s.edit(index, timestamp=None)


@case
def note_behind_a_leaf_without_a_time(s: Script) -> None:
    s.turns(2)
    s.edit(3, timestamp=None)
    s.system("informational")


@case
def line_below_itself(s: Script) -> None:
    s.turns(1)
    s.user("u2", parent=s.ahead())
    s.reply("a2")


@case
def two_lines_below_each_other(s: Script) -> None:
    s.turns(2)
    s.edit(0, parentUuid=uuid(4))


@case
def prompt_and_attachment_share_a_uuid(s: Script) -> None:
    s.user("u1")
    shared = s.reply("a1")
    s.attach("zzz", "A", uuid=shared, parent=uuid(1))
    s.user("u2", parent=shared)
    s.reply("a2")


@case
def reply_and_progress_share_a_uuid(s: Script) -> None:
    s.user("u1")
    shared = s.reply("a1")
    s.progress(uuid=shared, parent=uuid(1))
    s.user("u2", parent=shared)
    s.reply("a2")


@case
def system_line_takes_the_uuid_of_a_prompt(s: Script) -> None:
    shared = s.user("u1")
    s.reply("a1")
    s.system("informational", uuid=shared, parent=None)
    s.user("u2", parent=uuid(2))
    s.reply("a2")


@case
def leaf_comes_twice_with_another_parent(s: Script) -> None:
    s.turns(2)
    s.line(s.copy(3, parentUuid=uuid(1)))


@case
def two_roots(s: Script) -> None:
    s.turns(1)
    s.user("u2", parent=None)
    s.reply("a2")


@case
def parent_later_in_the_file(s: Script) -> None:
    s.turns(3)
    s.move(1, 3)


@case
def chain_of_three_thousand(s: Script) -> None:
    s.turns(1500)


@case
def ended_by_the_model(s: Script) -> None:
    s.turns(1)
    s.line({"type": "ended-by-model", "sessionId": s.session})


@case
def worktree_that_is_gone(s: Script) -> None:
    s.turns(1)
    tree = {"worktreePath": "/nowhere/tree", "worktreeName": "tree", "originalCwd": "/nowhere"}
    s.line({"type": "worktree-state", "worktreeSession": tree, "sessionId": s.session})


@case
def line_without_a_uuid(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.edit(2, uuid=None)
    s.reply("a2", parent=uuid(2))


@case
def line_whose_uuid_is_a_word(s: Script) -> None:
    s.turns(1)
    s.user("u2", uuid="two")
    s.reply("a2")


@case
def lines_of_another_session(s: Script) -> None:
    s.turns(1)
    s.user("u2", sessionId=NOWHERE)
    s.reply("a2", sessionId=NOWHERE)


@case
def note_without_a_parent_at_the_end(s: Script) -> None:
    branches(s)
    s.system("informational", parent=None)


@case
def attachment_without_a_parent_at_the_end(s: Script) -> None:
    s.turns(1)
    s.attach("zzz", "A", parent=None)


@case
def prompt_at_the_end_whose_time_is_a_number(s: Script) -> None:
    s.turns(2)
    s.user("u3", timestamp=1767434404000)


@case
def attachment_without_a_parent_that_could_be_bridged(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.attach("zzz", "A", parent=NOWHERE)


@case
def worktree_that_is_a_file(s: Script) -> None:
    s.turns(1)
    tree = {"worktreePath": "/etc/hostname", "worktreeName": "tree", "originalCwd": "/etc"}
    s.line({"type": "worktree-state", "worktreeSession": tree, "sessionId": s.session})
