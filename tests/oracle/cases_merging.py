"""Merging: lines that become one message, and the order of what is in it."""

from __future__ import annotations

from tests.oracle.mock_api import text
from tests.oracle.script import OPUS, Script, Theme, answer, image, think, use

case = Theme("merging")


@case
def text_behind_a_call_of_the_same_reply(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.reply("x", mid="m1")
    s.result("t1")
    s.reply("end")


@case
def same_reply_behind_a_prompt(s: Script) -> None:
    s.user("u1")
    s.reply("x1", mid="m1")
    s.user("u2")
    s.reply("x2", mid="m1")


@case
def same_reply_behind_a_meta_prompt(s: Script) -> None:
    s.user("u1")
    s.reply("x1", mid="m1")
    s.user("meta", isMeta=True)
    s.reply("x2", mid="m1")


@case
def same_reply_behind_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.result("t1")
    s.reply("x2", mid="m1")


@case
def same_reply_behind_another(s: Script) -> None:
    s.user("u1")
    s.reply("x1", mid="m1")
    s.reply("y", mid="m2")
    s.reply("x2", mid="m1")


@case
def same_reply_behind_an_attachment(s: Script) -> None:
    s.user("u1")
    s.reply("x1", mid="m1")
    s.attach("date", inside={"date": "2026"})
    s.reply("x2", mid="m1")


@case
def same_reply_behind_a_rendered_attachment(s: Script) -> None:
    s.user("u1")
    s.reply("x1", mid="m1")
    s.attach("zzz", "A")
    s.reply("x2", mid="m1")


@case
def same_reply_behind_a_system_turn(s: Script) -> None:
    s.model = OPUS
    s.user("u1")
    s.reply("x1", mid="m1")
    s.attach("zzz", "A", role="system")
    s.reply("x2", mid="m1")


@case
def same_reply_behind_a_note(s: Script) -> None:
    s.user("u1")
    s.reply("x1", mid="m1")
    s.system("informational")
    s.reply("x2", mid="m1")


@case
def same_reply_behind_a_result_with_a_text(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.user([answer("t1"), text("beside")])
    s.reply("x2", mid="m1")


@case
def same_reply_behind_a_result_and_a_meta_prompt(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), mid="m1")
    s.result("t1")
    s.user("meta", isMeta=True)
    s.reply("x2", mid="m1")


@case
def two_replies_in_a_row(s: Script) -> None:
    s.user("u1")
    s.reply("x")
    s.reply("y")


@case
def two_replies_in_a_row_that_call(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.reply(use("t2"))
    s.result("t1", "r1")
    s.result("t2", "r2")
    s.reply("end")


@case
def calls_come_last_in_a_reply(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"), "x", think("th"), use("t2"), "y")
    s.user([answer("t1", "r1"), answer("t2", "r2")])
    s.reply("end")


@case
def calls_come_last_also_over_lines(s: Script) -> None:
    s.user("u1")
    for block in (think("th1"), text("x"), use("t1"), think("th2"), use("t2")):
        s.reply(block, mid="m1")
    s.result("t1")
    s.result("t2")
    s.reply("end")


@case
def empty_reply_before_a_reply(s: Script) -> None:
    s.user("u1")
    s.reply()
    s.reply("a1")
    s.user("u2")
    s.reply("a2")


@case
def empty_reply_behind_a_reply(s: Script) -> None:
    s.user("u1")
    s.reply("a0")
    s.reply()
    s.user("u2")
    s.reply("a2")


@case
def empty_reply_between_prompts(s: Script) -> None:
    s.user("u1")
    s.reply()
    s.user("u2")
    s.reply("a2")


@case
def blank_reply_between_prompts(s: Script) -> None:
    s.user("u1")
    s.reply("  \n")
    s.user("u2")
    s.reply("a2")


@case
def blank_reply_beside_a_text(s: Script) -> None:
    s.user("u1")
    s.reply("", "x")
    s.user("u2")
    s.reply("y", " ")
    s.user("u3")
    s.reply("a3")


@case
def blank_line_of_a_reply_with_a_call(s: Script) -> None:
    s.user("u1")
    s.reply("\n\n", mid="m1")
    s.reply(use("t1"), mid="m1")
    s.result("t1")
    s.reply("end")


@case
def blank_text_on_the_line_of_a_call(s: Script) -> None:
    s.user("u1")
    s.reply("\n\n", use("t1"))
    s.result("t1")
    s.reply("end")


@case
def white_space_around_a_reply(s: Script) -> None:
    s.user("  u1  ")
    s.reply("  a1  ")
    s.user("\nu2\n")
    s.reply("\na2")


@case
def local_command_between_turns(s: Script) -> None:
    s.turns(1)
    s.system("local_command", "<command-name>/x</command-name>", isMeta=False)
    s.system("informational", "INFO", isMeta=False)
    s.user("u2")
    s.reply("a2")


@case
def local_command_behind_a_result(s: Script) -> None:
    s.user("u1")
    s.reply(use("t1"))
    s.result("t1")
    s.system("local_command", "<command-name>/x</command-name>")
    s.reply("end")


@case
def two_local_commands(s: Script) -> None:
    s.turns(1)
    s.system("local_command", "<command-name>/x</command-name>")
    s.system("local_command", "<local-command-stdout>o</local-command-stdout>")
    s.user("u2")
    s.reply("a2")


@case
def prompts_in_a_row(s: Script) -> None:
    s.user("u1")
    s.user("u2")
    s.user("u3", isMeta=True)
    s.reply("a1")


@case
def odd_contents_of_prompts(s: Script) -> None:
    s.user("u1")
    s.reply("a1")
    s.user([])
    s.reply("a2")
    s.user("   ")
    s.reply("a3")
    s.user([text("")])
    s.reply("a4")
    s.user(["str", text("x")])
    s.reply("a5")


@case
def empty_prompt(s: Script) -> None:
    s.turns(1)
    s.user("")
    s.reply("a2")


@case
def prompt_of_nothing(s: Script) -> None:
    s.turns(1)
    s.user(None)
    s.reply("a2")


@case
def blank_text_beside_a_prompt(s: Script) -> None:
    s.turns(1)
    s.user([text(" "), text("x"), text("")])
    s.reply("a2")


@case
def image_and_text(s: Script) -> None:
    s.user([text("a"), image()])
    s.reply("a1")
    s.reply(use("t1"))
    s.result("t1", [image()])
    s.reply("z")


@case
def image_alone(s: Script) -> None:
    s.user([image()])
    s.reply("a1")


@case
def two_images_then_a_text(s: Script) -> None:
    s.user([image(), image(), text("these")])
    s.reply("a1")


@case
def image_as_a_meta_prompt(s: Script) -> None:
    s.user("[Image #1]")
    s.user([image()], isMeta=True)
    s.reply("a1")


@case
def document_in_a_prompt(s: Script) -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "words"}
    s.user([{"type": "document", "source": source}, text("read")])
    s.reply("a1")


@case
def unknown_block_in_a_prompt(s: Script) -> None:
    s.user([{"type": "x-ours", "foo": 1}, text("u1")])
    s.reply("a1")


@case
def extra_fields_on_blocks(s: Script) -> None:
    s.user([{**text("u1"), "extra": 1, "cache_control": {"type": "ephemeral"}}])
    s.reply({**text("a1"), "citations": None, "extra": 1})
    s.user("u2")
    s.reply({**use("t1"), "caller": {"type": "direct"}})
    s.result("t1")
    s.reply("a2")


@case
def reply_that_is_a_string(s: Script) -> None:
    s.turns(1)
    s.user("u2")
    s.reply("a2")
    s.edit(3, message={**s.copy(3)["message"], "content": "plain"})
    s.user("u3")
    s.reply("a3")


@case
def strings_in_a_reply(s: Script) -> None:
    s.turns(1)
    s.edit(1, message={**s.copy(1)["message"], "content": ["bare", text("x")]})
    s.user("u2")
    s.reply("a2")


@case
def server_tool_before_a_call(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "q"}}, mid="m1")
    s.reply({"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []}, mid="m1")
    s.reply("found", mid="m1")
    s.reply(use("t1"), mid="m1")
    s.result("t1")
    s.reply("end")


@case
def server_tool_without_its_result(s: Script) -> None:
    s.user("u1")
    s.reply({"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "q"}}, mid="m1")
    s.reply("found", mid="m1")
    s.user("u2")
    s.reply("a2")


@case
def interrupted_reply(s: Script) -> None:
    s.user("u1")
    s.reply("half")
    s.user([text("[Request interrupted by user]")])
    s.user("u2")
    s.reply("a2")


@case
def reply_with_the_role_of_a_user(s: Script) -> None:
    s.turns(1)
    s.edit(1, message={**s.copy(1)["message"], "role": "user"})
    s.user("u2")
    s.reply("a2")


@case
def words_for_transcripts_only(s: Script) -> None:
    s.turns(1)
    s.user("hidden", isVisibleInTranscriptOnly=True)
    s.reply("a2")


@case
def virtual_lines(s: Script) -> None:
    s.turns(1)
    s.user("virtual", isVirtual=True)
    s.reply("virtual too", isVirtual=True)
    s.user("u2")
    s.reply("a2")
